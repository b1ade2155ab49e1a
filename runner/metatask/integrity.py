"""Whether a model's stored predictions can be trusted, and the repair of those that can't.

The comparison of predictions with confidences follows Assembled-OpenML (Purucker and Beel, 2022):
its tolerance, its repair and its two exceptions. Columns that were uploaded in each other's place
are looked for first, by the data's own labels, since the repair would turn such a run of an SVM
into a model that is always right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from runner.errors import InputError, suggestion
from runner.metatask.metatask import Finding
from runner.metrics import one_hot

TOLERANCE = 0.01
"""A prediction's confidence may be less than this below the highest one (Assembled-OpenML), and a
row's confidences may miss a sum of 1 by as much."""

_RANKS_ALONE = (
    "classifier=sklearn.svm.classes.SVC)",
    "svc=sklearn.svm.classes.SVC)",
    "sklearn.svm._classes.SVC)",
    "classifier=sklearn.ensemble.weight_boosting.AdaBoostClassifier(",
)
"""In a flow's description: models whose confidences are not what they predict by."""

BOOLEANS = ("true", "false")
"""Labels of which programs change the case."""


class UnknownClassError(InputError):
    """Predictions hold a class that the task lacks."""


@dataclass(frozen=True)
class Checked:
    """A model's predictions, repaired where that is possible.

    Attributes:
        predictions: (rows,) int16, positions in the classes.
        confidences: (rows, classes) float64.
        findings: What was found, repaired or not.
    """

    predictions: np.ndarray
    confidences: np.ndarray
    findings: tuple[Finding, ...]


def check_model(
    name: str,
    description: str,
    labels: np.ndarray,
    predictions: Sequence[str] | np.ndarray,
    confidences: np.ndarray | None,
    truths: Sequence[str] | np.ndarray | None,
    classes: Sequence[str],
) -> Checked:
    """Check a model's predictions as its file has them, and repair what can be.

    Args:
        name: The model's, for messages.
        description: Its flow's name, which tells the models that the paper excepts.
        labels: (rows,) int16, the data's own labels as positions in the classes.
        predictions: (rows,) texts, the column that the file calls its predictions.
        confidences: (rows, classes) as in the file; None where it has none.
        truths: (rows,) texts, the column that the file calls the truth; None where it has none.
        classes: The task's labels.

    Raises:
        UnknownClassError: A column holds a text that is no class.
        InputError: The columns' lengths differ, or the confidences don't match the classes.
    """
    _check_shapes(name, labels, predictions, confidences, truths, classes)
    findings: list[Finding] = []
    predicted = encode_labels(predictions, classes, f"{name}: column 'prediction'")
    if truths is not None:
        true = encode_labels(truths, classes, f"{name}: column 'correct'")
        predicted = _put_right(predicted, true, labels, findings)
    if confidences is None:
        findings.append(_without_confidences(len(labels)))
        return Checked(predicted, one_hot(predicted, len(classes)), tuple(findings))
    sound = np.array(confidences, dtype=np.float64)
    sound = _check_numbers(sound, findings)
    if all(finding.repaired for finding in findings):
        # A model that is right in every row needs a better reason than its family's name.
        excepted = _ranks_alone(description) and not np.array_equal(predicted, labels)
        _compare(predicted, sound, excepted, findings)
    return Checked(predicted, sound, tuple(findings))


def examine(predictions: np.ndarray, confidences: np.ndarray) -> tuple[Finding, ...]:
    """What is wrong with stored predictions as they are; nothing is repaired.

    Args:
        predictions: (rows,) positions in the classes.
        confidences: (rows, classes).
    """
    findings: list[Finding] = []
    for kind, rows, text in _faulty_numbers(confidences):
        findings.append(Finding(kind, rows, False, text))
    if not findings:
        near, far = _disagreements(predictions, confidences)
        if len(far):
            findings.append(Finding("confidences", len(near) + len(far), False, _far_text(far)))
    return tuple(findings)


def encode_labels(
    texts: Sequence[str] | np.ndarray | pa.Array, classes: Sequence[str], place: str
) -> np.ndarray:
    """Texts as positions in the classes, (rows,) int16.

    Labels are compared as they are written. Only a boolean's spelling may differ, ``True`` from
    ``TRUE``, since programs that read and write tables change it.

    Raises:
        UnknownClassError: A text is no class; the message begins with ``place``.
    """
    array = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())
    encoded = array.dictionary_encode()
    if encoded.null_count:
        row = int(np.flatnonzero(np.asarray(encoded.indices.is_null()))[0])
        raise UnknownClassError(f"{place}: no class in row {row}")
    position = {label: index for index, label in enumerate(classes)}
    codes = np.empty(len(encoded.dictionary), dtype=np.int16)
    for index, text in enumerate(encoded.dictionary.to_pylist()):
        code = position.get(text, _boolean(text, classes))
        if code is None:
            raise UnknownClassError(
                f"{place} holds {text!r}, which is no class of the task: "
                f"{suggestion(text, classes)}"
            )
        codes[index] = code
    coded: np.ndarray = codes[encoded.indices.to_numpy()]
    return coded


def make_equal(confidences: np.ndarray, predictions: np.ndarray, rows: np.ndarray) -> None:
    """Give the predicted class the highest confidence of its row, in place.

    All classes at or above it share what the classes below it leave of 1.

    Args:
        confidences: (n, classes) float64.
        predictions: (n,) positions in the classes.
        rows: Positions of the rows to change.
    """
    part = confidences[rows]
    own = part[np.arange(len(rows)), predictions[rows], None]
    above = part >= own
    shared = 1 - np.where(above, 0.0, part).sum(axis=1, keepdims=True)
    confidences[rows] = np.where(above, shared / above.sum(axis=1, keepdims=True), part)


