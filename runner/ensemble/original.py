"""The paper's simulation as its program runs it: protocol ``paper``.

One random state serves the splits of all folds of all metatasks, the forests of DCS and DES and the
ties of ensemble selection, in the order of the program's statements; logistic regression draws
nothing. A result therefore depends on all that ran before it. What the program does otherwise than
it should is repeated here: models are scored by their predicted classes alone, and the targets of
DCS and DES stand in the rows' order while their inputs are shuffled. It runs on today's
scikit-learn, not on the 1.0.2 of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from runner.ensemble.best import SingleBest
from runner.ensemble.features import ORIGINAL_ENCODING, encode
from runner.ensemble.protocols import Run, part, run, technique_seed
from runner.ensemble.registry import TECHNIQUES, Listing
from runner.ensemble.selection import EnsembleSelection
from runner.ensemble.technique import Oracle, Part, Technique
from runner.metatask.metatask import Metatask

SEED = 571355410
"""Of the paper's random state."""

ORDER = ("Stacking", "Voting", "ES", "DCS", "DES", "VBA", "SBA", "VBE")
"""In which the program runs the techniques of a fold."""

_DRAWING = ("ES", "DCS", "DES")
_MISALIGNED = ("DCS", "DES")
_TREES = 100
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Asked:
    """A technique that is to be simulated.

    Attributes:
        name: In results.
        listing: What it is.
        parameters: Those that differ from its defaults. With any, or where the paper doesn't have
            the technique, it gets a seed of its own and leaves the shared state alone.
    """

    name: str
    listing: Listing
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def of_the_paper(self) -> bool:
        """Whether it is a technique as the paper has it."""
        return self.listing.name in ORDER and not self.parameters


@dataclass(frozen=True)
class FoldRun:
    """What a technique says on a fold.

    Attributes:
        fold: The fold.
        name: The technique's, in results.
        rows: (rows,), where the rows it was scored on stand in the task's table.
        y: (rows,), their true classes.
        run: Its answer and times.
    """

    fold: int
    name: str
    rows: np.ndarray
    y: np.ndarray
    run: Run


def initial_state() -> np.random.RandomState:
    """The state that the first metatask begins with."""
    return np.random.RandomState(SEED)


def simulate(
    metatask: Metatask, techniques: Sequence[Asked], state: np.random.RandomState, seed: int = 0
) -> Iterator[FoldRun]:
    """Run techniques on all folds of a metatask, and the state over it.

    The state moves as the whole program moves it, whichever techniques are asked for.

    Args:
        metatask: The metatask.
        techniques: What to run.
        state: The shared state; it is where the next metatask begins once all is run.
        seed: The study's, for techniques that the paper doesn't have.

    Yields:
        The paper's techniques of a fold in its order, then the others.
    """
    for fold in metatask.fold_numbers:
        split = _Split(metatask, fold, state)
        for name in ORDER:
            same = [one for one in techniques if one.of_the_paper and one.listing.name == name]
            for result in _of_the_paper(name, split, state, asked=bool(same)):
                for one in same:
                    yield split.result(one.name, result)
        for one in techniques:
            if not one.of_the_paper:
                own = technique_seed(seed, metatask.name, fold, one.name)
                technique = one.listing.make(one.parameters, own)
                yield split.result(one.name, run(technique, split.fit, split.score))


class _Split:
    """A fold's tested rows in two shuffled halves."""

    def __init__(self, metatask: Metatask, fold: int, state: np.random.RandomState) -> None:
        from sklearn.model_selection import train_test_split

        tested = metatask.tested
        places = np.flatnonzero(metatask.folds[tested.rows] == fold)
        y = metatask.labels[tested.rows[places]]
        first, second = train_test_split(places, test_size=0.5, random_state=state, stratify=y)
        X_first, X_second = encode(
            metatask.features,
            metatask.categorical,
            tested.rows[first],
            tested.rows[second],
            ORIGINAL_ENCODING,
        )
        self._fold = fold
        self._rows = tested.rows[second]
        self.fit = part(metatask, tested, first, X_first)
        self.score = part(metatask, tested, second, X_second)
        self.misaligned = replace(part(metatask, tested, np.sort(first)), X=X_first)

    def result(self, name: str, found: Run) -> FoldRun:
        return FoldRun(self._fold, name, self._rows, self.score.y, found)


