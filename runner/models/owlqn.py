"""OWL-QN: limited-memory quasi-Newton descent with an L1 penalty (Andrew & Gao, ICML 2007)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

SUFFICIENT_DECREASE = 1e-4
BACKTRACKING = 0.25
MOST_BACKTRACKS = 60
TINY = float(np.finfo(np.float64).tiny)
"""Squares below it have lost their digits."""


class Smooth(Protocol):
    """A convex function with a continuous gradient, evaluated in two steps.

    The line search wants many values and few gradients; what both need passes between them.
    """

    def value(self, point: np.ndarray) -> tuple[float, Any]:
        """The value, and what ``gradient`` needs from its computation."""

    def gradient(self, point: np.ndarray, computed: Any) -> np.ndarray:
        """The gradient at a point whose value gave ``computed``."""


@dataclass(frozen=True)
class _State:
    point: np.ndarray
    value: float
    gradient: np.ndarray


def minimise(
    smooth: Smooth, penalty: np.ndarray, start: np.ndarray, memory: int
) -> Iterator[tuple[np.ndarray, float]]:
    """Descend on ``smooth(x) + sum(penalty * abs(x))``.

    Differs from the paper in two places. Armijo's condition is on the displacement after the
    projection onto the orthant, which is what the step really does. The direction's signs are
    aligned with steepest descent only where the step would be no descent without it: aligning
    always throws curvature away.

    Args:
        smooth: The smooth part.
        penalty: Weight of each coordinate's absolute value, 0 or more, (columns,).
        start: First point, (columns,).
        memory: How many pairs of steps and gradient changes approximate the Hessian.

    Yields:
        Each point with its value, beginning with the start. Values never rise; ends where
        floating point allows no further descent.
    """
    value, computed = smooth.value(start)
    state = _State(start, value + float(penalty @ np.abs(start)), smooth.gradient(start, computed))
    history = _History(memory)
    while True:
        yield state.point, state.value
        steepest = -_pseudo_gradient(state, penalty)
        if float(steepest @ steepest) < TINY:
            return
        direction = history.direction(steepest)
        found = _search(smooth, penalty, state, steepest, direction, first=history.empty)
        if found is None and not history.empty:
            # Rounding can spoil the curvature learnt; the gradient alone may still lead down.
            history = _History(memory)
            found = _search(smooth, penalty, state, steepest, steepest, first=True)
        if found is None:
            return
        history.learn(found.point - state.point, found.gradient - state.gradient)
        state = found


def _pseudo_gradient(state: _State, penalty: np.ndarray) -> np.ndarray:
    """The subgradient of least norm (the paper's equation 4)."""
    side = np.sign(state.point)
    gradient = state.gradient + penalty * side
    # At zero both one-sided derivatives may point up: then the coordinate stays.
    shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - penalty, 0.0)
    pseudo: np.ndarray = np.where(side == 0, shrunk, gradient)
    return pseudo


def _search(
    smooth: Smooth,
    penalty: np.ndarray,
    state: _State,
    steepest: np.ndarray,
    direction: np.ndarray,
    *,
    first: bool,
) -> _State | None:
    """Backtrack along ``direction`` within the orthant; None if nothing there is lower."""
    orthant = np.where(state.point == 0, np.sign(steepest), np.sign(state.point))
    # Without curvature the gradient's length says nothing about a step's: begin with length 1.
    length = 1.0 / float(np.linalg.norm(direction)) if first else 1.0
    aligned = False
    for _ in range(MOST_BACKTRACKS):
        point = state.point + length * direction
        point[(penalty > 0) & (np.sign(point) != orthant)] = 0.0
        slope = -float(steepest @ (point - state.point))
        if slope >= 0 and not aligned:
            direction = np.where(direction * steepest > 0, direction, 0.0)
            aligned = True
            continue
        if slope >= 0:
            return None
        value, computed = smooth.value(point)
        value += float(penalty @ np.abs(point))
        if value <= state.value + SUFFICIENT_DECREASE * slope:
            return _State(point, value, smooth.gradient(point, computed))
        length *= BACKTRACKING
    return None


class _History:
    """The inverse Hessian as the last ``memory`` steps tell it."""

    def __init__(self, memory: int):
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=memory)

    @property
    def empty(self) -> bool:
        return not self._pairs

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """Keep a step and its change of the smooth gradient, unless rounding made it useless."""
        curvature = float(step @ change)
        noise = float(np.finfo(float).eps * np.linalg.norm(step) * np.linalg.norm(change))
        if curvature > noise and float(change @ change) > TINY:
            self._pairs.append((step, change, curvature))

    def direction(self, steepest: np.ndarray) -> np.ndarray:
        """The inverse Hessian times ``steepest``, by the two-loop recursion (Nocedal 1980)."""
        result = steepest.copy()
        if self.empty:
            return result
        weights = []
        for step, change, curvature in reversed(self._pairs):
            weight = float(step @ result) / curvature
            result -= weight * change
            weights.append(weight)
        _, change, curvature = self._pairs[-1]
        result *= curvature / float(change @ change)
        for (step, change, curvature), weight in zip(self._pairs, reversed(weights), strict=True):
            result += (weight - float(change @ result) / curvature) * step
        return result
