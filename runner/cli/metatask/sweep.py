"""``runner metatask build --from-results``: metatasks from a sweep's predictions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.errors import InputError, suggestion

if TYPE_CHECKING:
    from runner.metatask import Metatask


def build_from_results(
    results: Path,
    names: Sequence[str],
    run_id: str | None,
    study: Path | None,
    top: int,
    output: Path,
    as_json: bool,
) -> int:
    """Build the metatasks of a sweep's tasks, and say how each came about.

    Args:
        results: The sweep's folder.
        names: The tasks; none for all.
        run_id: The run; None for the latest.
        study: The study's file where it was moved; None where it is where it was.
        top: How many models to take.
        output: The folder to write into.
        as_json: Whether to print JSON.

    Returns:
        The exit status.
    """
    from runner.metatask import formats
    from runner.metatask.sweep_build import build
    from runner.metatask.sweep_rows import read_run
    from runner.store import Store

    store = Store.open(results)
    run = read_run(store, run_id)
    for name in names:
        if name not in run.tasks:
            raise InputError(
                f"the run has no task {name!r}: {suggestion(name, run.tasks)}", file=results
            )
    wanted = tuple(dict.fromkeys(names) or run.tasks)
    formats.check_targets(((f"task {name!r}", name) for name in wanted), output)
    documents: list[dict[str, Any]] = []
    failed: dict[str, InputError] = {}
    for name in wanted:
        try:
            found = build(store, run, name, top, study)
        except InputError as error:
            failed[name] = error
            continue
        path = formats.save(found.metatask, output)
        documents.append(_document(found.metatask, path, found.notes))
        if not as_json:
            _print(found.metatask, path, found.notes)
    if as_json:
        told = [{"task": name, "error": str(fault)} for name, fault in failed.items()]
        click.echo(json.dumps({"built": documents, "failed": told}))
    faults = list(failed.values())
    for fault in faults[:-1]:
        click.echo(f"error: {fault}", err=True)
    if faults:
        raise faults[-1]
    return 0


def _document(metatask: Metatask, path: Path, notes: Sequence[str]) -> dict[str, Any]:
    return {
        "task": metatask.name,
        "path": str(path),
        "models": [model.name for model in metatask.models],
        "tested_rows": len(metatask.tested.rows),
        "validation_rows": {fold: len(one.rows) for fold, one in metatask.validation.items()},
        "notes": list(notes),
    }


def _print(metatask: Metatask, path: Path, notes: Sequence[str]) -> None:
    learnt = "".join(
        f", {len(stored.rows)} to learn from" for stored in metatask.validation.values()
    )
    models = len(metatask.models)
    click.echo(f"{path}: {models} models, {len(metatask.tested.rows)} rows predicted{learnt}")
    for note in notes:
        click.echo(f"  {note}")
