"""mlbench's tables 6 to 12, of any study."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa

from runner.mlbench.study import LOGISTIC_REGRESSION, Result, Study, Task

WINNING = "Winning"
"""Stands in for a platform where table 8 has the winning codes."""
HIGH = 10.0
"""The tolerance (percent) of table 11."""
TIED = "/"
"""Between the names of tied systems."""


def tables(study: Study) -> dict[str, pa.Table]:
    """All tables by the name of their file, without its suffix."""
    return {
        "table6": total_training_seconds(study),
        "table7": average_training_seconds(study),
        "table8": auc_and_rank(study),
        "table9": capacity(study),
        "table10": model_capacity(study),
        "table11": high_tolerance(study),
        "table12": gap_to_winning_code(study),
        "missing": missing(study),
    }


def total_training_seconds(study: Study) -> pa.Table:
    """Table 6: seconds over all configurations and folds; a row a system, a column a task."""
    return _by_task(study, lambda result: result.total_seconds)


def average_training_seconds(study: Study) -> pa.Table:
    """Table 7: the total divided by the number of configurations."""
    return _by_task(study, lambda result: result.average_seconds)


def auc_and_rank(study: Study) -> pa.Table:
    """Table 8: AUC on the test set, and its rank; first the winning codes', then by platform."""
    rows = [
        _Score(WINNING, "", task.name, auc, task.winning.rank if task.winning else None)
        for task in study.tasks
        if (auc := _winning_auc(task)) is not None
    ]
    for platform, systems in study.platforms.items():
        for system in (study.system(name) for name in systems):
            for result in (study.result(task.name, system.name) for task in study.tasks):
                if result.auc is not None:
                    rows.append(
                        _Score(platform, system.model, result.task, result.auc, result.rank)
                    )
    return pa.Table.from_pylist([row._asdict() for row in rows], schema=_SCORES)


def capacity(study: Study) -> pa.Table:
    """Table 9: the capacity (percent) of each platform, and of which of its systems that is."""
    found = study.capacities
    columns = _competitions(study)
    for platform, systems in study.platforms.items():
        name = column_name(platform)
        values = [found.platform_capacity(systems, task) for task in found.tasks]
        columns[name] = pa.array(values, pa.float64())
        if len(systems) > 1:
            best = [TIED.join(found.best(systems, task)) or None for task in found.tasks]
            columns[f"{name}_model"] = pa.array(best, pa.string())
    columns["winning"] = _winning(study)
    return pa.table(columns)


def model_capacity(study: Study, model: str = LOGISTIC_REGRESSION) -> pa.Table:
    """Table 10: the capacity (percent) of one model as each platform provides it."""
    found = study.capacities
    columns = _competitions(study)
    for platform, systems in study.platforms.items():
        same = [name for name in systems if study.system(name).model == model]
        values = [found.platform_capacity(same, task) for task in found.tasks]
        columns[column_name(platform)] = pa.array(values, pa.float64())
    columns["winning"] = _winning(study)
    return pa.table(columns)


def high_tolerance(study: Study) -> pa.Table:
    """Table 11: the winning AUC, and the AUC that tolerance 10 % takes."""
    tasks = _won(study)
    return pa.table(
        {
            "dataset": pa.array([task.name for task in tasks], pa.string()),
            "winning_auc": pa.array([_winning_auc(task) for task in tasks], pa.float64()),
            "top10_percent_auc": pa.array([task.auc_at(HIGH) for task in tasks], pa.float64()),
        }
    )


