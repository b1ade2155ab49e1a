"""A family whose scores become other bits must get a new version.

The digests are of AUC values, which depend on the order of margins alone: the last bits of a
margin differ between processors, the order hardly ever. After a change that is meant, raise the
family's version; after a change of the locked library, none is needed, since keys hold its
version. In both cases add the digest that the failing test prints.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import version

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from runner.metrics import auc
from runner.models import FAMILIES, Family

DIGESTS = {
    ("C-AP", 1, ("numpy 2.4",)): "da7495fcbd332df2",
    ("C-BPM", 1, ("numpy 2.4",)): "bb8f485f8a43c206",
    ("C-BDT", 1, ("lightgbm 4.7",)): "94d18d649f8cd2ca",
    ("C-DF", 1, ()): "14d57b751cfb78f4",
    ("C-DJ", 2, ()): "7b08e8aec97249c1",
    ("C-NN", 1, ()): "9e43e781609c0636",
    ("C-SVM", 1, ("numpy 2.4",)): "50ef7fb40bc08467",
    ("C-LR", 2, ("numpy 2.4",)): "ed35dc90e9e60e55",
    ("XGB", 1, ("xgboost 3.2",)): "367fb29eff269424",
    ("A-LR", 2, ("numpy 2.4",)): "5706502d000087d1",
}


def sets() -> list[tuple[np.ndarray, np.ndarray]]:
    X, digit = load_digits(return_X_y=True)
    patients, progression = load_diabetes(return_X_y=True)
    return [
        load_breast_cancer(return_X_y=True),
        (X, digit % 2),
        (patients, progression > np.median(progression)),
    ]


def scores(family: Family) -> list[str]:
    """AUC on every third row of a fit on the others, for configurations spread over the grid."""
    rows = []
    for X, y in sets():
        test = np.arange(len(y)) % 3 == 0
        for number, values in family.configurations()[::13]:
            fitted = family.estimator(values, seed=7, threads=1).fit(X[~test], y[~test])
            score = auc(y[test].astype(np.uint8), fitted.decision_function(X[test]))
            rows.append(f"{number} {score!r}")
    return rows


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_scores_change_only_with_the_version(family: Family) -> None:
    libraries = tuple(
        f"{name} {'.'.join(version(name).split('.')[:2])}" for name in family.libraries
    )
    computed = scores(family)
    digest = hashlib.sha256("\n".join(computed).encode()).hexdigest()[:16]
    key = (family.name, family.version, libraries)
    assert DIGESTS.get(key) == digest, f"{key}: {digest!r}\n" + "\n".join(computed)
