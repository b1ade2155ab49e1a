"""``runner sweep``: run or resume a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.studies import Asked, conduct, study_options

if TYPE_CHECKING:
    from runner.study import StudySummary


@click.command("sweep")
@click.argument("config", type=click.Path(path_type=Path))
@study_options
def command(config: Path, asked: Asked) -> int:
    """Run the study in CONFIG, or resume it: what its results hold already isn't computed again.

    Example: runner sweep configs/quickstart.yaml
    """
    from runner.config import load_study
    from runner.sweep import Sweep

    study = load_study(config)
    return conduct(asked, asked.options(study.name), lambda how: Sweep(study, how), _unselected)


def _unselected(summary: StudySummary) -> Sequence[str]:
    from runner.sweep import SweepSummary

    assert isinstance(summary, SweepSummary)
    return [
        f"{system} on {task}: no configuration has all folds ok, so none is selected"
        for task, system in summary.unselected
    ]
