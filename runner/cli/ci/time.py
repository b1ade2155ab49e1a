"""``runner ci time``: whether a new model trains too slowly, from a study's stored times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.ci import options
from runner.errors import CannotRunError

if TYPE_CHECKING:
    from runner.ci.stored import Times
    from runner.ci.times import Slowdown


@click.command("time")
@click.option("--results", type=click.Path(path_type=Path), required=True, help="The study's.")
@click.option("--old", required=True, metavar="SYSTEM[:CONFIG]", help="The old model.")
@click.option("--new", required=True, metavar="SYSTEM[:CONFIG]", help="The new one.")
@click.option(
    "--most",
    type=options.FiniteRange(min=0, min_open=True),
    required=True,
    help="How many times longer the new one may train, in the median of pairs.",
)
@click.option(
    "--reliability",
    type=options.FiniteRange(0.5, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="How surely each limit of the median holds.",
)
@click.option("--packed", is_flag=True, help="Compare times of `timing: packed` all the same.")
@options.JSON
def command(
    results: Path, old: str, new: str, most: float, reliability: float, packed: bool, as_json: bool
) -> None:
    """Compare two models' training times on the same tasks, folds and repeats.

    Exit 0 where the median ratio is surely below --most, 1 where it surely isn't, 3 where the
    times don't tell.

    Example: runner ci time --results results/study --old C-LR --new C-BDT:12 --most 20
    """
    from runner.ci.stored import Model, stored_times
    from runner.ci.times import slowdown

    times = [stored_times(results, Model.named(name)) for name in (new, old)]
    _check(times, packed)
    shared = sorted(set(times[0].seconds) & set(times[1].seconds), key=str)
    first, second = ([one.seconds[key] for key in shared] for one in times)
    found = slowdown(first, second, 1 - reliability)
    verdict = True if found.high < most else False if found.low > most else None
    if as_json:
        click.echo(json.dumps({"passed": verdict, "most": most, **vars(found)}))
    else:
        click.echo(_line(found, most, verdict))
    raise click.exceptions.Exit(3 if verdict is None else 0 if verdict else 1)


def _check(times: list[Times], packed: bool) -> None:
    """Refuse times that docs/timing.md says aren't comparable."""
    timing = times[0].timing | times[1].timing
    machines = times[0].machines | times[1].machines
    if len(timing) > 1 or len(machines) > 1:
        what = "packed and exclusive" if len(timing) > 1 else "different machines'"
        raise CannotRunError(f"no verdict: {what} times are not comparable")
    if timing != {"exclusive"} and not packed:
        raise CannotRunError(
            "no verdict: the times are of `timing: packed`, which aren't for comparing systems; "
            "measure with `timing: exclusive`, or say --packed"
        )
    if timing == {"exclusive"} and not all(one.quiet for one in times):
        raise CannotRunError(
            "no verdict: some times began while the machine wasn't quiet; measure those again"
        )


def _line(found: Slowdown, most: float, verdict: bool | None) -> str:
    word = "unknown" if verdict is None else "pass" if verdict else "fail"
    return (
        f"{word}: the new model trains {found.median:.3g} times as long in the median of "
        f"{found.pairs:,} pairs, {found.low:.3g} to {found.high:.3g}; at most {most:g} is asked for"
    )
