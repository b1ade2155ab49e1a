"""What a study of ensembles is about, as a run records it for reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from runner.metatask import Metatask

KIND = "ensembles"


@dataclass(frozen=True)
class MetataskFacts:
    """Of one metatask what a report says without opening it.

    Attributes:
        rows: Of the task's table.
        features: Its columns without the target; ``categorical`` of them hold categories.
        classes: How many.
        folds: How many test any row.
        models: How many base models' predictions are stored.
        corrupted: Those of them whose predictions hold what couldn't be repaired.
        timed_models: Those of them whose training times are known.
        train_seconds: The sum of those times, over all folds.
        validation: Whether predictions of training rows are stored.
    """

    name: str
    dataset: str
    rows: int
    features: int
    categorical: int
    classes: int
    folds: int
    models: int
    corrupted: int
    timed_models: int
    train_seconds: float
    validation: bool

    @classmethod
    def of(cls, metatask: Metatask) -> MetataskFacts:
        """Those of a metatask."""
        times = [m.train_seconds for m in metatask.models if m.train_seconds is not None]
        return cls(
            name=metatask.name,
            dataset=metatask.dataset,
            rows=len(metatask.labels),
            features=metatask.features.num_columns,
            categorical=len(metatask.categorical),
            classes=len(metatask.classes),
            folds=len(np.unique(metatask.folds[metatask.folds >= 0])),
            models=len(metatask.models),
            corrupted=sum(model.corrupted for model in metatask.models),
            timed_models=len(times),
            train_seconds=float(np.sum(times)),
            validation=bool(metatask.validation),
        )


@dataclass(frozen=True)
class TechniqueFacts:
    """Of one technique what a report needs.

    Attributes:
        name: In the study.
        technique: The one that is built in, or a user's ``package.module:Class``.
        oracle: Whether it sees the true classes of the rows that it is asked for.
    """

    name: str
    technique: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    oracle: bool = False


@dataclass(frozen=True)
class Setting:
    """What a study of ensembles is about; metatasks and techniques in its order."""

    protocol: str
    metric: str
    seed: int
    metatasks: Sequence[MetataskFacts]
    techniques: Sequence[TechniqueFacts]

    def to_json(self) -> str:
        """As text."""
        return json.dumps({"kind": KIND, **asdict(self)})

    @classmethod
    def from_json(cls, text: str | None) -> Setting | None:
        """From what ``to_json`` wrote; None where a run of another kind wrote it, or none did."""
        document = json.loads(text or "{}")
        if document.pop("kind", None) != KIND:
            return None
        return cls(
            protocol=document["protocol"],
            metric=document["metric"],
            seed=document["seed"],
            metatasks=tuple(MetataskFacts(**one) for one in document["metatasks"]),
            techniques=tuple(TechniqueFacts(**one) for one in document["techniques"]),
        )
