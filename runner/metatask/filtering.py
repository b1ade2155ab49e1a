"""Which models, and which metatasks, are fit to compare ensembles on.

The rules and their defaults are those of Assembled-OpenML's benchmark: no corrupted model, none
worse than a random one, at least 10 models, and a gap of at least 5 % between the single best
model and the virtual best, without which there is nothing for an ensemble to win.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from runner.errors import InputError
from runner.metatask.metatask import Metatask, Stored
from runner.metrics import hard_auc

FILTER = "filter"
"""The entry of a metatask's constraints that lists the filters which it went through."""


@dataclass(frozen=True)
class Rules:
    """What goes.

    Attributes:
        drop_corrupted: Models with findings that couldn't be repaired.
        drop_worse_than_random: Models whose AUROC of hard predictions over all rows is below that
            of classes drawn uniformly.
        drop_constant: Models that predict the same class for every row.
        drop_duplicates: Models whose predictions and confidences an earlier one has too.
        gap: How far the single best must lie behind the virtual best: 1 - SBA / VBA; with 0 it
            isn't measured.
        least_models: How many models a metatask must have in the end.
        seed: Of the random model and of the halves that the gap is measured on.
    """

    drop_corrupted: bool = True
    drop_worse_than_random: bool = True
    drop_constant: bool = False
    drop_duplicates: bool = False
    gap: float = 0.05
    least_models: int = 10
    seed: int = 42


@dataclass(frozen=True)
class Dropped:
    """A model that was dropped, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Filtered:
    """A metatask after a filter.

    Attributes:
        metatask: With the models that stay, and what was done in its constraints.
        dropped: The models that don't.
        gap: The metatask's, of the models that stay; None where it wasn't measured.
        refused: Why the metatask itself isn't fit; empty where it is.
    """

    metatask: Metatask
    dropped: tuple[Dropped, ...]
    gap: float | None
    refused: str


def apply(metatask: Metatask, rules: Rules) -> Filtered:
    """Filter a metatask's models, and say whether what is left is fit for a benchmark.

    Raises:
        InputError: The metatask's labels are all of one class.
    """
    reasons: dict[int, str] = {}
    for position, reason in _reasons(metatask, rules):
        reasons.setdefault(position, reason)
    left = keep_models(metatask, [i for i in range(len(metatask.models)) if i not in reasons])
    gap, refused = _judged(left, rules)
    dropped = tuple(
        Dropped(metatask.models[position].name, reason)
        for position, reason in sorted(reasons.items())
    )
    step = {
        "rules": dataclasses.asdict(rules),
        "models_before": len(metatask.models),
        "dropped": [dataclasses.asdict(one) for one in dropped],
        "gap": gap,
    }
    steps = [*metatask.constraints.get(FILTER, ()), step]
    constraints = {**metatask.constraints, FILTER: steps}
    return Filtered(dataclasses.replace(left, constraints=constraints), dropped, gap, refused)


def keep_models(metatask: Metatask, positions: Sequence[int]) -> Metatask:
    """The metatask with some of its models, in the order given."""
    if list(positions) == list(range(len(metatask.models))):
        return metatask

    def part(stored: Stored) -> Stored:
        chosen = np.array(positions, dtype=np.intp)
        return Stored(stored.rows, stored.predictions[chosen], stored.confidences[chosen])

    return dataclasses.replace(
        metatask,
        models=tuple(metatask.models[position] for position in positions),
        tested=part(metatask.tested),
        validation={fold: part(stored) for fold, stored in metatask.validation.items()},
    )


def performance_gap(metatask: Metatask, seed: int) -> float:
    """1 - SBA / VBA, how far the best model lies behind an oracle that chooses for each row.

    As the paper's benchmark search: each fold's rows are split into stratified halves, the single
    best is chosen on the one, both are scored on the other by the AUROC of hard predictions, and
    the means over folds are compared.

    Raises:
        ValueError: A fold has no stratified halves, since a class has a single row in it.
    """
    single, virtual = [], []
    folds = metatask.folds[metatask.tested.rows]
    labels = metatask.labels[metatask.tested.rows]
    classes = len(metatask.classes)
    for fold in metatask.fold_numbers:
        within = np.flatnonzero(folds == fold)
        first, second = (within[half] for half in _halves(labels[within], fold, seed))
        scores = [
            hard_auc(labels[first], predicted[first], classes)
            for predicted in metatask.tested.predictions
        ]
        best = int(np.argmax(scores))
        y = labels[second]
        single.append(hard_auc(y, metatask.tested.predictions[best, second], classes))
        virtual.append(hard_auc(y, _virtual_best(metatask, y, second), classes))
    return float(1 - np.mean(single) / np.mean(virtual))


def _judged(left: Metatask, rules: Rules) -> tuple[float | None, str]:
    """The gap of what is left, where it was measured, and why that isn't fit, where it isn't."""
    models = len(left.models)
    if not models:
        return None, "no model is left"
    gap = None
    if rules.gap > 0:
        try:
            gap = performance_gap(left, rules.seed)
        except _NoHalvesError as error:
            return None, f"the gap can't be measured: {error}"
        if gap < rules.gap:
            return gap, f"the gap is {gap:.2%}, less than {rules.gap:.2%}"
    if models < rules.least_models:
        return gap, f"{models} models are left, fewer than {rules.least_models}"
    return gap, ""


class _NoHalvesError(ValueError):
    """A fold that can't be halved."""


