"""Protocol ``paper`` against what the original's program printed of metatask -13."""

from __future__ import annotations

import csv
from collections import defaultdict

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from runner.ensemble.original import ORDER, Asked, FoldRun, initial_state, rounded_auc, simulate
from runner.ensemble.registry import TECHNIQUES
from runner.metatask import Metatask
from runner.metrics import METRICS
from tests.ensemble.conftest import ASSEMBLED, made

COLUMNS = {
    "Stacking": "StackingClassifier",
    "Voting": "VotingClassifier",
    "ES": "EnsembleSelection",
    "DCS": "DCS",
    "DES": "DES_Classifier",
    "VBA": "DCS_VBA",
    "SBA": "DCS_SBA",
    "VBE": "VBE",
}
RUN = ASSEMBLED / "original-run-13"


@pytest.fixture(scope="module")
def printed() -> dict[int, dict[int, dict[str, str]]]:
    """By fold, by row, what the program says in each column."""
    by_fold: dict[int, dict[int, dict[str, str]]] = defaultdict(dict)
    with open(RUN / "results_for_metatask_-13.csv", newline="") as file:
        for line in csv.DictReader(file):
            by_fold[int(line["Fold"])][int(line["Index-Metatask"])] = line
    return by_fold


@pytest.fixture(scope="module")
def runs(thirteen: Metatask) -> list[FoldRun]:
    asked = [Asked(name, TECHNIQUES[name]) for name in ORDER]
    return list(simulate(thirteen, asked, initial_state()))


def agreement(
    run: FoldRun, printed: dict[int, dict[int, dict[str, str]]], classes: tuple[str, ...]
) -> float:
    column = COLUMNS[run.name]
    told = [printed[run.fold][row][column] for row in run.rows.tolist()]
    return float(np.mean(np.array(classes)[run.run.answer.predictions] == told))


def test_scores_the_rows_that_the_program_scored(runs, printed) -> None:
    assert len(runs) == 80
    for run in runs:
        assert set(run.rows.tolist()) == set(printed[run.fold])


@pytest.mark.parametrize("name", ["Stacking", "Voting", "ES", "VBA", "SBA", "VBE"])
def test_says_of_every_row_what_the_program_says(name, runs, printed, thirteen) -> None:
    found = [agreement(run, printed, thirteen.classes) for run in runs if run.name == name]
    assert found == [1.0] * 10


@pytest.mark.parametrize(("name", "least"), [("DCS", 0.9), ("DES", 0.97)])
def test_forests_of_another_scikit_learn_say_nearly_the_same(
    name, least, runs, printed, thirteen
) -> None:
    found = [agreement(run, printed, thirteen.classes) for run in runs if run.name == name]
    assert np.mean(found) > least


@pytest.mark.parametrize("name", ORDER)
def test_mean_scores_are_within_a_standard_error(name, runs) -> None:
    with open(RUN / "auroc_-13.csv", newline="") as file:
        told = np.array([float(line[COLUMNS[name]]) for line in csv.DictReader(file)])
    ours = [
        METRICS["hard_auc"].score(run.y, run.run.answer.predictions, np.empty((0, 2)))
        for run in runs
        if run.name == name
    ]
    error = np.std(told, ddof=1) / np.sqrt(len(told))
    assert abs(np.mean(ours) - told.mean()) < error
    if name not in ("DCS", "DES"):
        assert ours == pytest.approx(told, abs=1e-12)


def test_the_state_moves_alike_whoever_is_asked_for() -> None:
    metatask = made(classes=2, rows=80, models=3)
    states = []
    for names in (ORDER, ("Voting",), ("DES", "ES")):
        state = initial_state()
        asked = [Asked(name, TECHNIQUES[name]) for name in names]
        asked.append(Asked("mine", TECHNIQUES["DES"], {"trees": 3}))
        assert [run.name for run in simulate(metatask, asked, state)][-1] == "mine"
        states.append(state.randint(2**31))
    assert len(set(states)) == 1


def test_a_metatask_begins_where_the_one_before_ended() -> None:
    metatask, binary = made(2, rows=80, models=3), made(2, rows=80, models=3, seed=1)
    asked = [Asked("Voting", TECHNIQUES["Voting"])]
    state = initial_state()
    first = [run.rows for run in simulate(metatask, asked, state)]
    second = [run.rows for run in simulate(binary, asked, state)]
    again = [run.rows for run in simulate(binary, asked, initial_state())]
    assert [rows.tolist() for rows in second] != [rows.tolist() for rows in again]
    assert len(first) == len(second) == 4


@pytest.mark.parametrize("decimals", [1, 2, 16])
@pytest.mark.parametrize("classes", [2, 3])
def test_rounds_as_scikit_learn_does(classes: int, decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    for _ in range(40):
        y = np.append(np.arange(classes), rng.integers(0, classes, 30))
        shares = rng.dirichlet(np.ones(classes), len(y)).round(decimals)
        true = np.eye(classes)[y] if classes > 2 else y
        scores = shares if classes > 2 else shares[:, 1]
        theirs = roc_auc_score(true, scores, average="weighted", multi_class="ovr")
        assert rounded_auc(y, np.arange(classes), shares) == theirs
