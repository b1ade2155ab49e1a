"""A condition's file: the ``ml`` section of a .travis.yml, or a ci.yaml with the same keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from runner.ci.condition import Condition, exact
from runner.ci.grammar import parse_condition
from runner.ci.guarantee import Guarantee
from runner.ci.intervals import Mode
from runner.ci.metric_requirement import check_facts
from runner.ci.metrics import Facts, metric_of
from runner.ci.multiplicity import Change, Kind, Reuse
from runner.ci.schema import ConditionKeys, MailKeys, TestSetKeys, split_adaptivity
from runner.config.document import Document, Location, line_of, read_document
from runner.config.problems import Problems, shown
from runner.errors import InputError

SECTION = "ml"


@dataclass(frozen=True)
class TestSet:
    """The test set that is in use.

    Attributes:
        labels: The file of its labels.
        pool: The file of its rows without labels, of which ``d`` is estimated.
    """

    __test__ = False

    name: str
    labels: Path | None
    pool: Path | None


@dataclass(frozen=True)
class MailServer:
    """Where mail goes through; user and password are in the environment.

    Attributes:
        tls: ``none``, ``starttls`` or ``tls`` (from the first byte).
    """

    host: str
    port: int
    sender: str
    tls: str = "none"


@dataclass(frozen=True)
class Alarm:
    """Who is told that a test set is used up; None for the ways that aren't taken.

    Attributes:
        webhook: Where a JSON document is posted.
        command: For the shell.
    """

    mail: str | None = None
    webhook: str | None = None
    command: str | None = None


@dataclass(frozen=True)
class CiFile:
    """What a condition's file asks for.

    Attributes:
        path: The file, as it was named; paths in it are relative to its folder.
        script: The command that writes the predictions.
        recipient: Who gets the verdicts of adaptivity ``none``.
        bound: One of :data:`runner.ci.bounds.NAMES`.
        method: ``fixed``, all labels at once, or ``sequential``, until the verdict is certain.
        ledger: The folder of the test sets' ledgers.
        public_key: What results that the developer isn't told are sealed to.
        lines: Where in the file everything stands; ``line`` reads it.
    """

    path: Path
    script: str | None
    guarantee: Guarantee
    recipient: str | None
    bound: str
    method: str
    testset: TestSet | None
    ledger: Path | None
    mail: MailServer | None
    alarm: Alarm
    public_key: str | None
    lines: Mapping[Location, int] = field(repr=False, compare=False)

    def line(self, key: str) -> int:
        """The line on which a key of the section stands."""
        return line_of(self.lines, (key,))


def load_ci_file(path: Path) -> CiFile:
    """Read and check a condition's file; no other file is opened.

    Raises:
        InputError: With file and line, for the first thing in the file that is wrong.
    """
    section = _section(read_document(path, "a condition"))
    problems = Problems(section)
    keys = problems.validated(ConditionKeys, section.content, ())
    condition = _condition(section, problems)
    if keys is not None:
        _check_together(keys, problems)
    if keys is not None and condition is not None:
        _check_metrics(condition, _facts(keys), problems)
    problems.raise_first()
    assert keys is not None
    assert condition is not None
    kind, recipient = split_adaptivity(keys.adaptivity)
    first = cast(Change, keys.first or "pass")
    folder = path.parent
    return CiFile(
        path=path,
        script=keys.script,
        guarantee=Guarantee(
            condition,
            # 1 - 0.9999 as it is written, without the digits that a subtraction invents.
            delta=float(1 - exact(keys.reliability)),
            mode=cast(Mode, keys.mode),
            reuse=Reuse(cast(Kind, kind), keys.steps, first, keys.passes),
            difference=keys.difference,
            facts=_facts(keys),
        ),
        recipient=recipient,
        bound=keys.bound,
        method=keys.method,
        testset=_testset(keys.testset, folder),
        ledger=None if keys.ledger is None else folder / keys.ledger,
        mail=_mail(keys.smtp),
        alarm=Alarm() if keys.alarm is None else Alarm(**keys.alarm.model_dump()),
        public_key=keys.public_key,
        lines=section.lines,
    )


def _section(document: Document) -> Document:
    """The part of a document that is a condition's, as a document of its own."""
    content = document.content
    if not isinstance(content, dict):
        raise InputError(
            f"a condition's file is keys and values, not {shown(content)}",
            file=document.path,
            line=1,
        )
    if SECTION not in content:
        if "condition" not in content and "language" in content:
            raise InputError(
                f"has no section {SECTION!r}; a .travis.yml needs one for conditions",
                file=document.path,
                line=1,
            )
        return document
    _check_outside(document)
    return _part(document, content[SECTION])


