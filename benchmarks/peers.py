"""What other libraries take for a family's configuration, set up as like it as they allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.folds import Fold

Fit = Callable[[], Any]
Configuration = Mapping[str, Any]


@dataclass(frozen=True)
class Peer:
    """Another library's fit.

    Attributes:
        name: The library's class.
        fit: Trains once, from data that are scaled or binned already.
        times: By how much the time of ``fit`` is to be multiplied.
        note: What is to be known of the comparison; may be empty.
    """

    name: str
    fit: Fit
    times: float = 1.0
    note: str = ""


def peer(family: str, configuration: Configuration, fold: Fold) -> Peer | None:
    """The peer of a configuration; None where no library has the algorithm."""
    make = _PEERS.get(family)
    return None if make is None else make(configuration, fold)


def _averaged_perceptron(values: Configuration, fold: Fold) -> Peer:
    from sklearn.linear_model import SGDClassifier

    estimator = SGDClassifier(
        loss="hinge",
        penalty=None,
        learning_rate="constant",
        eta0=values["learning_rate"],
        average=True,
        max_iter=values["iterations"],
        tol=None,
        random_state=0,
    )
    return Peer("SGDClassifier", _fitting(estimator, _standardised(fold), fold))


def _svm(values: Configuration, fold: Fold) -> Peer:
    from sklearn.linear_model import SGDClassifier

    estimator = SGDClassifier(
        alpha=values["lambda_"], max_iter=values["iterations"], tol=None, random_state=0
    )
    return Peer("SGDClassifier", _fitting(estimator, _standardised(fold), fold))


def _boosted_trees(values: Configuration, fold: Fold) -> Peer:
    import lightgbm

    settings = {
        "objective": "binary",
        "num_leaves": values["leaves"],
        "min_data_in_leaf": values["min_leaf"],
        "learning_rate": values["learning_rate"],
        "feature_pre_filter": False,
        "force_col_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    rows = lightgbm.Dataset(fold.X, fold.y.astype(np.float32), params=settings).construct()
    return Peer("LightGBM", lambda: lightgbm.train(settings, rows, values["trees"]))


def _extreme_boosted_trees(values: Configuration, fold: Fold) -> Peer:
    import xgboost

    settings = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "max_leaves": values["leaves"],
        "min_child_weight": values["min_child_weight"],
        "learning_rate": values["learning_rate"],
        "nthread": 1,
        "verbosity": 0,
    }
    rows = xgboost.QuantileDMatrix(fold.X, fold.y, nthread=1)
    return Peer("XGBoost", lambda: xgboost.train(settings, rows, values["trees"]))


def _decision_forest(values: Configuration, fold: Fold) -> Peer:
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    shared = {
        "n_estimators": values["trees"],
        "max_depth": values["depth"],
        "min_samples_leaf": values["min_leaf"],
        "random_state": 0,
        "n_jobs": 1,
    }
    if values["splits"] == 1:
        trees = ExtraTreesClassifier(max_features=1, bootstrap=True, **shared)
        return Peer("ExtraTrees, 1 feature", _fitting(trees, fold.X, fold))
    forest = RandomForestClassifier(max_features=None, **shared)
    return Peer("RandomForest, all features", _fitting(forest, fold.X, fold))


def _network(values: Configuration, fold: Fold) -> Peer:
    from sklearn.neural_network import MLPClassifier

    estimator = MLPClassifier(
        (100,),
        activation="logistic",
        solver="sgd",
        batch_size=1,
        learning_rate_init=values["learning_rate"],
        momentum=0.0,
        alpha=0.0,
        max_iter=1,
        random_state=0,
    )
    iterations = values["iterations"]
    return Peer(
        "MLPClassifier",
        _fitting(estimator, _scaled_to_one(fold), fold),
        times=iterations,
        note=f"{iterations} times one epoch",
    )


def _logistic_regression(values: Configuration, fold: Fold) -> Peer:
    from sklearn.linear_model import LogisticRegression

    strength = values["l1"] + values["l2"]
    solver = "saga" if values["l1"] else "lbfgs"
    estimator = LogisticRegression(
        C=1 / strength,
        l1_ratio=values["l1"] / strength,
        solver=solver,
        tol=1e-4,
        max_iter=10_000,
        random_state=0,
    )
    fit = _fitting(estimator, _standardised(fold), fold)
    return Peer(f"LogisticRegression, {solver}", fit, note="to its own tolerance, 1e-4")


def _tuned_rate(values: Configuration, fold: Fold) -> Peer:
    from sklearn.linear_model import SGDClassifier

    passes = values["passes"]
    estimator = SGDClassifier(
        loss="log_loss", alpha=values["l2"], max_iter=passes, tol=None, random_state=0
    )
    fit = _fitting(estimator, _standardised(fold), fold)
    return Peer("SGDClassifier", fit, note="as many passes, of a single schedule of rates")


_PEERS: Mapping[str, Callable[[Configuration, Fold], Peer]] = {
    "C-AP": _averaged_perceptron,
    "C-BDT": _boosted_trees,
    "C-DF": _decision_forest,
    "C-NN": _network,
    "C-SVM": _svm,
    "C-LR": _logistic_regression,
    "XGB": _extreme_boosted_trees,
    "A-LR": _tuned_rate,
}


def _fitting(estimator: Any, X: np.ndarray, fold: Fold) -> Fit:
    return lambda: estimator.fit(X, fold.y)


def _standardised(fold: Fold) -> np.ndarray:
    from sklearn.preprocessing import StandardScaler

    X: np.ndarray = StandardScaler().fit_transform(fold.X)
    return X


def _scaled_to_one(fold: Fold) -> np.ndarray:
    from sklearn.preprocessing import MinMaxScaler

    X: np.ndarray = MinMaxScaler().fit_transform(fold.X)
    return X
