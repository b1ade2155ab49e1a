"""A study's own results under test: stored predictions as files, and stored training times."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.ci.scores import SCORE
from runner.errors import InputError, suggestion

if TYPE_CHECKING:
    from runner.store import Store

_EVALUATIONS = """
select key, task, system, configuration_id, fold, repeat from evaluations
where stage = 'test' and outcome = 'ok' and key in (select key from predictions)
order by task, system, configuration_id, fold, repeat
"""
_PREDICTIONS = "select row_ids, classes, confidences, labels, ids from predictions where key = $key"
_TIMES = """
select task, stage, fold, repeat, configuration_id, fit_seconds, timing, quiet, machine
from evaluations where system = $system and outcome = 'ok' and fit_seconds is not null
"""


@dataclass(frozen=True)
class Model:
    """What ``SYSTEM`` or ``SYSTEM:CONFIGURATION`` names.

    Attributes:
        configuration: Its number in the system's whole grid; None where there is only one.
    """

    system: str
    configuration: int | None

    @classmethod
    def named(cls, text: str) -> Model:
        """The model that a text names.

        Raises:
            InputError: If what follows the colon is no number.
        """
        system, colon, number = text.rpartition(":")
        if not colon:
            return cls(text, None)
        if not number.isdecimal():
            raise InputError(f"{text!r} must be SYSTEM or SYSTEM:NUMBER, of a configuration")
        return cls(system, int(number))

    def __str__(self) -> str:
        shown = "" if self.configuration is None else f":{self.configuration}"
        return f"{self.system}{shown}"


@dataclass(frozen=True)
class Times:
    """Training times of one model.

    Attributes:
        seconds: By task, stage, fold and repeat.
        timing: ``packed``, ``exclusive``, or both.
        quiet: Whether all began on a quiet machine, where that is known.
        machines: On which kinds of machine.
    """

    seconds: Mapping[tuple[Any, ...], float]
    timing: frozenset[str]
    quiet: bool
    machines: frozenset[str]


@contextmanager
def stored_predictions(
    results: Path, models: Sequence[Model], task: str | None, positive: str | None
) -> Iterator[tuple[Path, ...]]:
    """Files of predictions on a task's test rows, until the end of the block.

    Each has the columns ``id``, the row's name or else its number in the task, ``prediction``, and
    with two classes ``score``, with more a score for each, named by the class.

    Args:
        task: Its name; None where the results have one task only.
        positive: The class that a score is higher for; None for the later one.

    Raises:
        InputError: If the results lack a task, a system or its predictions.
    """
    from runner.store import Store

    store = Store.open(results)
    found = store.query(_EVALUATIONS).to_pylist()
    of_task = _of_task(found, task, results)
    with tempfile.TemporaryDirectory(prefix="runner-ci-") as made:
        files = []
        for index, model in enumerate(models):
            keys = _keys(of_task, model, results)
            files.append(Path(made) / f"{index}-{model.system.replace('/', '-')}.csv")
            _write(files[-1], store, keys, positive)
        yield tuple(files)


def stored_times(results: Path, model: Model) -> Times:
    """A model's training times, of all tasks and stages.

    Raises:
        InputError: If there are none, or of several configurations.
    """
    from runner.store import Store

    store = Store.open(results)
    found = store.query(_TIMES, {"system": model.system}).to_pylist()
    if not found:
        (names,) = store.query("select list(distinct system) as names from evaluations").to_pylist()
        raise InputError(
            f"has no training times of {model.system!r}: "
            f"{suggestion(model.system, sorted(names['names'] or ()))}",
            file=results,
        )
    chosen = _of_configuration(found, model, results)
    seconds = {
        (row["task"], row["stage"], row["fold"], row["repeat"]): row["fit_seconds"]
        for row in chosen
    }
    return Times(
        seconds,
        frozenset(str(row["timing"]) for row in chosen),
        all(row["quiet"] is not False for row in chosen),
        frozenset(str(row["machine"]) for row in chosen),
    )


def _of_task(
    found: Sequence[Mapping[str, Any]], task: str | None, results: Path
) -> list[Mapping[str, Any]]:
    tasks = sorted({row["task"] for row in found})
    if not tasks:
        raise InputError(
            "has no predictions of test rows: a study stores them with `predictions: true`",
            file=results,
        )
    if task is None and len(tasks) > 1:
        raise InputError(f"has {len(tasks)} tasks: choose one by --task, {suggestion('', tasks)}")
    if task is not None and task not in tasks:
        raise InputError(
            f"has no predictions on task {task!r}: {suggestion(task, tasks)}", file=results
        )
    return [row for row in found if row["task"] == (task or tasks[0])]


def _keys(found: Sequence[Mapping[str, Any]], model: Model, results: Path) -> list[str]:
    """The evaluations of a model, one a fold: the first repeat stands for all."""
    of_system = [row for row in found if row["system"] == model.system]
    if not of_system:
        names = sorted({row["system"] for row in found})
        raise InputError(
            f"has no predictions of {model.system!r}: {suggestion(model.system, names)}",
            file=results,
        )
    firsts: dict[Any, str] = {}
    for row in _of_configuration(of_system, model, results):
        firsts.setdefault(row["fold"], row["key"])
    return list(firsts.values())


def _of_configuration(
    found: Sequence[Mapping[str, Any]], model: Model, results: Path
) -> list[Mapping[str, Any]]:
    numbers = sorted({row["configuration_id"] or 0 for row in found})
    if model.configuration is None and len(numbers) > 1:
        shown = ", ".join(f"{model.system}:{number}" for number in numbers[:5])
        raise InputError(
            f"has {len(numbers)} configurations of {model.system}: name one, such as {shown}",
            file=results,
        )
    chosen = numbers[0] if model.configuration is None else model.configuration
    if chosen not in numbers:
        raise InputError(
            f"has no configuration {chosen} of {model.system}: "
            f"{suggestion(str(chosen), map(str, numbers))}",
            file=results,
        )
    return [row for row in found if (row["configuration_id"] or 0) == chosen]


def _write(path: Path, store: Store, keys: Sequence[str], positive: str | None) -> None:
    found = [store.query(_PREDICTIONS, {"key": key}).to_pylist()[0] for key in keys]
    names = _score_columns([fold["classes"] for fold in found])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "prediction", *names])
        for fold in found:
            writer.writerows(_rows(fold, names, positive))


def _score_columns(of_folds: Sequence[Sequence[str]]) -> list[str]:
    """What all folds have scores of: the positive class of two, or each of several."""
    if all(len(classes) == 2 for classes in of_folds):
        return [SCORE]
    several = {tuple(sorted(classes)) for classes in of_folds}
    return list(several.pop()) if len(several) == 1 else []


def _rows(
    found: Mapping[str, Any], names: Sequence[str], positive: str | None
) -> Iterator[tuple[Any, ...]]:
    ids, classes = found["ids"] or found["row_ids"], found["classes"]
    if names == [SCORE]:
        columns = [classes.index(positive) if positive in classes else 1]
    else:
        columns = [classes.index(name) for name in names]
    scores = [found["confidences"][column :: len(classes)] for column in columns]
    yield from zip(ids, found["labels"], *scores, strict=True)
