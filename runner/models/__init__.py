"""The model families of mlbench as scikit-learn classifiers, with their grids."""

from __future__ import annotations

from collections.abc import Mapping

from runner.errors import InputError, suggestion
from runner.models.boosted_trees import BOOSTED_TREES
from runner.models.family import Choice, Configuration, Family, Parameter, PathClassifier, Stop
from runner.models.logistic_regression import LOGISTIC_REGRESSION
from runner.models.neural_network import NEURAL_NETWORK

__all__ = [
    "FAMILIES",
    "Choice",
    "Configuration",
    "Family",
    "Parameter",
    "PathClassifier",
    "Stop",
    "family",
]

FAMILIES: Mapping[str, Family] = {
    one.name: one
    for one in (
        BOOSTED_TREES,
        NEURAL_NETWORK,
        LOGISTIC_REGRESSION,
    )
}


def family(name: str) -> Family:
    """The family of that name.

    Raises:
        InputError: If there is none, naming the nearest one.
    """
    if name in FAMILIES:
        return FAMILIES[name]
    raise InputError(f"no system {name!r}: {suggestion(name, FAMILIES)}")