def _check_shapes(
    name: str,
    labels: np.ndarray,
    predictions: Sequence[str] | np.ndarray,
    confidences: np.ndarray | None,
    truths: Sequence[str] | np.ndarray | None,
    classes: Sequence[str],
) -> None:
    for column, values in (("prediction", predictions), ("correct", truths)):
        if values is not None and len(values) != len(labels):
            raise InputError(
                f"{name}: column {column!r} has {len(values)} rows, the task tests {len(labels)}"
            )
    if confidences is not None and confidences.shape != (len(labels), len(classes)):
        rows, columns = confidences.shape
        raise InputError(
            f"{name}: {columns} columns of confidences in {rows} rows, "
            f"the task has {len(classes)} classes and {len(labels)} rows"
        )


def _put_right(
    predicted: np.ndarray, true: np.ndarray, labels: np.ndarray, findings: list[Finding]
) -> np.ndarray:
    """The predictions, from whichever of the two columns holds them."""
    wrong = int(np.count_nonzero(true != labels))
    if not wrong:
        return predicted
    if np.array_equal(predicted, labels):
        text = "prediction and truth were stored in each other's column; put right"
        findings.append(Finding("swapped", wrong, True, text))
        return true
    text = f"the file's truth differs from the data's labels in {wrong} rows; the data's count"
    # The predictions themselves are none the worse for it.
    findings.append(Finding("truth", wrong, True, text))
    return predicted


def _without_confidences(rows: int) -> Finding:
    text = "there are no confidences: 1 for each predicted class instead"
    return Finding("no confidences", rows, True, text)


def _check_numbers(confidences: np.ndarray, findings: list[Finding]) -> np.ndarray:
    """The confidences with rows that sum to 1, where they are confidences at all."""
    for kind, rows, text in _faulty_numbers(confidences):
        if kind == "sums" and np.all(confidences.sum(axis=1) > 0):
            sums = confidences.sum(axis=1, keepdims=True)
            confidences = np.where(_off_one(sums), confidences / sums, confidences)
            findings.append(Finding(kind, rows, True, f"{text}; divided by their sum"))
        else:
            findings.append(Finding(kind, rows, False, text))
    return confidences


def _faulty_numbers(confidences: np.ndarray) -> list[tuple[str, int, str]]:
    """Kind, rows and text of what makes numbers no confidences; the first kind hides the others."""
    missing = int(np.count_nonzero(~np.isfinite(confidences).all(axis=1)))
    if missing:
        return [("nan", missing, f"a confidence is no number in {missing} rows")]
    negative = int(np.count_nonzero((confidences < 0).any(axis=1)))
    if negative:
        return [("negative", negative, f"a confidence is below 0 in {negative} rows")]
    sums = confidences.sum(axis=1, dtype=np.float64)
    off = int(np.count_nonzero(_off_one(sums)))
    if off:
        text = f"the confidences of {off} rows don't sum to 1, but to {sums.min():g} .. "
        return [("sums", off, f"{text}{sums.max():g}")]
    return []


def _off_one(sums: np.ndarray) -> np.ndarray:
    off: np.ndarray = np.abs(sums - 1) > TOLERANCE
    return off


def _compare(
    predictions: np.ndarray, confidences: np.ndarray, excepted: bool, findings: list[Finding]
) -> None:
    """Compare predictions with the classes of highest confidence; repairs in place."""
    differing = int(np.count_nonzero(confidences.argmax(axis=1) != predictions))
    if not differing:
        return
    near, far = _disagreements(predictions, confidences)
    if len(far) and not excepted:
        findings.append(Finding("confidences", differing, False, _far_text(far)))
        return
    make_equal(confidences, predictions, np.concatenate([near, far]))
    parts = [
        f"{count} {what}"
        for count, what in (
            (differing - len(near) - len(far), "tie"),
            (len(near), f"within {TOLERANCE:g}, made equal"),
            (len(far), "beyond, as this family's are, made equal"),
        )
        if count
    ]
    text = f"another class than the predicted has the highest confidence in {differing} rows: "
    findings.append(Finding("confidences", differing, True, text + ", ".join(parts)))


def _disagreements(predictions: np.ndarray, confidences: np.ndarray) -> tuple[np.ndarray, ...]:
    """The rows whose predicted class lies below the highest confidence: within tolerance, beyond.

    Rows that tie are in neither.
    """
    below = confidences.max(axis=1) - confidences[np.arange(len(predictions)), predictions]
    return np.flatnonzero((below > 0) & (below < TOLERANCE)), np.flatnonzero(below >= TOLERANCE)


def _far_text(far: np.ndarray) -> str:
    return f"the predicted class is {TOLERANCE:g} or more below the highest in {len(far)} rows"


def _ranks_alone(description: str) -> bool:
    return any(mark in description for mark in _RANKS_ALONE)


def _boolean(text: str, classes: Sequence[str]) -> int | None:
    """The class that a boolean spells in another way; None where there is none or a choice."""
    folded = text.casefold()
    if folded not in BOOLEANS:
        return None
    found = [index for index, label in enumerate(classes) if label.casefold() == folded]
    return found[0] if len(found) == 1 else None
