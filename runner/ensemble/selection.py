"""Ensemble selection: models are added greedily, with replacement, while the mean improves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from runner.metrics import named

_LEAST_BINS = 256


class EnsembleSelection:
    """Caruana et al. (2004): in each iteration the model joins whose addition scores best.

    The ensemble's confidences are the mean of its members'. In an iteration they are the sum over
    the members in the order in which they joined, plus the candidate's, divided by their
    number, in double precision: that decides which candidates tie.

    Args:
        iterations: How many members are chosen; a model may be chosen again.
        metric: Of ``runner.metrics.METRICS``, of the ensemble's confidences and the first of its
            most confident classes.
        use_best: Whether the ensemble is cut back to the best of those passed, the smallest of
            equals; otherwise all iterations count.
        bags: How many selections are averaged, each from its own random part of the models (Caruana
            et al. 2006); 0 for one from all models.
        bag_share: The part of the models in a bag, rounded up.
        random_ties: Whether a tie is broken by chance rather than for the first model.
        random_state: A seed or generator for ties and bags.

    Attributes:
        weights_: (models,), the share of the members that each model is.
        order_: Members in the order they joined, one array a bag.
        scores_: What the ensembles scored with them on the rows learnt from, one array a bag.
    """

    _slack = 0.0
    """How far below the best AUC ``_best`` looks."""

    def __init__(
        self,
        iterations: int = 50,
        metric: str = "auc",
        use_best: bool = False,
        bags: int = 0,
        bag_share: float = 0.5,
        random_ties: bool = False,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        if iterations < 1 or bags < 0 or not 0 < bag_share <= 1:
            raise ValueError("iterations must be at least 1, bags 0, and bag_share in (0, 1]")
        self.iterations = iterations
        self.metric = named(metric).name
        self.use_best = use_best
        self.bags = bags
        self.bag_share = bag_share
        self.random_ties = random_ties
        self.random_state = random_state

    def fit(
        self,
        confidences: np.ndarray,
        predictions: np.ndarray,
        y: np.ndarray,
        X: np.ndarray | None = None,
    ) -> EnsembleSelection:
        from sklearn.utils import check_random_state

        random = check_random_state(self.random_state)
        models = len(confidences)
        self.order_: list[np.ndarray] = []
        self.scores_: list[np.ndarray] = []
        weights = np.zeros(models)
        for bag in self._bags(models, random):
            order, scores = self._select(confidences[bag], y, random)
            kept = int(scores.argmax()) + 1 if self.use_best else len(order)
            self.order_.append(bag[order])
            self.scores_.append(scores)
            weights += np.bincount(bag[order[:kept]], minlength=models) / kept
        self.weights_ = weights / len(self.order_)
        return self

    def predict(
        self, confidences: np.ndarray, predictions: np.ndarray, X: np.ndarray | None = None
    ) -> np.ndarray:
        mean = np.zeros(confidences.shape[1:])
        for model in np.flatnonzero(self.weights_):
            mean += self.weights_[model] * confidences[model]
        return mean

    def _bags(self, models: int, random: np.random.RandomState) -> Iterator[np.ndarray]:
        if not self.bags:
            yield np.arange(models)
        for _ in range(self.bags):
            size = int(np.ceil(models * self.bag_share))
            yield np.sort(random.permutation(models)[:size])

    def _select(
        self, confidences: np.ndarray, y: np.ndarray, random: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        candidates = (
            _AucCandidates(confidences, y, self._slack)
            if self.metric == "auc"
            else _Candidates(confidences, y, self.metric)
        )
        order = np.empty(self.iterations, dtype=np.int64)
        reached = np.empty(self.iterations)
        for iteration in range(self.iterations):
            scores = candidates.scores(iteration + 1)

            def mean(model: int, members: np.ndarray = order[:iteration]) -> np.ndarray:
                total = np.zeros(confidences.shape[1:])
                for member in (*members, model):
                    total += confidences[member]
                return total / (len(members) + 1)

            best = self._best(mean, scores, y)
            chosen = int(random.choice(best) if self.random_ties else best[0])
            candidates.add(chosen)
            order[iteration], reached[iteration] = chosen, scores[chosen]
        return order, reached

    def _best(
        self, mean: Callable[[int], np.ndarray], scores: np.ndarray, y: np.ndarray
    ) -> np.ndarray:
        """The models that are equally good to add.

        Args:
            mean: Gives the confidences of the ensemble with a model added.
            scores: (models,), what that scores.
            y: The true classes.
        """
        return np.flatnonzero(scores == scores.max())


class _Candidates:
    """The ensembles that are one model larger, scored by any metric."""

    def __init__(self, confidences: np.ndarray, y: np.ndarray, metric: str) -> None:
        self._confidences = confidences
        self._y = y
        self._score = named(metric).score
        self._total = np.zeros(confidences.shape[1:])

    def scores(self, size: int) -> np.ndarray:
        means = ((self._total + one) / size for one in self._confidences)
        return np.array([self._score(self._y, mean.argmax(axis=1), mean) for mean in means])

    def add(self, model: int) -> None:
        self._total += self._confidences[model]


class _AucCandidates:
    """The same by AUC, in machine code; models that can't be the best score -1.

    Scores equal ``metrics.weighted_auc`` to the last bit.
    """

    def __init__(self, confidences: np.ndarray, y: np.ndarray, slack: float) -> None:
        self._slack = slack
        counts = np.bincount(y, minlength=confidences.shape[2])
        present = np.flatnonzero(counts)
        if len(present) < 2:
            raise ValueError("AUC needs rows of two classes")
        binary = len(counts) == 2
        used = present[1:] if binary else present
        models, rows = confidences.shape[:2]
        self._positives = counts[used].astype(np.int64)
        negatives = rows - self._positives
        self._halves = (2 * negatives * (self._positives if binary else 1)).astype(np.float64)
        self._divisor = 1.0 if binary else float(rows)
        self._added = np.empty((models, len(used), rows))
        for place, one in enumerate(used):
            first = np.argsort(y != one, kind="stable")
            for model, shares in enumerate(confidences):
                self._added[model, place] = shares[first, one]
        self._spans = np.stack([self._added.min(axis=2), self._added.max(axis=2)], axis=-1)
        # Machine code that doesn't look: a NaN would be a bin outside the histogram.
        if not np.isfinite(self._spans).all():
            raise ValueError("a confidence isn't finite")
        self._total = np.zeros(self._added.shape[1:])

    def scores(self, size: int) -> np.ndarray:
        from runner.ensemble.kernels.selection import step

        rows = self._total.shape[1]
        scores = np.empty(len(self._added))
        step(
            self._total,
            self._added,
            float(size),
            self._positives,
            self._halves,
            self._divisor,
            np.stack([self._total.min(axis=1), self._total.max(axis=1)], axis=-1),
            self._spans,
            max(2 * rows, _LEAST_BINS),
            self._slack,
            scores,
        )
        return scores

    def add(self, model: int) -> None:
        self._total += self._added[model]
