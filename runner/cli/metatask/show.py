"""``runner metatask show``: what a metatask holds and what is wrong with its predictions."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.metatask.metatasks import metatasks_argument

if TYPE_CHECKING:
    from runner.metatask import Metatask, Model


@click.command("show")
@metatasks_argument
@click.option("--models", "with_models", is_flag=True, help="Each model with its findings.")
@click.option("--verify", is_flag=True, help="Compare the content with its fingerprint.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(metatasks: tuple[Path, ...], with_models: bool, verify: bool, as_json: bool) -> None:
    """Show the metatasks IN... (files, or folders of them): task, classes, folds, models.

    Example: runner metatask show --models metatasks/metatask_31.arrow
    """
    from runner.metatask import formats

    read = formats.verify if verify else formats.load
    documents = [_document(path, read(path)) for path in formats.find(metatasks)]
    if as_json:
        if not with_models:
            documents = [{**one, "models": len(one["models"])} for one in documents]
        single = len(metatasks) == 1 and not metatasks[0].is_dir()
        click.echo(json.dumps(documents[0] if single else documents))
        return
    for document in documents:
        _print(document, with_models, verify)


def _document(path: Path, metatask: Metatask) -> dict[str, Any]:
    import numpy as np

    from runner.metatask import formats

    counts = np.bincount(metatask.labels, minlength=len(metatask.classes))
    return {
        "file": str(path),
        "name": metatask.name,
        "dataset": metatask.dataset,
        "target": metatask.target,
        "rows": len(metatask.labels),
        "tested_rows": len(metatask.tested.rows),
        "features": metatask.features.num_columns,
        "categorical": len(metatask.categorical),
        "classes": dict(zip(metatask.classes, counts.tolist(), strict=True)),
        "folds": {
            fold: int(np.count_nonzero(metatask.folds == fold)) for fold in metatask.fold_numbers
        },
        "validation": {fold: len(metatask.validation[fold].rows) for fold in metatask.validation},
        "metric": metatask.metric,
        "constraints": dict(metatask.constraints),
        "corrupted": sum(model.corrupted for model in metatask.models),
        "bytes": sum(part.stat().st_size for part in formats.paths_on_disk(path)),
        "models": [_model(model) for model in metatask.models],
    }


def _model(model: Model) -> dict[str, Any]:
    return {**dataclasses.asdict(model), "corrupted": model.corrupted}


def _print(document: Mapping[str, Any], with_models: bool, verified: bool) -> None:
    untested = document["rows"] - document["tested_rows"]
    sizes = document["folds"].values()
    classes = ", ".join(f"{label} {count}" for label, count in document["classes"].items())
    found = [model for model in document["models"] if model["findings"]]
    lines = {
        "dataset": f"{document['dataset']}, target {document['target']}",
        "rows": f"{document['rows']}" + (f", {untested} of them untested" if untested else ""),
        "features": f"{document['features']}, {document['categorical']} of them categorical",
        "classes": classes,
        "folds": f"{len(sizes)}, of {_range(list(sizes))} rows",
        "validation": _validation(document["validation"]),
        "models": f"{len(document['models'])}, {len(found)} with findings, "
        f"{document['corrupted']} corrupted",
        "selected": _constraints(document["constraints"]),
        **_filters(document["constraints"]),
        "on disk": f"{document['bytes'] / 1e6:.3g} MB, {document['file']}"
        + (", as it was written" if verified else ""),
    }
    click.echo(document["name"])
    for name, text in lines.items():
        if text:
            click.echo(f"  {name:12}{text}")
    for model in document["models"] if with_models else found:
        _print_model(model)


def _print_model(model: Mapping[str, Any]) -> None:
    described = f": {model['description']}" if model["description"] else ""
    click.echo(f"  {model['name']}{described}{' (corrupted)' if model['corrupted'] else ''}")
    for finding in model["findings"]:
        repaired = "" if finding["repaired"] else ", not repaired"
        click.echo(f"    {finding['kind']}: {finding['text']}{repaired}")


def _validation(rows: Mapping[int, int]) -> str:
    return f"predictions of {_range(list(rows.values()))} rows a fold" if rows else ""


def _constraints(constraints: Mapping[str, Any]) -> str:
    from runner.metatask.filtering import FILTER
    from runner.metatask.original import ORIGINAL

    hidden = (ORIGINAL, FILTER)
    shown = {key: value for key, value in constraints.items() if key not in hidden}
    return ", ".join(f"{key} {json.dumps(value)}" for key, value in shown.items())


def _filters(constraints: Mapping[str, Any]) -> dict[str, str]:
    """A line for each filter that the metatask went through."""
    from runner.metatask.filtering import FILTER

    steps = constraints.get(FILTER, ())
    names = ["filtered"] if len(steps) == 1 else [f"filter {n}" for n in range(1, len(steps) + 1)]
    return {name: _filter(step) for name, step in zip(names, steps, strict=True)}


def _filter(step: Mapping[str, Any]) -> str:
    rules = ", ".join(f"{key} {json.dumps(value)}" for key, value in step["rules"].items())
    dropped = "; ".join(f"{one['name']} ({one['reason']})" for one in step["dropped"])
    gap = "" if step["gap"] is None else f", gap {step['gap']:.2%}"
    return f"{step['models_before']} models{gap}; {rules}; dropped: {dropped or 'none'}"


def _range(sizes: list[int]) -> str:
    least, most = min(sizes), max(sizes)
    return f"{least}" if least == most else f"{least} to {most}"
