"""``runner metatask filter``: the models and metatasks that are fit to compare ensembles on."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.metatask.metatasks import metatasks_argument
from runner.errors import InputError

if TYPE_CHECKING:
    from runner.metatask.filtering import Filtered
    from runner.metatask.formats import Format


@click.command("filter")
@metatasks_argument
@click.option(
    "--output", type=click.Path(path_type=Path), required=True, help="The folder to write into."
)
@click.option(
    "--gap",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="The least 1 - SBA/VBA of a metatask; with 0 it isn't measured.",
)
@click.option(
    "--least-models",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="The fewest models of a metatask.",
)
@click.option("--keep-corrupted", is_flag=True, help="Keep models with findings not repaired.")
@click.option("--keep-worse-than-random", is_flag=True, help="Keep models worse than chance.")
@click.option("--drop-constant", is_flag=True, help="Drop models that predict one class only.")
@click.option("--drop-duplicates", is_flag=True, help="Drop models equal to an earlier one.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=42,
    show_default=True,
    help="Of the random model and of the halves that the gap is measured on.",
)
@click.option(
    "--to",
    "form",
    type=click.Choice(["arrow", "original", "original-paper"]),
    default="arrow",
    show_default=True,
    help="The format to write.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(
    metatasks: tuple[Path, ...],
    output: Path,
    gap: float,
    least_models: int,
    keep_corrupted: bool,
    keep_worse_than_random: bool,
    drop_constant: bool,
    drop_duplicates: bool,
    seed: int,
    form: Format,
    as_json: bool,
) -> int:
    """Drop models and whole metatasks of IN... (files, or folders of them), saying why.

    The defaults are the paper's: corrupted models go, and those worse than random; what is left
    needs 10 models and a VBA-SBA gap of 5 %. Exit status 1 where no metatask is left.

    Example: runner metatask filter metatasks/ --output benchmark/
    """
    from runner.metatask import formats
    from runner.metatask.filtering import Rules, apply

    rules = Rules(
        drop_corrupted=not keep_corrupted,
        drop_worse_than_random=not keep_worse_than_random,
        drop_constant=drop_constant,
        drop_duplicates=drop_duplicates,
        gap=gap,
        least_models=least_models,
        seed=seed,
    )
    paths = formats.find(metatasks)
    _check_output(paths, output)
    formats.check_targets(((path, formats.name_of(path)) for path in paths), output, form)
    documents = []
    for path in paths:
        metatask = formats.load(path)
        found = apply(metatask, rules)
        written = None if found.refused else formats.save(found.metatask, output, form)
        stale = formats.path_of(found.metatask, output, form)
        if written is None and stale.exists():
            click.echo(f"note: {stale} of an earlier run is still there", err=True)
        documents.append(_document(path, written, len(metatask.models), found))
        if not as_json:
            _print(documents[-1])
    kept = sum(document["written"] is not None for document in documents)
    if as_json:
        click.echo(json.dumps(documents))
    else:
        click.echo(f"{kept} of {len(documents)} metatasks kept, in {output}")
    return int(not kept)


def _check_output(paths: list[Path], output: Path) -> None:
    """Refuse a folder where what is dropped would stay beside what is kept."""
    for path in paths:
        if path.parent.resolve() == output.resolve():
            raise InputError(f"--output is where {path.name} is read from: name another folder")


def _document(path: Path, written: Path | None, before: int, found: Filtered) -> dict[str, Any]:
    return {
        "file": str(path),
        "name": found.metatask.name,
        "dataset": found.metatask.dataset,
        "written": None if written is None else str(written),
        "refused": found.refused or None,
        "gap": found.gap,
        "models_before": before,
        "models": len(found.metatask.models),
        "dropped": [dataclasses.asdict(one) for one in found.dropped],
    }


def _print(document: dict[str, Any]) -> None:
    gap = "" if document["gap"] is None else f", gap {document['gap']:.2%}"
    verdict = f"dropped: {document['refused']}" if document["refused"] else document["written"]
    models = f"{document['models']} of {document['models_before']} models"
    click.echo(f"{document['name']} ({document['dataset']}): {models}{gap}; {verdict}")
    for model in document["dropped"]:
        click.echo(f"  {model['name']}: {model['reason']}")