def gap_to_winning_code(study: Study) -> pa.Table:
    """Table 12: how far the first platform's best system is from the winning code.

    The quality gap is the winning code's AUC minus the system's, the ranking gap (percent) the
    system's capacity minus the winning code's. First the tasks that a linear system does best,
    then the others, each by rising ranking gap: the order of the paper.
    """
    platform, systems = next(iter(study.platforms.items()), ("", ()))
    gaps = [gap for task in _won(study) if (gap := _gap(study, systems, task)) is not None]
    columns = {
        "dataset": pa.array([gap.dataset for gap in gaps], pa.string()),
        f"best_{column_name(platform)}": pa.array([gap.best for gap in gaps], pa.string()),
        "winning": pa.array([gap.winning for gap in gaps], pa.string()),
        "quality_gap": pa.array([gap.quality for gap in gaps], pa.float64()),
        "ranking_gap_percent": pa.array([gap.ranking for gap in gaps], pa.float64()),
    }
    order = sorted(range(len(gaps)), key=lambda index: gaps[index].order)
    return pa.table(columns).take(pa.array(order, pa.int64()))


def missing(study: Study) -> pa.Table:
    """The values that the tables lack, and why."""
    schema = pa.schema([(name, pa.string()) for name in ("dataset", "system", "value", "why")])
    rows = [
        {"dataset": gap.task, "system": gap.system, "value": gap.value, "why": gap.why}
        for gap in study.missing()
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def column_name(platform: str) -> str:
    """A platform's name as a column's."""
    return platform.lower()


class _Score(NamedTuple):
    """A row of table 8."""

    platform: str
    model: str
    dataset: str
    auc: float
    rank: int | None


_SCORES = pa.schema(
    [
        ("platform", pa.string()),
        ("model", pa.string()),
        ("dataset", pa.string()),
        ("auc", pa.float64()),
        ("rank", pa.int64()),
    ]
)


@dataclass(frozen=True)
class _Gap:
    """A row of table 12, and where it stands."""

    dataset: str
    best: str
    winning: str | None
    quality: float
    ranking: float | None
    linear: bool

    @property
    def order(self) -> tuple[bool, bool, float]:
        return not self.linear, self.ranking is None, self.ranking or 0.0


def _gap(study: Study, systems: Iterable[str], task: Task) -> _Gap | None:
    best = study.best(systems, task.name)
    aucs = [result.auc for result in best if result.auc is not None]
    won = _winning_auc(task)
    if not aucs or won is None:
        return None
    own, winning = study.tolerance(best[0]), task.winning_tolerance
    return _Gap(
        dataset=task.name,
        best=TIED.join(result.system for result in best),
        winning=task.winning.model if task.winning else None,
        quality=_minus(won, max(aucs)),
        ranking=None if own is None or winning is None else own - winning,
        linear=all(study.system(result.system).linear for result in best),
    )


def _minus(one: float, other: float) -> float:
    # As the decimals that were printed: in binary .67 - .65 isn't .02.
    return float(Decimal(repr(one)) - Decimal(repr(other)))


def _by_task(study: Study, value: Callable[[Result], float | None]) -> pa.Table:
    rows = {
        system.name: [value(study.result(task.name, system.name)) for task in study.tasks]
        for system in study.systems
    }
    # A system nobody has timed, such as another platform's, has no row.
    timed = [name for name, row in rows.items() if any(cell is not None for cell in row)]
    columns = {"model": pa.array(timed, pa.string())}
    for index, task in enumerate(study.tasks):
        columns[task.name] = pa.array([rows[name][index] for name in timed], pa.float64())
    return pa.table(columns)


def _competitions(study: Study) -> dict[str, pa.Array]:
    """The first columns of tables 9 and 10: the tasks in which any system has a rank."""
    names = study.capacities.tasks
    teams = [study.task(name).teams for name in names]
    return {"dataset": pa.array(names, pa.string()), "teams": pa.array(teams, pa.int64())}


def _winning(study: Study) -> pa.Array:
    names = study.capacities.tasks
    return pa.array([study.task(name).winning_tolerance for name in names], pa.float64())


def _won(study: Study) -> list[Task]:
    """The tasks with a winning AUC to set a system's beside."""
    scored = {result.task for result in study.results if result.auc is not None}
    return [task for task in study.tasks if task.name in scored and _winning_auc(task) is not None]


def _winning_auc(task: Task) -> float | None:
    return task.winning.auc if task.winning else None