def _halves(y: np.ndarray, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import StratifiedShuffleSplit

    counts = np.bincount(y)
    if np.any(counts == 1) or np.count_nonzero(counts) < 2 or len(y) // 2 < len(counts[counts > 0]):
        raise _NoHalvesError(f"the rows of fold {fold} can't be halved with each class in both")
    splitter = StratifiedShuffleSplit(n_splits=1, test_size=0.5, random_state=seed)
    first, second = next(splitter.split(np.zeros((len(y), 1)), y))
    return first, second


def _virtual_best(metatask: Metatask, y: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """What an oracle predicts: the truth where a model does, else what the least wrong one does."""
    predictions = metatask.tested.predictions[:, positions]
    rows = np.arange(len(positions))
    confidences = metatask.tested.confidences[:, positions, y]
    least_wrong: np.ndarray = predictions[np.argmax(confidences, axis=0), rows]
    return np.where((predictions == y).any(axis=0), y, least_wrong)


def _reasons(metatask: Metatask, rules: Rules) -> Iterable[tuple[int, str]]:
    """Positions of models to drop, the paper's reasons first."""
    if rules.drop_corrupted:
        yield from _corrupted(metatask)
    if rules.drop_worse_than_random:
        yield from _worse_than_random(metatask, rules.seed)
    if rules.drop_constant:
        yield from _constant(metatask)
    if rules.drop_duplicates:
        yield from _duplicates(metatask)


def _corrupted(metatask: Metatask) -> Iterable[tuple[int, str]]:
    for position, model in enumerate(metatask.models):
        if model.corrupted:
            texts = "; ".join(found.text for found in model.findings if not found.repaired)
            yield position, f"corrupted: {texts}"


def _worse_than_random(metatask: Metatask, seed: int) -> Iterable[tuple[int, str]]:
    y = metatask.labels[metatask.tested.rows]
    classes = len(metatask.classes)
    drawn = np.random.default_rng(seed).integers(classes, size=len(y))
    try:
        bar = hard_auc(y, drawn, classes)
    except ValueError:
        raise InputError(f"metatask {metatask.name}: the tested rows are of one class") from None
    for position, predicted in enumerate(metatask.tested.predictions):
        score = hard_auc(y, predicted, classes)
        if score < bar:
            yield position, f"worse than random: AUROC {score:.4f} against {bar:.4f}"


def _constant(metatask: Metatask) -> Iterable[tuple[int, str]]:
    for position, predicted in enumerate(metatask.tested.predictions):
        if np.all(predicted == predicted[0]):
            yield position, f"constant: always {metatask.classes[predicted[0]]!r}"


def _duplicates(metatask: Metatask) -> Iterable[tuple[int, str]]:
    seen: dict[bytes, int] = {}
    for position, predicted in enumerate(metatask.tested.predictions):
        digest = hashlib.sha256(predicted.tobytes())
        digest.update(metatask.tested.confidences[position].tobytes())
        first = seen.setdefault(digest.digest(), position)
        if first != position:
            yield position, f"duplicate of {metatask.models[first].name}"