def _check_outside(document: Document) -> None:
    """Refuse what would be overlooked; `script` is a key of Travis's own."""
    for key in document.content:
        if key != "script" and key in ConditionKeys.model_fields:
            raise InputError(
                f"key {key!r} stands outside the section {SECTION!r}; move it inside",
                file=document.path,
                line=document.line((key,)),
            )


def _part(document: Document, content: Any) -> Document:
    """The ``ml`` section: a mapping, or as the paper prints it a list of single keys."""
    if isinstance(content, dict):
        moved: dict[Location, Location] = {(SECTION,): ()}
        found = content
    else:
        found, moved = _joined(document, content)
    return Document(
        document.path,
        document.text,
        found,
        _relocated(document.lines, moved),
        _relocated(document.scalars, moved),
    )


def _joined(document: Document, content: Any) -> tuple[dict[str, Any], dict[Location, Location]]:
    if not isinstance(content, list):
        raise InputError(
            f"the section {SECTION!r} holds keys and values, not {shown(content)}",
            file=document.path,
            line=document.line((SECTION,)),
        )
    found: dict[str, Any] = {}
    moved: dict[Location, Location] = {(SECTION,): ()}
    for index, item in enumerate(content):
        line = document.line((SECTION, index))
        if not isinstance(item, dict):
            raise InputError(
                f"an item of {SECTION!r} is `key: value`, not {shown(item)}",
                file=document.path,
                line=line,
            )
        for key in item:
            if key in found:
                raise InputError(
                    f"key {key!r} stands twice; give it once", file=document.path, line=line
                )
        found.update(item)
        moved[(SECTION, index)] = ()
    return found, moved


def _relocated(
    values: Mapping[Location, Any], moved: Mapping[Location, Location]
) -> dict[Location, Any]:
    deepest = sorted(moved, key=len, reverse=True)
    relocated: dict[Location, Any] = {}
    for location, value in values.items():
        for start in deepest:
            if location[: len(start)] == start:
                relocated.setdefault(moved[start] + location[len(start) :], value)
                break
    return relocated


def _condition(section: Document, problems: Problems) -> Condition | None:
    text = section.content.get("condition")
    if not isinstance(text, str):
        return None
    try:
        return parse_condition(text)
    except InputError as error:
        problems.add(("condition",), error.message)
        return None


def _check_together(keys: ConditionKeys, problems: Problems) -> None:
    kind, _ = split_adaptivity(keys.adaptivity)
    if kind == "none":
        for name in ("first", "passes"):
            if getattr(keys, name) is not None:
                problems.add(
                    (name,),
                    f"{name} says when the test set is retired by what the developer was told; "
                    "with adaptivity none nothing is told, so leave it out",
                )
    elif keys.passes is not None and keys.passes > keys.steps:
        problems.add(("passes",), f"passes must be at most steps ({keys.steps}), not {keys.passes}")
    elif kind == "full" and keys.first is not None and keys.passes is None:
        problems.add(
            ("first",),
            "first says which verdict retires the test set; with adaptivity full give `passes`, "
            "after how many, or use firstChange",
        )


def _facts(keys: ConditionKeys) -> Facts:
    names = keys.classes if isinstance(keys.classes, tuple) else ()
    return Facts(
        keys.positive,
        keys.classes if isinstance(keys.classes, int) else len(names),
        keys.class_share,
        None if keys.range is None else (keys.range[0], keys.range[1]),
        keys.reordered,
        names,
    )


def _check_metrics(condition: Condition, facts: Facts, problems: Problems) -> None:
    for clause in condition.clauses:
        try:
            check_facts(clause, facts)
        except InputError as error:
            problems.add(("condition",), error.message)
    auc = any(metric_of(name) == "auc" for name in condition.variables)
    if auc and facts.classes > 2 and not facts.names:
        problems.add(
            ("classes",),
            "auc of several classes needs scores for each, in columns that are named by the "
            "classes: give their names, as in `classes: [cat, dog, bird]`",
        )


def _testset(keys: TestSetKeys | None, folder: Path) -> TestSet | None:
    if keys is None:
        return None
    labels = None if keys.labels is None else folder / keys.labels
    return TestSet(keys.name, labels, None if keys.pool is None else folder / keys.pool)


def _mail(keys: MailKeys | None) -> MailServer | None:
    return None if keys is None else MailServer(keys.host, keys.port, keys.from_, keys.tls)
