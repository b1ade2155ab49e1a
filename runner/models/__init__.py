"""The model families of mlbench as scikit-learn classifiers, with their grids."""

from __future__ import annotations

from collections.abc import Mapping

from runner.errors import InputError, suggestion
from runner.models.averaged_perceptron import AVERAGED_PERCEPTRON
from runner.models.bayes_point_machine import BAYES_POINT_MACHINE
from runner.models.boosted_trees import BOOSTED_TREES
from runner.models.decision_forest import DECISION_FOREST
from runner.models.decision_jungle import DECISION_JUNGLE
from runner.models.family import (
    DEFAULT,
    Choice,
    Configuration,
    Family,
    Parameter,
    PathClassifier,
    Stop,
    Value,
    wrong_values,
)
from runner.models.logistic_regression import LOGISTIC_REGRESSION
from runner.models.neural_network import NEURAL_NETWORK
from runner.models.outside import OutsideClass
from runner.models.stochastic_logistic_regression import STOCHASTIC_LOGISTIC_REGRESSION
from runner.models.support_vector_machine import SUPPORT_VECTOR_MACHINE
from runner.models.xgboost_trees import XGBOOST_TREES

__all__ = [
    "DEFAULT",
    "FAMILIES",
    "Choice",
    "Configuration",
    "Family",
    "OutsideClass",
    "Parameter",
    "PathClassifier",
    "Stop",
    "Value",
    "family",
    "wrong_values",
]

FAMILIES: Mapping[str, Family] = {
    one.name: one
    for one in (
        AVERAGED_PERCEPTRON,
        BAYES_POINT_MACHINE,
        BOOSTED_TREES,
        DECISION_FOREST,
        DECISION_JUNGLE,
        NEURAL_NETWORK,
        SUPPORT_VECTOR_MACHINE,
        LOGISTIC_REGRESSION,
        XGBOOST_TREES,
        STOCHASTIC_LOGISTIC_REGRESSION,
    )
}


def family(name: str) -> Family:
    """The family of that name, or with ``@default`` after it its default configuration alone.

    Raises:
        InputError: If there is none, naming the nearest one.
    """
    if name in FAMILIES:
        return FAMILIES[name]
    if name.endswith(DEFAULT) and (found := FAMILIES.get(name.removesuffix(DEFAULT))):
        return found.default
    valid = [one + DEFAULT for one in FAMILIES] if "@" in name else FAMILIES
    raise InputError(f"no system {name!r}: {suggestion(name, valid)}")
