"""How a metatask gets to a sandbox: as its file where that can be mapped, else as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from runner.errors import InputError
from runner.metatask import Metatask, Stored, header
from runner.metatask.files import read, stored_fingerprint


@dataclass(frozen=True)
class Place:
    """Where a sandbox finds a metatask.

    Attributes:
        fingerprint: Of its content; the name of its arrays.
        file: One of the own format that it can map; None where it gets arrays.
    """

    fingerprint: str
    file: str | None

    def opened(self, arrays: Mapping[str, np.ndarray]) -> Metatask:
        """The metatask.

        Args:
            arrays: What the sandbox has of them; those of several metatasks may be together.

        Raises:
            InputError: Its file isn't the one that the run was planned with.
        """
        if self.file is None:
            return _from_arrays(arrays, self.fingerprint)
        path = Path(self.file)
        if stored_fingerprint(path) != self.fingerprint:
            raise InputError("was replaced by another metatask during the run", file=path)
        return read(path)


def to_arrays(metatask: Metatask, fingerprint: str) -> dict[str, np.ndarray]:
    """A metatask as arrays of numbers, those of its predictions uncopied."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, metatask.features.schema) as stream:
        stream.write_table(metatask.features)
    found = {
        "header": np.frombuffer(header.encode(metatask, fingerprint), np.uint8),
        "features": np.frombuffer(sink.getvalue(), np.uint8),
        "labels": metatask.labels,
        "folds": metatask.folds,
        **_stored_arrays("tested", metatask.tested),
    }
    for fold, stored in metatask.validation.items():
        found |= _stored_arrays(f"validation.{fold}", stored)
    return {f"{fingerprint}.{name}": array for name, array in found.items()}


def _from_arrays(arrays: Mapping[str, np.ndarray], fingerprint: str) -> Metatask:
    found = {
        name.removeprefix(f"{fingerprint}."): array
        for name, array in arrays.items()
        if name.startswith(f"{fingerprint}.")
    }
    document = header.decode(found["header"].tobytes(), Path("metatask"))
    return Metatask(
        name=document["name"],
        dataset=document["dataset"],
        target=document["target"],
        classes=tuple(document["classes"]),
        features=pa.ipc.open_stream(pa.py_buffer(found["features"])).read_all(),
        categorical=tuple(document["categorical"]),
        labels=found["labels"],
        folds=found["folds"],
        models=header.models(document),
        tested=_stored("tested", found),
        validation={
            fold: _stored(f"validation.{fold}", found) for fold in document["validation_folds"]
        },
        metric=document["metric"],
        constraints=document["constraints"],
    )


def _stored_arrays(name: str, stored: Stored) -> dict[str, np.ndarray]:
    return {
        f"{name}.rows": stored.rows,
        f"{name}.predictions": stored.predictions,
        f"{name}.confidences": stored.confidences,
    }


def _stored(name: str, found: Mapping[str, np.ndarray]) -> Stored:
    return Stored(found[f"{name}.rows"], found[f"{name}.predictions"], found[f"{name}.confidences"])
