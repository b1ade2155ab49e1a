"""Predictions checked and repaired, against hand cases and the rules written plainly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import InputError
from runner.metatask.integrity import (
    Checked,
    UnknownClassError,
    check_model,
    encode_labels,
    examine,
)

CLASSES = ("a", "b", "c")
SVC = "sklearn.pipeline.Pipeline(s=...,svc=sklearn.svm.classes.SVC)"
ADA = "sklearn.pipeline.Pipeline(classifier=sklearn.ensemble.weight_boosting.AdaBoostClassifier(x))"


def check(
    labels: str,
    predictions: str,
    confidences: list[list[float]] | None,
    truths: str | None = None,
    description: str = "",
) -> Checked:
    codes = np.array([CLASSES.index(label) for label in labels], dtype=np.int16)
    values = None if confidences is None else np.array(confidences)
    given = None if truths is None else list(truths)
    return check_model("run 5", description, codes, list(predictions), values, given, CLASSES)


def kinds(checked: Checked) -> list[tuple[str, int, bool]]:
    return [(found.kind, found.rows, found.repaired) for found in checked.findings]


def test_sound_predictions_have_no_finding_and_stay_as_they_are() -> None:
    confidences = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]
    checked = check("ab", "ac", confidences, "ab")
    assert checked.findings == ()
    assert checked.predictions.tolist() == [0, 2]
    assert checked.confidences.tolist() == confidences
    assert checked.predictions.dtype == np.int16


def test_a_tie_is_told_and_changes_nothing() -> None:
    checked = check("aa", "bb", [[0.4, 0.4, 0.2], [0.1, 0.8, 0.1]])
    assert kinds(checked) == [("confidences", 1, True)]
    assert checked.confidences.tolist() == [[0.4, 0.4, 0.2], [0.1, 0.8, 0.1]]


def test_a_difference_within_tolerance_is_made_equal() -> None:
    # b lies .008 behind a: both share what c leaves of 1.
    checked = check("ab", "bc", [[0.404, 0.396, 0.2], [0.1, 0.2, 0.7]])
    assert kinds(checked) == [("confidences", 1, True)]
    assert checked.confidences[0].tolist() == [0.4, 0.4, 0.2]
    assert checked.confidences[1].tolist() == [0.1, 0.2, 0.7]


def test_the_tolerance_is_strict() -> None:
    # .25 and .26 aren't exact; .5 and .5 - 1/128 are, and 1/128 is below .01.
    assert check("a", "b", [[0.5, 0.5 - 1 / 128, 1 / 128]]).findings[0].repaired
    far = check("a", "b", [[0.505, 0.495, 0.0]])
    assert kinds(far) == [("confidences", 1, False)]
    assert far.confidences.tolist() == [[0.505, 0.495, 0.0]]


def test_one_row_beyond_tolerance_spoils_the_model_and_nothing_is_repaired() -> None:
    confidences = [[0.404, 0.396, 0.2], [0.1, 0.2, 0.7]]
    checked = check("ab", "ba", confidences)
    assert kinds(checked) == [("confidences", 2, False)]
    assert checked.confidences.tolist() == confidences


@pytest.mark.parametrize("description", [SVC, ADA])
def test_the_paper_s_two_families_are_repaired_beyond_tolerance(description: str) -> None:
    checked = check(
        "aba", "bcb", [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3]], None, description
    )
    assert kinds(checked) == [("confidences", 1, True)]
    assert checked.confidences[0] == pytest.approx([0.45, 0.45, 0.1])


def test_swapped_columns_are_put_right_before_a_repair_could_hide_them() -> None:
    # The run predicted a, a, b; its file has the truth (a, b, b) in the column of predictions.
    confidences = [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.9, 0.0]]
    checked = check("abb", "abb", confidences, "aab", SVC)
    assert kinds(checked) == [("swapped", 1, True)]
    assert checked.predictions.tolist() == [0, 0, 1]
    assert checked.confidences.tolist() == confidences


def test_a_model_that_is_always_right_against_its_confidences_is_never_repaired() -> None:
    # Without a column of truth a swap can't be told from a family's habit.
    checked = check("abb", "abb", [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.9, 0.0]], None, SVC)
    assert kinds(checked) == [("confidences", 1, False)]


def test_a_wrong_truth_is_told_and_the_predictions_stay() -> None:
    checked = check("abb", "aab", [[1, 0, 0], [1, 0, 0], [0, 1, 0]], "abc")
    assert kinds(checked) == [("truth", 1, True)]
    assert checked.predictions.tolist() == [0, 0, 1]


def test_a_model_without_confidences_gets_those_of_its_classes() -> None:
    checked = check("ab", "cb", None)
    assert kinds(checked) == [("no confidences", 2, True)]
    assert checked.confidences.tolist() == [[0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize(
    ("row", "kind", "repaired"),
    [
        ([np.nan, 0.5, 0.5], "nan", False),
        ([np.inf, 0.0, 0.0], "nan", False),
        ([1.2, -0.2, 0.0], "negative", False),
        ([0.0, 0.0, 0.0], "sums", False),
        ([2.0, 1.0, 1.0], "sums", True),
    ],
)
def test_numbers_that_are_no_confidences(row: list[float], kind: str, repaired: bool) -> None:
    checked = check("ab", "ac", [row, [0.1, 0.2, 0.7]])
    assert kinds(checked) == [(kind, 1, repaired)]
    if repaired:
        assert checked.confidences.tolist() == [[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]


def test_rounded_confidences_are_left_alone() -> None:
    row = [0.333, 0.333, 0.333]
    assert check("a", "a", [row]).findings == ()
    assert check("a", "a", [row]).confidences.tolist() == [row]


def test_an_unknown_class_is_told_with_its_column() -> None:
    with pytest.raises(UnknownClassError, match=r"run 5: column 'prediction' holds 'x', which"):
        check("ab", "ax", None)
    with pytest.raises(UnknownClassError, match=r"run 5: column 'correct' holds 'x'"):
        check("ab", "ab", None, "ax")


def test_shapes_that_do_not_fit_are_told() -> None:
    with pytest.raises(InputError, match=r"'prediction' has 1 rows, the task tests 2"):
        check("ab", "a", None)
    with pytest.raises(InputError, match=r"'correct' has 3 rows, the task tests 2"):
        check("ab", "ab", None, "abc")
    with pytest.raises(InputError, match=r"2 columns of confidences in 2 rows, the task has 3"):
        check("ab", "ab", [[0.5, 0.5], [0.5, 0.5]])


def test_labels_are_compared_as_text_but_for_a_boolean_s_spelling() -> None:
    assert encode_labels(["True", "FALSE", "true"], ["FALSE", "TRUE"], "x").tolist() == [1, 0, 1]
    assert encode_labels(["None", "NA"], ["NA", "None"], "x").tolist() == [1, 0]
    assert encode_labels([], ["a"], "x").tolist() == []
    for text, classes in (("A", ["a", "b"]), ("1.0", ["1", "2"]), ("true", ["True", "TRUE"])):
        with pytest.raises(UnknownClassError, match="which is no class"):
            encode_labels([text], classes, "x")
    with pytest.raises(UnknownClassError, match="no class in row 1"):
        encode_labels(["a", None], ["a"], "x")


def plainly(
    predictions: list[int], confidences: list[list[float]], excepted: bool
) -> tuple[bool, list[list[float]]]:
    """Whether a model is corrupted, and its repaired confidences: the paper's rules, row by row."""
    near, far = [], []
    for row, (own, values) in enumerate(zip(predictions, confidences, strict=True)):
        best = values.index(max(values))
        if best != own and values[best] != values[own]:
            (near if abs(values[own] - values[best]) < 0.01 else far).append(row)
    if far and not excepted:
        return True, confidences
    repaired = [list(values) for values in confidences]
    for row in near + far:
        values = confidences[row]
        level = values[predictions[row]]
        above = [position for position, value in enumerate(values) if value >= level]
        rest = sum(value for position, value in enumerate(values) if position not in above)
        for position in above:
            repaired[row][position] = (1 - rest) / len(above)
    return False, repaired


