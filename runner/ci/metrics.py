"""The metrics that a condition may speak of besides accuracy, and what must be known for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

METRICS: Mapping[str, str] = {
    "f1": "F1 of the positive class; of several classes the macro average",
    "precision": "share of the positive class among the rows predicted so",
    "recall": "share of the positive class that is predicted so; of several the macro average",
    "auc": "area under the ROC curve; of several classes the macro average, one against the rest",
    "rmse": "root of the mean squared error of a number",
}
RANK = "rank(n)"

_OF = re.compile(r"(\w+)\((\w)\)")


def metric_of(variable: str) -> str | None:
    """``f1`` for ``f1(n)``; None for n, o and d."""
    found = _OF.fullmatch(variable)
    return found[1] if found else None


def model_of(variable: str) -> str:
    """``n`` for ``f1(n)``."""
    found = _OF.fullmatch(variable)
    return found[2] if found else variable


@dataclass(frozen=True)
class Facts:
    """What is stated about the task, for metrics that need it.

    Attributes:
        positive: The positive class, as the labels have it.
        classes: How many there are.
        share: The least share of rows that any class has; it only turns rows of a class into rows.
        span: The least and the greatest number that labels and predictions can be.
        reordered: The most (positive, negative) pairs that the two models are taken to order
            differently, as a share; trusted, and unknown is what rests on it where rows refute it.
        names: The classes', as the labels have them, where they are stated; scores of several
            classes have a column named by each.
    """

    positive: str | None = None
    classes: int = 2
    share: float | None = None
    span: tuple[float, float] | None = None
    reordered: float | None = None
    names: tuple[str, ...] = ()
