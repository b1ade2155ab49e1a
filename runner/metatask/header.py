"""A metatask's descriptive part as JSON, which its file carries beside the arrays."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from runner.errors import InputError
from runner.metatask.metatask import Finding, Metatask, Model

FORMAT = "runner metatask"
VERSION = 1


def encode(metatask: Metatask, fingerprint: str) -> bytes:
    """The header of a metatask's file."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": fingerprint,
        "name": metatask.name,
        "dataset": metatask.dataset,
        "target": metatask.target,
        "classes": metatask.classes,
        "categorical": metatask.categorical,
        "metric": metatask.metric,
        "constraints": metatask.constraints,
        "validation_folds": sorted(metatask.validation),
        "models": [dataclasses.asdict(model) for model in metatask.models],
    }
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")


def decode(data: bytes, path: Path) -> dict[str, Any]:
    """The header as a document.

    Raises:
        InputError: It isn't one that this version of the program can read.
    """
    try:
        document = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise InputError("the metatask's header is damaged: build it again", file=path) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError("is no metatask: its header says nothing of one", file=path)
    if not isinstance(document.get("version"), int) or document["version"] > VERSION:
        raise InputError(
            f"is a metatask of version {document.get('version')}, this program reads up to "
            f"version {VERSION}: upgrade it, or convert the file with the newer one",
            file=path,
        )
    return document


def models(document: dict[str, Any]) -> tuple[Model, ...]:
    """The models that a header names."""
    return tuple(
        Model(**{**entry, "findings": tuple(Finding(**one) for one in entry["findings"])})
        for entry in document["models"]
    )
