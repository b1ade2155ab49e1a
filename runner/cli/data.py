"""``runner data``: what tasks a study has, and scores that a competition gives back."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.fetch import fetch
from runner.cli.folder import results_folder, results_option
from runner.errors import InputError, suggestion

if TYPE_CHECKING:
    from runner.config import SweepStudy
    from runner.data import TaskDescription
    from runner.mlbench.leaderboard import Leaderboard


@dataclasses.dataclass(frozen=True)
class _Task:
    """A task as it is shown.

    Attributes:
        winning: The winning code's score: as the study says, else the leaderboard's best.
    """

    described: TaskDescription
    leaderboard: Leaderboard | None
    winning: float | None


_STUDY = click.argument("study", type=click.Path(path_type=Path))
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


@click.group("data")
def command() -> None:
    """What tasks a study has.

    Example: runner data list configs/quickstart.yaml
    """


command.add_command(fetch)


@command.command("list")
@_STUDY
@_JSON
def list_tasks(study: Path, as_json: bool) -> None:
    """List the tasks of the study in a file: size, classes, folds, gaps and leaderboard.

    Example: runner data list configs/quickstart.yaml
    """
    import pyarrow as pa

    from runner.cli.tables import print_table
    from runner.config import load_study

    loaded = load_study(study)
    tasks = [_load(loaded, index) for index in range(len(loaded.tasks))]
    if as_json:
        click.echo(json.dumps([_document(task) for task in tasks]))
    else:
        print_table(pa.Table.from_pylist([_line(task) for task in tasks]))


@command.command("show")
@_STUDY
@click.argument("task", required=False)
@_JSON
def show(study: Path, task: str | None, as_json: bool) -> None:
    """Show one TASK of the study in a file, or all of them, with every column.

    Example: runner data show configs/quickstart.yaml breast_cancer
    """
    from runner.config import load_study

    loaded = load_study(study)
    names = [entry.name for entry in loaded.tasks]
    if task is not None and task not in names:
        raise InputError(f"there is no task {task!r}: {suggestion(task, names)}", file=study)
    tasks = [_load(loaded, index) for index, name in enumerate(names) if task in (None, name)]
    if as_json:
        documents = [_document(found) for found in tasks]
        click.echo(json.dumps(documents if task is None else documents[0]))
        return
    for found in tasks:
        _print(found)


@command.command("score")
@click.argument("task")
@click.argument("system")
@click.argument("score", type=float)
@results_option("The results that the submission came from.")
@click.option(
    "--config",
    "configuration_id",
    type=int,
    metavar="ID",
    help="The submitted configuration's id.  [default: the one that the latest run selected]",
)
@_JSON
def score(
    task: str,
    system: str,
    score: float,
    results: Path | None,
    configuration_id: int | None,
    as_json: bool,
) -> None:
    """Enter the SCORE that a competition gave back for what SYSTEM predicted on TASK.

    It is kept as a row of stage `external`. A score entered again replaces the first.

    Example: runner data score D-EG C-BDT 0.8792 --results results/mlbench
    """
    from runner.engine import machine
    from runner.report import enter_score
    from runner.store import Store

    entered = enter_score(
        Store.open(results_folder(results)),
        task,
        system,
        score,
        configuration_id=configuration_id,
        command=shlex.join(["runner", *sys.argv[1:]]),
        machine=machine(),
    )
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(entered)))
        return
    instead = "" if entered.replaced is None else f" instead of {entered.replaced:g}"
    click.echo(
        f"{entered.system} on {entered.task}, configuration {entered.configuration_id} "
        f"{entered.configuration}: external score {entered.score:g}{instead}"
    )
    if entered.labelled:
        click.echo(
            f"{entered.task}'s test rows have labels: the report ranks by this score, and has the "
            "computed one beside it"
        )


def _load(study: SweepStudy, index: int) -> _Task:
    from runner.config import load_leaderboard, located
    from runner.data import describe, load, split

    entry = study.tasks[index]
    with located(study, index):
        task = load(entry.source, entry.name)
        parts = split(task, folds=study.folds, holdout=study.holdout, seed=study.seed)
    board = load_leaderboard(study, index)
    if board is not None:
        winning: float | None = board.winning_score
    else:
        winning = entry.competition.winning if entry.competition else None
    return _Task(describe(task, parts), board, winning)


def _document(task: _Task) -> dict[str, Any]:
    board = task.leaderboard
    competition = None
    if board is not None:
        competition = {
            "teams": board.teams,
            "scores": len(board.scores),
            "best": float(board.scores[0]),
        }
    return {
        **dataclasses.asdict(task.described),
        "leaderboard": competition,
        "winning": task.winning,
    }


def _line(task: _Task) -> dict[str, Any]:
    described, board = task.described, task.leaderboard
    return {
        "task": described.name,
        "rows": described.rows,
        "test rows": f"{described.test_rows}{'' if described.test_labels else ', no labels'}",
        "columns": len(described.columns),
        "categorical": described.categorical,
        "missing": described.missing,
        "classes": " / ".join(described.classes),
        "positive": f"{described.positive} ({100 * described.positive_share:.3g} %)",
        "folds": len(described.folds),
        "teams": None if board is None else board.teams,
        "winning": task.winning,
        "fingerprint": described.fingerprint[:12],
    }


def _print(task: _Task) -> None:
    import pyarrow as pa

    from runner.cli.tables import print_table

    described, board = task.described, task.leaderboard
    training = described.rows - described.test_rows
    lines = {
        "rows": f"{described.rows}: {training} for training, {described.test_rows} for the test"
        + ("" if described.test_labels else ", without labels"),
        "classes": ", ".join(f"{name} {count}" for name, count in described.classes.items()),
        "positive": f"{described.positive} ({100 * described.positive_share:.3g} %)",
        "folds": f"{len(described.folds)}, of {_range(described.folds)} rows",
        "missing": f"{described.missing} cells",
        "fingerprint": described.fingerprint,
    }
    if board is not None:
        known = "" if len(board.scores) == board.teams else f" ({len(board.scores)} scores known)"
        best, last = float(board.scores[0]), float(board.scores[-1])
        lines["leaderboard"] = f"{board.teams} teams{known}, scores from {best:g} down to {last:g}"
    if task.winning is not None:
        lines["winning"] = f"{task.winning:g}"
    click.echo(described.name)
    for name, text in lines.items():
        click.echo(f"  {name:12}{text}")
    print_table(pa.Table.from_pylist([dataclasses.asdict(one) for one in described.columns]))


def _range(sizes: tuple[int, ...]) -> str:
    least, most = min(sizes), max(sizes)
    return f"{least}" if least == most else f"{least} to {most}"
