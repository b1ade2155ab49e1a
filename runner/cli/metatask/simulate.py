"""``runner metatask simulate``: ensemble techniques on stored predictions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.studies import Asked, conduct, study_options
from runner.errors import InputError

if TYPE_CHECKING:
    from runner.config import EnsembleStudy

_STUDIES = (".yaml", ".yml")


@click.command("simulate")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="STUDY.yaml | METATASK...",
    type=click.Path(path_type=Path),
)
@click.option("--protocol", metavar="NAME", help="corrected (the default), paper or validation.")
@click.option("--metric", metavar="NAME", help="What scores are.  [default: auc; paper: hard_auc]")
@click.option(
    "--technique",
    "techniques",
    multiple=True,
    metavar="NAME",
    help="One to simulate, again for the next one.  [default: the paper's eight]",
)
@study_options
def command(
    files: tuple[Path, ...],
    protocol: str | None,
    metric: str | None,
    techniques: tuple[str, ...],
    asked: Asked,
) -> int:
    """Score ensemble techniques on metatasks, fold by fold: no base model is trained.

    A technique learns from stored predictions of some rows and is scored on others (which ones,
    the protocol says: docs/techniques.md). What the results hold already isn't computed again.
    Options override what STUDY.yaml says.

    Example: runner metatask simulate metatask_31.arrow metatask_37.arrow

    Example: runner metatask simulate configs/ensembles.yaml --protocol validation
    """
    from runner.ensemble.run import Simulation

    study = _with_options(_study(files), protocol, metric, techniques)
    return conduct(asked, asked.options(study.name), lambda how: Simulation(study, how))


def _study(files: Sequence[Path]) -> EnsembleStudy:
    from runner.config import ensemble_study, load_ensemble_study

    studies = [file for file in files if file.suffix in _STUDIES]
    if not studies:
        return ensemble_study(files[0].stem if len(files) == 1 else "ensembles", files)
    if len(files) > 1:
        raise InputError(
            f"give one study's file or metatasks, not {studies[0]} with {len(files) - 1} others"
        )
    return load_ensemble_study(files[0])


def _with_options(
    study: EnsembleStudy, protocol: str | None, metric: str | None, techniques: Sequence[str]
) -> EnsembleStudy:
    from runner.config import TechniqueEntry

    study = dataclasses.replace(
        study, protocol=protocol or study.protocol, asked_metric=metric or study.asked_metric
    )
    if not techniques:
        return study
    entries = [TechniqueEntry(name.rpartition(":")[2], name) for name in techniques]
    names = [entry.name for entry in entries]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"technique {twice!r} is asked for twice; give it once")
    return dataclasses.replace(study, techniques=tuple(entries))
