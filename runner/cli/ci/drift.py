"""``runner ci drift``: whether a model that stays the same does worse on newer test sets."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.ci import options
from runner.errors import InputError

if TYPE_CHECKING:
    from runner.ci.drift import Look


@click.command("drift")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--level",
    type=options.FiniteRange(0, 1, min_open=True, max_open=True),
    help="Alarm where the metric falls below this.  [default: alarm at any change]",
)
@click.option(
    "--run-length",
    type=options.FiniteRange(min=2),
    default=100.0,
    show_default=True,
    help="Test sets up to a false alarm, on average at least.",
)
@click.option(
    "--metric",
    default="accuracy",
    show_default=True,
    help="accuracy, f1, precision or recall.",
)
@click.option("--positive", help="The positive class, for all but accuracy.")
@options.JSON
def command(
    files: tuple[Path, ...],
    level: float | None,
    run_length: float,
    metric: str,
    positive: str | None,
    as_json: bool,
) -> None:
    """Watch one model over successive test sets: FILES, the oldest first; exit 1 for an alarm.

    Each is a csv or parquet with the columns `id`, `label` and `prediction`; no id stands in two.
    Give all sets since
    the model was deployed, each time: evidence adds up.

    Example: runner ci drift week-1.csv week-2.csv week-3.csv --level 0.9
    """
    from runner.ci.drift import any_change, below_level
    from runner.ci.observed import check_apart, read_share
    from runner.ci.relevant import to_share

    _check_metric(metric, positive)
    sets = [read_share(path, metric, positive) for path in files]
    check_apart(files)
    looks = (
        any_change(sets, run_length)
        if level is None
        else below_level(sets, to_share(metric, level), run_length)
    )
    if as_json:
        click.echo(json.dumps(_document(files, looks, metric, level, run_length)))
    else:
        _print(files, looks, metric, level, run_length)
    raise click.exceptions.Exit(1 if looks[-1].alarm else 0)


def _check_metric(metric: str, positive: str | None) -> None:
    from runner.ci.observed import METRICS
    from runner.errors import suggestion

    if metric not in METRICS:
        raise InputError(f"--metric can't be {metric!r}: {suggestion(metric, METRICS)}")
    if (positive is None) != (metric == "accuracy"):
        wants = "needs" if positive is None else "doesn't need"
        raise InputError(f"--metric {metric} {wants} --positive")


def _document(
    files: Sequence[Path],
    looks: Sequence[Look],
    metric: str,
    level: float | None,
    run_length: float,
) -> dict[str, Any]:
    last = looks[-1]
    return {
        "alarm": last.alarm,
        "alarm_at": str(files[len(looks) - 1]) if last.alarm else None,
        "since": None if last.since is None else str(files[last.since]),
        "metric": metric,
        "level": level,
        "run_length": run_length,
        "sets": [
            {
                "file": str(path),
                "rows": look.share.rows,
                "value": _value(metric, look),
                "evidence": None if math.isnan(look.evidence) else look.evidence,
                "interval": _interval(metric, look),
                "alarm": look.alarm,
            }
            for path, look in zip(files, looks, strict=False)
        ],
    }


def _value(metric: str, look: Look) -> float | None:
    from runner.ci.relevant import to_metric

    if not look.share.rows:
        return None
    return to_metric(metric, look.share.right / look.share.rows)


def _interval(metric: str, look: Look) -> list[float] | None:
    from runner.ci.relevant import to_metric

    if math.isnan(look.low):
        return None
    return [to_metric(metric, look.low), to_metric(metric, look.high)]


def _print(
    files: Sequence[Path],
    looks: Sequence[Look],
    metric: str,
    level: float | None,
    run_length: float,
) -> None:
    what = "any change" if level is None else f"a fall below {level:g}"
    last = looks[-1]
    verdict = f"drift at {files[len(looks) - 1]}" if last.alarm else "no drift"
    click.echo(f"{verdict}: {metric} over {len(looks):,} test sets, watched for {what}")
    for path, look in zip(files, looks, strict=False):
        value = _value(metric, look)
        shown = "none" if value is None else f"{value:.4f}"
        click.echo(
            f"  {path}: {shown} of {look.share.rows:,} rows that count, {_state(metric, look)}"
        )
    if last.since is not None:
        click.echo(f"  the evidence is strongest from {files[last.since]} on")
    click.echo(f"  a false alarm comes after {run_length:g} test sets on average at the earliest")


def _state(metric: str, look: Look) -> str:
    interval = _interval(metric, look)
    if interval is None:
        return f"evidence {look.evidence:.3g} (1 is an alarm)"
    if look.alarm:
        return "no value fits all sets"
    return f"all sets fit {interval[0]:.4f} to {interval[1]:.4f}"
