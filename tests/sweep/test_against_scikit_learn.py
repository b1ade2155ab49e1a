"""The best AUC that a sweep reports, against scikit-learn's own cross-validation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

DATA = Path(__file__).parents[3] / "shared/data/datasets"
TASKS = {
    "x-wdbc": "target",
    "credit-g": "class",
    "diabetes": "class",
    "kc2": "problems",
    "x-spambase": "target",
}
SEED = 3

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data sets aren't here")


@pytest.fixture(scope="module")
def best(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Any:
    folder = request.getfixturevalue("make_folder")(tmp_path_factory.mktemp("peers"))
    tasks = "".join(
        f"  - {{file: {DATA / name}.parquet, target: {t}}}\n" for name, t in TASKS.items()
    )
    study = folder.study(
        f"kind: sweep\nname: peers\ntasks:\n{tasks}folds: 5\nseed: {SEED}\n"
        "systems:\n"
        "  - C-BDT: {leaves: [8, 32], min_leaf: [10], learning_rate: [0.1], trees: [20, 100]}\n"
        "  - C-LR: {tolerance: [1.0e-9], l1: [0, 1], l2: [1], memory: [20]}\n"
    )
    folder.sweep(study, "peers")
    done = folder.run("report", "--results", "peers", "--output", "report")
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(folder.path / "report/summary.csv", dtype={"task": str})
    return {(row["task"], row["system"]): row for _, row in table.iterrows()}


def _training_rows(task: str) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.read_parquet(DATA / f"{task}.parquet")
    text = frame.pop(TASKS[task]).astype(str)
    rarer = text.value_counts().index[-1]
    y = (text == rarer).to_numpy().astype(int)
    rows, _ = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=SEED)
    rows = np.sort(rows)
    return frame.iloc[rows], y[rows]


def _prepared() -> Any:
    return make_column_transformer(
        ("passthrough", make_column_selector(dtype_include="number")),
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            make_column_selector(dtype_exclude="number"),
        ),
    )


def _cross_validated(task: str, *steps: Any) -> float:
    X, y = _training_rows(task)
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    pipeline = make_pipeline(_prepared(), *steps)
    return float(cross_val_score(pipeline, X, y, cv=folds, scoring="roc_auc").mean())


@pytest.mark.parametrize("task", TASKS)
def test_boosted_trees(best: Any, task: str) -> None:
    row = best[task, "C-BDT"]
    chosen = json.loads(row["configuration"])
    peer = LGBMClassifier(
        num_leaves=chosen["leaves"],
        min_child_samples=chosen["min_leaf"],
        learning_rate=chosen["learning_rate"],
        n_estimators=chosen["trees"],
        feature_pre_filter=False,
        n_jobs=1,
        verbose=-1,
    )
    assert row["cv_auc"] == pytest.approx(_cross_validated(task, peer), abs=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_logistic_regression(best: Any, task: str) -> None:
    row = best[task, "C-LR"]
    chosen = json.loads(row["configuration"])
    # The same objective: sum of losses + l1 |w| + l2/2 |w|^2, with C = 1 / (l1 + l2).
    strength = chosen["l1"] + chosen["l2"]
    peer = LogisticRegression(
        C=1 / strength,
        l1_ratio=chosen["l1"] / strength,
        solver="saga" if chosen["l1"] else "newton-cholesky",
        max_iter=3000,
        tol=1e-4,
    )
    reference = _cross_validated(task, StandardScaler(), peer)
    # Two solvers end at slightly different points. On kc2, whose columns nearly repeat one another,
    # scikit-learn's own answers at tolerances of 1e-4 to 1e-9 lie 1.2e-3 apart.
    bound = 1.2e-3 if task == "kc2" else 5e-4
    assert row["cv_auc"] == pytest.approx(reference, abs=bound)
