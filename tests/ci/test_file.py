"""The file: the paper's two scripts as printed, a ci.yaml with every key, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.ci import CiFile, load_ci_file
from runner.ci.file import Alarm, MailServer
from runner.ci.schema import ConditionKeys
from runner.ci.sealing import make_pair
from runner.errors import InputError

PAPER_1 = """\
language: python
ml:
  - script     : ./test_model.py
  - condition  : n - o > 0.02 +/- 0.01
  - reliability: 0.9999
  - mode       : fp-free
  - adaptivity : full
  - steps      : 32
"""
PAPER_2 = """\
ml:
  - script     : ./test_model.py
  - condition  : d < 0.1 +/- 0.01
  - reliability: 0.9999
  - mode       : fp-free
  - adaptivity : none -> xx@abc.com
  - steps      : 32
"""
WHOLE = """\
script: ./test_model.py
condition: n - o > 0.02 +/- 0.01 /\\ d < 0.1 +/- 0.01
reliability: 0.999
mode: fn-free
adaptivity: firstChange
first: fail
passes: 2
steps: 10000
bound: bennett
difference: 0.1
testset:
  name: may
  labels: labels.csv
  pool: pool.csv
ledger: ledger
smtp: {host: mail.abc.com, port: 587, from: ci@abc.com}
"""


def load(folder: Path, text: str, name: str = "ci.yaml") -> CiFile:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load_ci_file(path)


def test_the_papers_scripts_as_printed(tmp_path: Path) -> None:
    first = load(tmp_path, PAPER_1, ".travis.yml")
    assert first.script == "./test_model.py"
    assert first.guarantee.condition.text == "n - o > 0.02 +/- 0.01"
    assert (first.guarantee.delta, first.guarantee.mode) == (1e-4, "fp-free")
    assert (first.guarantee.reuse.kind, first.guarantee.reuse.steps) == ("full", 32)
    assert (first.recipient, first.bound, first.testset, first.mail) == (None, "auto", None, None)
    assert first.line("condition") == 4
    second = load(tmp_path, PAPER_2)
    assert (second.guarantee.reuse.kind, second.recipient) == ("none", "xx@abc.com")


def test_every_key(tmp_path: Path) -> None:
    found = load(tmp_path, WHOLE)
    assert found.guarantee.reuse.first == "fail"
    assert found.guarantee.reuse.budget == 2
    assert (found.guarantee.difference, found.bound) == (0.1, "bennett")
    assert found.guarantee.delta == 0.001
    assert found.testset is not None
    assert found.testset.labels == tmp_path / "labels.csv"
    assert found.testset.pool == tmp_path / "pool.csv"
    assert found.ledger == tmp_path / "ledger"
    assert found.mail is not None
    assert (found.mail.host, found.mail.port, found.mail.sender) == (
        "mail.abc.com",
        587,
        "ci@abc.com",
    )


def test_a_section_of_plain_keys_is_the_same(tmp_path: Path) -> None:
    inside = "ml:\n" + "".join(f"  {line}\n" for line in WHOLE.splitlines())
    within, alone = load(tmp_path, inside), load(tmp_path, WHOLE)
    assert within.guarantee == alone.guarantee
    assert within.testset == alone.testset
    assert within.line("steps") == alone.line("steps") + 1


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("reliability: 0.999", "reliability: 1", 3, "below 1"),
        ("reliability: 0.999", "reliability: high", 3, "a number"),
        ("reliability: 0.999\n", "", 1, "'reliability' is missing"),
        ("mode: fn-free", "mode: fnfree", 4, "'fn-free'"),
        ("mode: fn-free", "mode: 3", 4, "mode can't be 3"),
        ("adaptivity: firstChange", "adaptivity: hybrid", 5, "called 'firstChange'"),
        ("adaptivity: firstChange", "adaptivity: firstchange", 5, "'firstChange'"),
        ("adaptivity: firstChange", "adaptivity: full -> a@b", 5, "no address"),
        ("adaptivity: firstChange", "adaptivity: none -> nobody", 5, "an address"),
        ("adaptivity: firstChange", "adaptivity: none -> a@b", 6, "leave it out"),
        ("adaptivity: firstChange", "adaptivity: [full]", 5, "adaptivity must be one of"),
        ("steps: 10000", "steps: 0", 8, "at least 1"),
        ("steps: 10000", "steps: 1.5", 8, "a whole number"),
        ("passes: 2", "passes: 20000", 7, "at most steps"),
        ("bound: bennett", "bound: benett", 9, "'bennett'"),
        ("difference: 0.1", "difference: 1.5", 10, "at most 1"),
        ("  name: may", "  nam: may", 12, "'name'"),
        ("from: ci@abc.com", "from: me", 16, "an address"),
        ("from: ci@abc.com", "form: ci@abc.com", 16, "'from'"),
        ("script: ./test_model.py", "scrip: ./test_model.py", 1, "'script'"),
        ("condition: n - o", "condition: n ? o", 2, "column 3 of the condition"),
        ("condition: n - o > 0.02 +/- 0.01 /\\ d < 0.1 +/- 0.01", "condition: [n]", 2, "text"),
        ("ledger: ledger", "ledger:", 15, "no value"),
    ],
)
def test_wrong_files_are_told_with_their_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    assert old in WHOLE
    with pytest.raises(InputError) as refused:
        load(tmp_path, WHOLE.replace(old, new))
    assert said in refused.value.message
    assert refused.value.line == line


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "empty"),
        ("- a\n", 1, "keys and values"),
        ("language: python\n", 1, "no section 'ml'"),
        ("ml: 3\n", 1, "keys and values"),
        (PAPER_2 + "script: make\nledger: here\n", 9, "outside the section"),
        ("ml:\n  - steps\n", 2, "key: value"),
        (PAPER_2 + "  - steps: 3\n", 8, "twice"),
        (PAPER_2.replace("steps      ", "stepz"), 7, "'steps'"),
        (PAPER_2.replace("d < 0.1", "d = 0.1"), 3, "only '>' and '<'"),
        ("adaptivity: full\nfirst: pass\nsteps: 2\n" + "\n", 1, "missing"),
    ],
)
def test_wrong_sections(tmp_path: Path, text: str, line: int, said: str) -> None:
    with pytest.raises(InputError) as refused:
        load(tmp_path, text)
    assert said in refused.value.message
    assert refused.value.line == line


def test_the_documentation_defines_every_key() -> None:
    text = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")}
    assert set(ConditionKeys.model_fields) <= rows


def test_who_is_told(tmp_path: Path) -> None:
    pair = make_pair()
    more = (
        "alarm: {mail: a@b, webhook: 'https://c/d', command: ./e}\n"
        f"public_key: {pair.public}\nsmtp: {{host: m, from: f@g, tls: starttls}}\n"
    )
    found = load(tmp_path, PAPER_2.replace("ml:\n", "").replace("  - ", "") + more)
    assert found.alarm == Alarm("a@b", "https://c/d", "./e")
    assert found.public_key == pair.public
    assert found.mail == MailServer("m", 25, "f@g", "starttls")
    for key, value in (
        ("alarm", "{webhook: 'ftp://c'}"),
        ("alarm", "{mail: nobody}"),
        ("alarm", "{phone: 1}"),
        ("public_key", pair.private),
        ("public_key", "public-x"),
        ("smtp", "{host: m, from: f@g, tls: ssl}"),
    ):
        with pytest.raises(InputError) as refused:
            load(tmp_path, PAPER_2 + f"  - {key}: {value}\n")
        assert (refused.value.line, pair.private in str(refused.value)) == (8, False)
