"""``runner ci test``, ``status`` and ``rotate`` as one calls them: verdicts, refusals, accounts."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from ci_scenes import Scene, write_labels

from runner.cli import main


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    for name in ("GITHUB_SHA", "RUNNER_CI_PRIVATE_KEY"):
        monkeypatch.delenv(name, raising=False)
    return Scene(tmp_path)


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Any:
    def ask(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["ci", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert err.count("error:") <= 1
        assert "Traceback" not in err
        return int(ended.value.code or 0), out, err

    return ask


def status(ask: Any, file: Path) -> dict[str, Any]:
    code, out, _ = ask("status", file, "--json")
    assert code == 0
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def test_one_bit_and_the_exit_status(scene: Scene, ask: Any) -> None:
    file = scene.write()
    good, unknown, bad = (scene.predictions(right) for right in (600, 520, 300))
    assert ask("test", file, "--new", good)[:2] == (
        0,
        "pass: n > 0.7 +/- 0.1\n  step 1 of 4, 3 left (test set may)\n",
    )
    outputs = [ask("test", file, "--new", new)[:2] for new in (unknown, bad)]
    # What is unknown and what is false can't be told apart but by the number of the step.
    assert outputs[0] == (1, outputs[1][1].replace("step 3 of 4, 1", "step 2 of 4, 2"))
    assert "unknown" not in outputs[0][1]
    found = status(ask, file)
    assert (found["used"], found["left"], found["steps"]) == (3, 1, 4)


def test_a_step_given_again_is_no_further_step(scene: Scene, ask: Any) -> None:
    file = scene.write(steps=2)
    new = scene.predictions(600)
    first = json.loads(ask("test", file, "--new", new, "--json")[1])
    # The same predictions in another file, sorted otherwise.
    lines = new.read_text().splitlines()
    new.write_text("\n".join([lines[0], *reversed(lines[1:])]))
    again = json.loads(ask("test", file, "--new", new, "--json")[1])
    assert again == {**first, "repeated": True}
    ask("test", file, "--new", scene.predictions(10))
    assert ask("test", file, "--new", scene.predictions(20))[0] == 3
    # Even of a test set that is used up.
    assert ask("test", file, "--new", new)[0] == 0
    assert status(ask, file)["used"] == 2


@pytest.mark.parametrize(
    ("adaptivity", "more", "rights", "codes"),
    [
        ("full", "", [600, 1, 601, 2, 3], [0, 1, 0, 1, 3]),
        ("firstChange", "", [1, 2, 600, 3], [1, 1, 0, 3]),
        ("firstChange", "first: fail\n", [600, 601, 1, 602], [0, 0, 1, 3]),
        ("full", "passes: 2\n", [600, 1, 601, 2], [0, 1, 0, 3]),
        ("firstChange", "", [1, 2, 3, 4, 5], [1, 1, 1, 1, 3]),
    ],
)
def test_when_a_test_set_is_used_up(
    scene: Scene, ask: Any, adaptivity: str, more: str, rights: list[int], codes: list[int]
) -> None:
    file = scene.write(adaptivity=adaptivity, more=more)
    found = [ask("test", file, "--new", scene.predictions(right)) for right in rights]
    assert [one[0] for one in found] == codes
    # The alarm comes with the last verdict, and again with each refusal.
    assert ["alarm: " in one[2] for one in found[-3:]] == [False, True, True]
    assert "is used up" in found[-1][2]
    assert status(ask, file)["left"] == 0


def test_what_is_revealed_is_recorded_and_costs(scene: Scene, ask: Any) -> None:
    file = scene.write(steps=5)
    planned = json.loads(ask("size", file, "--json")[1])["labels"]
    code, out, _ = ask("test", file, "--new", scene.predictions(520), "--reveal")
    assert code == 1
    assert "unknown" in out
    assert "0.742" not in out
    before = status(ask, file)
    assert before["revealed"] == pytest.approx(0.4055, abs=1e-4)
    ask("test", file, "--new", scene.predictions(521), "--reveal", "scores")
    after = status(ask, file)
    assert after["revealed"] == pytest.approx(0.4055 + 6.5525, abs=1e-3)
    assert after["needed"] > before["needed"] > planned
    # A bit that was told may be followed by more, once.
    ask("test", file, "--new", scene.predictions(100))
    for _ in range(2):
        _, out, _ = ask("test", file, "--new", scene.predictions(100), "--reveal=scores", "--json")
        assert json.loads(out)["revealed"]["clauses"][0]["estimate"] == 100 / 700
        assert status(ask, file)["revealed"] == pytest.approx(0.4055 + 2 * 6.5525, abs=1e-3)


def test_a_test_set_may_be_too_small_for_what_was_revealed(scene: Scene, ask: Any) -> None:
    file = scene.write()
    for right in (520, 521):
        assert ask("test", file, "--new", scene.predictions(right), "--reveal", "scores")[0] == 1
    code, _, err = ask("test", file, "--new", scene.predictions(600))
    assert code == 3
    assert "the test set has 700 rows" in err
    assert status(ask, file)["used"] == 2


def test_refused_without_a_step(scene: Scene, ask: Any) -> None:
    file = scene.write()
    new = scene.predictions(600)
    labels = scene.folder / "labels.csv"
    labels.chmod(0o640)
    assert ask("test", file, "--new", new)[0] == 3
    labels.chmod(0o600)
    short = scene.folder / "short.csv"
    short.write_text("\n".join(new.read_text().splitlines()[:-2]) + "\nr5,yes\nr900,no\n")
    code, out, err = ask("test", file, "--new", short)
    assert (code, out) == (3, "")
    assert "r5" in err
    small = Scene(scene.folder / "small", rows=100)
    small.folder.mkdir()
    code, _, err = ask("test", small.write(), "--new", small.predictions(90))
    assert code == 3
    assert "100 rows" in err
    assert status(ask, file)["used"] == 0


def test_labels_in_a_repository(scene: Scene, ask: Any) -> None:
    file = scene.write()
    new = scene.predictions(600)

    def git(*arguments: str) -> None:
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(
            ["git", *name, *arguments], cwd=scene.folder, check=True, capture_output=True
        )

    git("init")
    assert ask("test", file, "--new", new)[0] == 0
    git("add", "labels.csv")
    code, _, err = ask("test", file, "--new", new)
    assert code == 3
    assert "tracked by git" in err
    git("commit", "-m", "x")
    git("rm", "--cached", "labels.csv")
    assert ask("test", file, "--new", new)[0] == 3
    elsewhere = scene.folder / "link.csv"
    elsewhere.symlink_to("labels.csv")
    assert ask("test", file, "--new", new, "--labels", elsewhere)[0] == 3
    git("commit", "-m", "y")
    # Whoever has the history has them, under any name.
    assert "was committed to git" in ask("test", file, "--new", new)[2]
    named = scene.folder / "other.csv"
    (scene.folder / "labels.csv").rename(named)
    arguments = ("test", file, "--new", new, "--labels", named)
    assert "was committed to git" in ask(*arguments)[2]
    named.write_text(named.read_text().replace("r0,no", "r0,yes"))
    assert ask(*arguments)[0] == 0


def test_what_is_handed_in_as_predictions_is_no_secret(scene: Scene, ask: Any) -> None:
    file = scene.write()
    ask("test", file, "--new", scene.predictions(1))
    labels, linked = scene.folder / "labels.csv", scene.folder / "linked.csv"
    (ledger,) = scene.ledger.glob("*.jsonl")
    for target, hard in ((labels, False), (labels, True), (ledger, False)):
        linked.unlink(missing_ok=True)
        if hard:
            linked.hardlink_to(target)
        else:
            linked.symlink_to(target)
        code, out, err = ask("test", file, "--new", linked)
        assert (code, out) == (3, "")
        assert "not predictions" in err
    write_labels(scene.folder / "copied.csv", scene.labels)
    assert (
        "needs a column 'prediction'" in ask("test", file, "--new", scene.folder / "copied.csv")[2]
    )
    assert status(ask, file)["used"] == 1


def test_another_old_model_is_noted_unless_it_passed(tmp_path: Path, ask: Any) -> None:
    scene = Scene(tmp_path, rows=7000, condition="n - o > 0.1 +/- 0.1")
    file = scene.write(steps=9)
    old, better, other = (scene.predictions(right) for right in (3000, 5500, 10))
    noted = []
    for before, after in (
        (old, scene.predictions(3001)),
        (old, better),
        (better, scene.predictions(5501)),
        (other, scene.predictions(5502)),
    ):
        code, out, _ = ask("test", file, "--old", before, "--new", after, "--json")
        noted.append((code, json.loads(out)["old_changed"]))
    assert noted == [(1, False), (0, False), (1, False), (0, True)]
    assert status(ask, file)["old_changed"] == 1
    assert "the old model was one that never passed" in ask("status", file)[1]


def test_a_verdict_stands_whatever_cannot_be_written_after_it(scene: Scene, ask: Any) -> None:
    file = scene.write()
    full = Path("/dev/full")
    code, out, err = ask("test", file, "--new", scene.predictions(600), "--summary", full)
    assert (code, out[:4]) == (0, "pass")
    assert err == "warning: /dev/full: can't be written: No space left on device\n"


def test_a_full_disk(scene: Scene, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = scene.write()
    ask("test", file, "--new", scene.predictions(600))

    def full(descriptor: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    code, out, err = ask("test", file, "--new", scene.predictions(1))
    assert (code, out) == (3, "")
    assert ".jsonl: the ledger can't be written: No space left on device" in err
    # What was recorded can be asked for all the same.
    assert ask("test", file, "--new", scene.predictions(600))[0] == 0
    monkeypatch.undo()
    assert status(ask, file)["used"] == 1


def test_a_ledger_that_others_can_write(scene: Scene, ask: Any) -> None:
    file = scene.write()
    scene.ledger.mkdir()
    scene.ledger.chmod(0o777)
    code, _, err = ask("test", file, "--new", scene.predictions(600))
    assert code == 0
    assert "warning: " in err
    assert "chmod go-w" in err


def test_wrong_use(scene: Scene, ask: Any) -> None:
    file = scene.write()
    new = scene.predictions(600)
    ask("test", file, "--new", new)
    for arguments, told in (
        ((file,), "--old and --new"),
        ((file, "--old", new), "--old needs --new"),
        ((file, "--new", scene.folder / "no.csv"), "no such file"),
        ((file, "--new", new, "--labels", scene.folder / "no.csv"), "no such file"),
        ((file, "--new", new, "--junit", scene.folder / "no" / "j.xml"), "can't be written"),
    ):
        code, out, err = ask("test", *arguments)
        assert (code, out) == (2, "")
        assert told in err
    file.write_text(file.read_text().replace("steps: 4", "steps: 5"))
    code, _, err = ask("test", file, "--new", new)
    assert code == 2
    assert "ci.yaml:5: the ledger of this test set was begun with steps 4, not 5" in err
    file.write_text(file.read_text().replace("n >", "n - o >"))
    assert "needs the old model's predictions" in ask("test", file, "--new", new)[2]


def test_tampering_is_refused_in_one_line(scene: Scene, ask: Any) -> None:
    file = scene.write()
    ask("test", file, "--new", scene.predictions(600))
    (ledger,) = scene.ledger.glob("*.jsonl")
    ledger.write_bytes(ledger.read_bytes().replace(b"true", b"null"))
    for arguments in (("test", file, "--new", scene.predictions(1)), ("status", file)):
        code, out, err = ask(*arguments)
        assert (code, out) == (3, "")
        assert f"{ledger}:2: the ledger was tampered with" in err


def test_reports_for_ci_systems(scene: Scene, ask: Any) -> None:
    file = scene.write()
    junit, summary = scene.folder / "junit.xml", scene.folder / "summary.md"
    places = ("--junit", junit, "--summary", summary)
    counts = []
    for right in (600, 1):
        ask("test", file, "--new", scene.predictions(right), *places)
        counts.append(ElementTree.parse(junit).getroot().attrib)
    (scene.folder / "labels.csv").chmod(0o644)
    code, _, err = ask("test", file, "--new", scene.predictions(600), *places)
    assert code == 3
    root = ElementTree.parse(junit).getroot()
    counts.append(root.attrib)
    assert [(c["failures"], c["errors"]) for c in counts] == [("0", "0"), ("1", "0"), ("0", "1")]
    error = root.find("testcase/error")
    assert error is not None
    assert error.attrib["message"] == err.removeprefix("error: ").strip()
    headings = [line for line in summary.read_text().splitlines() if line.startswith("###")]
    assert [h.rpartition(": ")[2] for h in headings] == ["passed", "failed", "no verdict"]


def test_a_test_set_is_retired_released_and_replaced(scene: Scene, ask: Any) -> None:
    file = scene.write()
    ask("test", file, "--new", scene.predictions(600))
    released, fresh = scene.folder / "released.csv", scene.folder / "june.csv"
    write_labels(fresh, scene.labels)
    # The same rows under the same ids.
    assert ask("rotate", file, "--to", fresh)[0] == 3
    fresh.write_text(fresh.read_text().replace("\nr", "\nj"))
    fresh.chmod(0o644)
    assert ask("rotate", file, "--to", fresh)[0] == 3
    assert status(ask, file)["left"] == 3
    fresh.chmod(0o600)
    for _ in range(2):
        code, out, _ = ask("rotate", file, "--release", released, "--to", fresh)
        assert code == 0
        assert '{"name": "june", "labels": "june.csv"}' in out
    assert released.read_text() == (scene.folder / "labels.csv").read_text()
    assert ask("test", file, "--new", scene.predictions(601))[0] == 3
    file.write_text(
        file.read_text().replace("{name: may, labels: labels.csv}", out.split("testset: ")[1])
    )
    new = scene.predictions(600)
    new.write_text(new.read_text().replace("\nr", "\nj"))
    assert ask("test", file, "--new", new)[0] == 0
    found = status(ask, file)
    assert [(t["testset"], t["used"], t["left"]) for t in found["testsets"]] == [
        ("june", 1, 3),
        ("may", 1, 0),
    ]


def test_no_test_set_comes_back(scene: Scene, ask: Any) -> None:
    file = scene.write()
    ask("test", file, "--new", scene.predictions(600))
    june, part = scene.folder / "june.csv", scene.folder / "part.csv"
    write_labels(june, scene.labels)
    june.write_text(june.read_text().replace("\nr", "\nj"))
    assert ask("rotate", file, "--to", june)[0] == 0
    may = file.read_text()
    file.write_text(
        may.replace("{name: may, labels: labels.csv}", "{name: june, labels: june.csv}")
    )
    code, _, err = ask("rotate", file, "--to", scene.folder / "labels.csv", "--name", "july")
    assert code == 3
    assert "'may' is used up: it was retired" in err
    # All but one of its rows, under another name.
    lines = (scene.folder / "labels.csv").read_text().splitlines()
    part.touch(0o600)
    part.write_text("\n".join(lines[:-1]))
    code, _, err = ask("rotate", file, "--to", part)
    assert code == 3
    assert "699 of 699 ids are those of test set 'may'" in err
    assert status(ask, file)["left"] == 4


def test_labels_at_rest_are_sealed(scene: Scene, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = scene.write()
    key, sealed = scene.folder / "team.key", scene.folder / "may.sealed"
    code, public, _ = ask("keys", key)
    assert (code, key.stat().st_mode & 0o777) == (0, 0o600)
    arguments = ("seal", scene.folder / "labels.csv", "--public-key", public.strip())
    assert ask(*arguments, "--output", sealed)[0] == 0
    (scene.folder / "labels.csv").unlink()
    sealed.chmod(0o644)
    new = scene.predictions(600)
    assert ask("test", file, "--labels", sealed, "--new", new)[0] == 2
    assert ask("test", file, "--labels", sealed, "--new", new, "--key", key)[0] == 0
    monkeypatch.setenv("RUNNER_CI_PRIVATE_KEY", key.read_text())
    assert ask("test", file, "--labels", sealed, "--new", scene.predictions(1))[0] == 1
    monkeypatch.setenv("RUNNER_CI_PRIVATE_KEY", "private-" + "A" * 43)
    code, _, err = ask("test", file, "--labels", sealed, "--new", new)
    assert code == 3
    assert "A" * 9 not in err
    released = scene.folder / "released.csv"
    rotated = ("rotate", file, "--labels", sealed, "--key", key, "--release", released)
    assert ask(*rotated)[0] == 0
    assert released.read_text().startswith("id,label")


def test_a_reader_who_has_gone_does_not_change_the_verdict(scene: Scene) -> None:
    file = scene.write()
    new = scene.predictions(1)
    command = [sys.executable, "-m", "runner", "ci", "test", str(file), "--new", str(new)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait() == 1
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "warning: the verdict can't be written: No space left on device\n"


def test_what_studies_need_is_not_imported(scene: Scene) -> None:
    file, new = scene.write(), scene.predictions(1)
    code = (
        "import sys\nfrom runner.cli import main\n"
        f"try: main(['ci', 'test', {str(file)!r}, '--new', {str(new)!r}])\n"
        "except SystemExit: pass\n"
        "print(sorted({'ray', 'sklearn', 'scipy', 'pandas', 'numba'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