def _of_the_paper(
    name: str, split: _Split, state: np.random.RandomState, *, asked: bool
) -> Iterator[Run]:
    """Run a technique; or, if nobody asks, only what it does to the state."""
    if not asked and name not in _DRAWING:
        return
    if not asked and name in _MISALIGNED:
        for _ in range(_TREES):
            state.randint(np.iinfo(np.int32).max)
        return
    fit: Part = split.misaligned if name in _MISALIGNED else split.fit
    yield run(_made(name, state), fit, split.score)


def _made(name: str, state: np.random.RandomState) -> Technique | Oracle:
    if name == "SBA":
        return OriginalSingleBest("hard_auc")
    if name == "ES":
        return OriginalSelection(random_ties=True, random_state=state)
    parameters = {"forest": "scikit-learn"} if name in _MISALIGNED else {}
    return TECHNIQUES[name].make(parameters, state)


class OriginalSingleBest(SingleBest):
    """The first model of the greatest AUROC, as scikit-learn rounds it.

    The exact values tell which models may be that, and only these are computed again.
    """

    def fit(
        self,
        confidences: np.ndarray,
        predictions: np.ndarray,
        y: np.ndarray,
        X: np.ndarray | None = None,
    ) -> OriginalSingleBest:
        super().fit(confidences, predictions, y)
        near = np.flatnonzero(self.scores_ >= self.scores_.max() - _ROUNDING)
        # The program takes classes in the order in which the rows show them.
        _, first = np.unique(y, return_index=True)
        classes = y[np.sort(first)]
        shares = [predictions[one][:, np.newaxis] == classes for one in near]
        rounded = [rounded_auc(y, classes, share.astype(np.float64)) for share in shares]
        self.best_ = int(near[np.argmax(rounded)])
        return self


class OriginalSelection(EnsembleSelection):
    """Ensemble selection whose ties are those of scikit-learn's rounded AUROC.

    Only candidates that may tie are computed again, as above.
    """

    _slack = _ROUNDING

    def _best(self, mean: Any, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        near = np.flatnonzero(scores >= scores.max() - self._slack)
        if len(near) == 1:
            return near
        classes = np.unique(y)
        rounded = np.array([rounded_auc(y, classes, mean(one)[:, classes]) for one in near])
        return np.asarray(near[rounded == rounded.max()])


def rounded_auc(y: np.ndarray, classes: np.ndarray, shares: np.ndarray) -> float:
    """The weighted AUROC to the bit that ``sklearn.metrics.roc_auc_score`` gives.

    It sums trapezoids, so that scores which are equal may be rounded apart.

    Args:
        y: (rows,), the true classes.
        classes: In the order of the columns.
        shares: (rows, classes), confidences; of two classes the second one counts.
    """
    if len(classes) == 2:
        return _area(y == classes[1], shares[:, 1])
    areas = [_area(y == one, column) for one, column in zip(classes, shares.T, strict=True)]
    return float(np.average(areas, weights=[np.sum(y == one) for one in classes]))


def _area(positive: np.ndarray, score: np.ndarray) -> float:
    order = np.argsort(score, kind="stable")[::-1]
    steps = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)
    hits = np.cumsum(positive[order])[steps]
    misses = 1 + steps - hits
    if len(hits) > 2:
        corners = (np.diff(hits, 2) != 0) | (np.diff(misses, 2) != 0)
        kept = np.concatenate([[True], corners, [True]])
        hits, misses = hits[kept], misses[kept]
    hits, misses = np.append(0, hits), np.append(0, misses)
    return float(np.trapezoid(hits / hits[-1], misses / misses[-1]))