share = st.integers(0, 400).map(lambda number: number / 400)


@st.composite
def rows(draw: st.DrawFn) -> tuple[int, list[float]]:
    first = draw(share)
    second = draw(share) * (1 - first)
    values = [first, second, 1 - first - second]
    best = values.index(max(values))
    return draw(st.sampled_from([best, best, best, 0, 1, 2])), values


@settings(max_examples=300, deadline=None)
@given(st.lists(rows(), min_size=1, max_size=8), st.booleans())
def test_any_model_is_judged_and_repaired_as_the_rules_say(
    table: list[tuple[int, list[float]]], excepted: bool
) -> None:
    predictions = [own for own, _ in table]
    confidences = [values for _, values in table]
    # Labels that the model misses, so that the exception may hold.
    labels = "".join(CLASSES[(own + 1) % 3] for own in predictions)
    texts = "".join(CLASSES[own] for own in predictions)
    checked = check(labels, texts, confidences, None, SVC if excepted else "")
    corrupted, repaired = plainly(predictions, confidences, excepted)
    assert any(not found.repaired for found in checked.findings) == corrupted
    assert checked.confidences == pytest.approx(np.array(repaired), abs=1e-15)
    if not corrupted:
        # What was repaired needs no repair: the prediction has the highest confidence.
        own = checked.confidences[np.arange(len(predictions)), checked.predictions]
        assert own == pytest.approx(checked.confidences.max(axis=1), abs=1e-15)
    assert (
        bool(examine(np.array(predictions), np.array(confidences)))
        == plainly(predictions, confidences, False)[0]
    )
