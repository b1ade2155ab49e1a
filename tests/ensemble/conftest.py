"""What tests of ensembles share: a small made metatask and the one that the original was run on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from runner.metatask import Metatask, Model, Stored
from runner.metatask.original import read

ASSEMBLED = Path(__file__).parents[3] / "shared" / "data" / "assembled"


def made(classes: int = 3, rows: int = 240, models: int = 6, seed: int = 0) -> Metatask:
    """A metatask of random models, one numeric column with gaps and one of categories.

    Models err where the first column is of their sign, so that dynamic selection has something to
    find; the first model's classes aren't always its most confident ones.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, rows).astype(np.int16)
    x = rng.normal(size=rows)
    signs = np.where(np.arange(models) % 2, 1.0, -1.0)[:, np.newaxis]
    skill = np.where(x * signs > 0, 2.5, 0.3)[:, :, np.newaxis]
    scores = skill * np.eye(classes)[labels] + rng.normal(size=(models, rows, classes))
    confidences = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    predictions = confidences.argmax(axis=2).astype(np.int16)
    predictions[0, ::7] = rng.integers(0, classes, len(predictions[0, ::7]))
    gaps = rng.random(rows) < 0.1
    table = {
        "shade": pa.array(rng.choice(["dark", "light", "none"], rows), mask=rng.random(rows) < 0.1),
        "x": pa.array(x),
        "y": pa.array(rng.normal(size=rows), mask=gaps),
    }
    order = np.arange(rows, dtype=np.int32)
    learnt = {
        fold: Stored(rest, predictions[:, rest], confidences[:, rest])
        for fold in range(4)
        for rest in [order[order % 4 != fold]]
    }
    return Metatask(
        name="made",
        dataset="made",
        target="class",
        classes=tuple("abcdefgh"[:classes]),
        features=pa.table(table),
        categorical=("shade",),
        labels=labels,
        folds=(order % 4).astype(np.int16),
        models=tuple(Model(f"model {one}") for one in range(models)),
        tested=Stored(order, predictions, confidences),
        validation=learnt,
    )


@pytest.fixture(scope="session")
def metatask() -> Metatask:
    return made()


@pytest.fixture(scope="session")
def binary() -> Metatask:
    return made(classes=2, seed=1)


@pytest.fixture(scope="session")
def thirteen() -> Metatask:
    """The metatask that the original's program was run on."""
    file = ASSEMBLED / "metatasks" / "metatask_-13.csv"
    if not file.exists():
        pytest.skip(f"{file} isn't there")
    return read(file)
