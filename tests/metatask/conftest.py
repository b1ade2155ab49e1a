"""A small metatask with everything that files have to keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from runner.metatask import Finding, Metatask, Model, Stored

ORIGINALS = Path(__file__).parents[2].parent / "shared" / "data" / "assembled" / "metatasks"

CLASSES = ("NA", "None", "TRUE")
"""Labels that careless readers take for gaps and booleans."""


def stored(rng: np.random.Generator, rows: np.ndarray, models: int, classes: int) -> Stored:
    confidences = rng.dirichlet(np.ones(classes), size=(models, len(rows)))
    predictions = confidences.argmax(axis=2).astype(np.int16)
    return Stored(rows.astype(np.int32), predictions, confidences)


def make(rows: int = 60, models: int = 4, folds: int = 3, *, validation: bool = False) -> Metatask:
    rng = np.random.default_rng(7)
    everything = np.arange(rows)
    fold_of = everything % folds
    texts = np.array(["007", "a,b", 'say "x"', "", "?"])[everything % 5].tolist()
    texts[3] = None
    numbers = rng.normal(size=rows)
    numbers[5] = np.nan
    return Metatask(
        name="-7",
        dataset="made",
        target="the class",
        classes=CLASSES,
        features=pa.table(
            {
                "x": pa.array(numbers, from_pandas=True),
                "whole": pa.array(everything),
                "text": pa.array(texts, pa.string()),
            }
        ),
        categorical=("text",),
        labels=rng.integers(3, size=rows).astype(np.int16),
        folds=fold_of.astype(np.int16),
        models=(
            *(Model(f"m{i}", f"model {i}", {"flow": i, "run": -i}) for i in range(models - 1)),
            Model("last", findings=(Finding("sums", 2, True, "two sums"),), train_seconds=1.5),
        ),
        tested=stored(rng, everything, models, 3),
        validation={
            fold: stored(rng, np.flatnonzero(fold_of != fold)[::2], models, 3)
            for fold in range(folds)
        }
        if validation
        else {},
        metric="area_under_roc_curve",
        constraints={"openml_metric_name": "area_under_roc_curve", "models": models},
    )


@pytest.fixture
def metatask() -> Metatask:
    return make()


@pytest.fixture
def with_validation() -> Metatask:
    return make(validation=True)


@pytest.fixture
def made() -> Callable[..., Metatask]:
    return make


@pytest.fixture
def originals() -> Path:
    if not ORIGINALS.is_dir():
        pytest.skip("the shared data aren't here")
    return ORIGINALS


@pytest.fixture
def same() -> Callable[[Metatask, Metatask], None]:
    """Asserts that two metatasks are equal, to the last bit."""

    def check_stored(one: Stored, other: Stored) -> None:
        assert one.rows.tolist() == other.rows.tolist()
        assert np.array_equal(one.predictions, other.predictions)
        assert np.array_equal(one.confidences, other.confidences, equal_nan=True)

    def check(one: Metatask, other: Metatask) -> None:
        for name in ("name", "dataset", "target", "classes", "categorical", "metric"):
            assert getattr(one, name) == getattr(other, name)
        assert [model.name for model in one.models] == [model.name for model in other.models]
        assert one.features.to_pydict() == other.features.to_pydict()
        assert np.array_equal(one.labels, other.labels)
        assert np.array_equal(one.folds, other.folds)
        check_stored(one.tested, other.tested)
        assert one.validation.keys() == other.validation.keys()
        for fold in one.validation:
            check_stored(one.validation[fold], other.validation[fold])

    return check
