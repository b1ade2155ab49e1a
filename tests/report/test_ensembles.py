"""The report on ensembles, of outcomes made so that what it should say is known."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata

from runner.ensemble.setting import MetataskFacts, Setting, TechniqueFacts
from runner.report.ensembles import Outcome, preview_ensembles, write_ensembles
from runner.report.ensembles.figures import figures
from runner.report.ensembles.outcome import Evaluation

TECHNIQUES = ("SBA", "VBA", "Voting", "Stacking", "ES")
FOLDS = 3


def facts(number: int, train_seconds: float | None = 100.0) -> MetataskFacts:
    return MetataskFacts(
        name=str(number),
        dataset=f"set-{number}",
        rows=1000 + 200 * number,
        features=4,
        categorical=1,
        classes=2,
        folds=FOLDS,
        models=10,
        corrupted=0,
        timed_models=0 if train_seconds is None else 10,
        train_seconds=train_seconds or 0.0,
        validation=False,
    )


def evaluation(task: str, technique: str, fold: int, score: float | None) -> Evaluation:
    failed = score is None
    return Evaluation(
        task=task,
        technique=technique,
        fold=fold,
        outcome="timeout" if failed else "ok",
        reason="wall" if failed else None,
        error=None,
        score=score,
        fit_seconds=None if failed else 0.5,
        predict_seconds=None if failed else 0.25,
        prepare_seconds=None if failed else 0.25,
        wall_seconds=1.0,
        cpu_seconds=1.0,
        peak_mib=10.0,
        shared_with=1,
        timing="packed",
        machine="m",
    )


def outcome(tasks: Sequence[MetataskFacts], scores: np.ndarray) -> Outcome:
    """Of scores (tasks, techniques, folds); NaN for a fold that failed."""
    found = [
        evaluation(task.name, name, fold, None if np.isnan(value) else float(value))
        for task, by_technique in zip(tasks, scores, strict=True)
        for name, by_fold in zip(TECHNIQUES, by_technique, strict=True)
        for fold, value in enumerate(by_fold)
    ]
    techniques = [TechniqueFacts(name, name, {}, name == "VBA") for name in TECHNIQUES]
    return Outcome(
        run_id="r1",
        study="made",
        finished=True,
        setting=Setting("corrected", "auc", 0, tuple(tasks), tuple(techniques)),
        planned=len(found),
        folds={task.name: FOLDS for task in tasks},
        evaluations=tuple(found),
    )


def drawn(tasks: int, seed: int = 0) -> np.ndarray:
    """Scores whose techniques are of unlike skill; the oracle is the best."""
    rng = np.random.default_rng(seed)
    skill = np.array([0.70, 0.95, 0.72, 0.75, 0.80])[None, :, None]
    return skill + rng.normal(scale=0.02, size=(tasks, len(TECHNIQUES), FOLDS))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_tables_hold_what_a_plain_computation_gives(tmp_path: Path) -> None:
    scores = drawn(9)
    report = write_ensembles(outcome([facts(n) for n in range(9)], scores), tmp_path)
    means = scores.mean(axis=2)
    gaps = (means - means[:, :1]) / (means[:, 1:2] - means[:, :1])
    large = [n for n in range(9) if 1000 + 200 * n >= 1900]
    for row in read(tmp_path / "tables/table2.csv"):
        own = gaps[:, TECHNIQUES.index(row["technique"])]
        assert float(row["mean"]) == pytest.approx(own.mean())
        assert float(row["std"]) == pytest.approx(own.std(ddof=1))
        assert float(row["mean_large"]) == pytest.approx(own[large].mean())
        assert int(row["tasks_large"]) == len(large)
    contenders = np.delete(means, 1, axis=1)
    ranks = rankdata(-contenders, axis=1).mean(axis=0)
    names = [name for name in TECHNIQUES if name != "VBA"]
    for row in read(tmp_path / "tables/ranks.csv"):
        assert float(row["mean_rank"]) == pytest.approx(ranks[names.index(row["technique"])])
    for row in read(tmp_path / "tables/comparisons.csv"):
        left, right = (contenders[:, names.index(row[key])] for key in ("one", "other"))
        assert (int(row["wins"]), int(row["losses"])) == (sum(left > right), sum(left < right))
    said = " ".join(report.sentences)
    assert f"p = {friedmanchisquare(*contenders.T).pvalue:.2g}" in said
    assert "9 tasks are few" in said


def test_training_times_are_set_beside_the_simulations_own(tmp_path: Path) -> None:
    tasks = [facts(0), facts(1, None), facts(2)]
    report = write_ensembles(outcome(tasks, drawn(3)), tmp_path)
    rows = {row["task"]: row for row in read(tmp_path / "tables/savings.csv")}
    simulated = len(TECHNIQUES) * FOLDS * 1.0
    assert float(rows["0"]["simulation_seconds"]) == pytest.approx(simulated)
    assert float(rows["0"]["factor"]) == pytest.approx(100 / simulated)
    assert rows["1"]["training_seconds"] == rows["1"]["factor"] == ""
    said = " ".join(report.sentences)
    assert "of the 2 tasks where it is recorded took 200 s" in said
    assert "no saving told, of: 1." in said


def test_a_failed_fold_leaves_no_mean_and_is_named(tmp_path: Path) -> None:
    scores = drawn(7)
    scores[2, TECHNIQUES.index("ES"), 1] = np.nan
    report = write_ensembles(outcome([facts(n) for n in range(7)], scores), tmp_path)
    assert "ES on 2 has no mean: 1 of 3 folds are timeout (wall)." in report.notes
    (row,) = [
        row
        for row in read(tmp_path / "tables/scores.csv")
        if (row["task"], row["technique"]) == ("2", "ES")
    ]
    assert (row["mean"], row["folds"], row["outcomes"]) == ("", "2", "2 ok, 1 timeout")
    said = " ".join(report.sentences)
    assert "Mean ranks over 6 tasks" in said
    assert "Left out of the ranks, for some technique has no mean there: 2." in said


def test_tasks_without_a_gap_or_a_bound_are_left_out_and_named(tmp_path: Path) -> None:
    scores = drawn(4)
    scores[0, 1] = scores[0, 0]
    scores[1, 0, 0] = np.nan
    report = write_ensembles(outcome([facts(n) for n in range(4)], scores), tmp_path)
    said = " ".join(report.sentences)
    assert "single and virtual best are equal: 0." in said
    assert "the bounds have no mean there: 1." in said
    assert [row["task"] for row in read(tmp_path / "tables/gaps.csv")] == ["3", "2"]


def test_a_study_without_bounds_has_scores_and_no_gaps(tmp_path: Path) -> None:
    full = outcome([facts(n) for n in range(3)], drawn(3))
    kept = [one for one in full.techniques if one.name not in ("SBA", "VBA")]
    without = replace(
        full,
        setting=replace(full.setting, techniques=tuple(kept)),
        evaluations=tuple(e for e in full.evaluations if e.technique not in ("SBA", "VBA")),
    )
    report = write_ensembles(without, tmp_path)
    assert not (tmp_path / "tables/table2.csv").exists()
    assert "No closed gaps: the study has no SBA and no VBA, their bounds." in report.sentences
    assert "scores" in report.tables
    assert len(report.shown)


def test_an_older_reports_files_do_not_stay(tmp_path: Path) -> None:
    write_ensembles(outcome([facts(n) for n in range(3)], drawn(3)), tmp_path)
    assert (tmp_path / "figures/critical_difference.svg").exists()
    write_ensembles(outcome([facts(0)], drawn(1)), tmp_path)
    assert not (tmp_path / "figures/critical_difference.svg").exists()
    assert not (tmp_path / "tables/ranks.csv").exists()
    assert (tmp_path / "figures/figure1.png").exists()


def test_many_tasks_make_several_figures_as_in_the_paper() -> None:
    many = outcome([facts(n) for n in range(31)], drawn(31))
    assert list(figures(many, None)) == ["figure1", "figure2"]


def test_nothing_yet_is_a_report_too(tmp_path: Path) -> None:
    full = outcome([facts(n) for n in range(2)], drawn(2))
    report = write_ensembles(replace(full, evaluations=(), finished=False), tmp_path)
    assert report.notes[0].startswith("Run r1 was interrupted or is still going; 30 of")
    assert report.page.exists()


def test_a_page_of_half_a_run_draws_no_conclusions() -> None:
    full = outcome([facts(n) for n in range(3)], drawn(3))
    half = replace(full, finished=False, evaluations=full.evaluations[: len(full.evaluations) // 2])
    page = preview_ensembles(half)
    assert page.answers == ()
    assert [table["id"] for table in page.tables] == ["table1", "scores", "folds"]
    assert [chart["id"] for chart in page.charts] == ["scores1"]
    assert not any("refit" in note for note in page.notes)


def test_the_order_of_tasks_and_techniques_changes_no_rank(tmp_path: Path) -> None:
    scores = drawn(6)
    for number, order in enumerate(itertools.islice(itertools.permutations(range(6)), 0, 720, 300)):
        tasks = [facts(n) for n in order]
        write_ensembles(outcome(tasks, scores[list(order)]), tmp_path / str(number))
    texts = {(tmp_path / str(n) / "tables/ranks.csv").read_text() for n in range(3)}
    assert len(texts) == 1
