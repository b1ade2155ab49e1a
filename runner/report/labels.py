"""Where the labels of a chart's large points stand, so that none covers another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LETTER, _LINE, _POINT, _RULE = 8, 14, 14, 2


@dataclass(frozen=True)
class Panel:
    """A panel's size in pixels and its axes' ranges; seconds are on a log axis."""

    width: int
    height: int
    seconds: tuple[float, float]
    auc: tuple[float, float]

    def pixels(self, seconds: float, auc: float) -> tuple[float, float]:
        """Pixels from the left and from the bottom."""
        low, high = (math.log(value) for value in self.seconds)
        across = (math.log(seconds) - low) / (high - low)
        up = (auc - self.auc[0]) / (self.auc[1] - self.auc[0])
        return across * self.width, up * self.height

    def values(self, x: float, y: float) -> tuple[float, float]:
        """Seconds and AUC at a place in pixels."""
        low, high = (math.log(value) for value in self.seconds)
        auc = self.auc[0] + y / self.height * (self.auc[1] - self.auc[0])
        return math.exp(low + x / self.width * (high - low)), auc


@dataclass(frozen=True)
class Point:
    """A point that wants a label."""

    seconds: float
    auc: float
    label: str


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: _Box) -> float:
        across = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        up = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(across, 0) * max(up, 0)


def place(
    points: Sequence[Point], panel: Panel, lines: Sequence[float] = ()
) -> list[tuple[float, float]]:
    """The middle of each point's label, in seconds and AUC.

    A label goes above its point if it covers no other label, point or line there, else to the next
    free side; where all sides are taken, to the one where it covers least.

    Args:
        points: They want a label each.
        panel: They are in.
        lines: AUCs at which a line crosses the panel.
    """
    middles = [panel.pixels(point.seconds, point.auc) for point in points]
    taken = [_around(x, y, _POINT, _POINT) for x, y in middles]
    taken += [_line(auc, panel) for auc in lines]
    spots = []
    for point, (x, y) in zip(points, middles, strict=True):
        width = _LETTER * len(point.label)
        boxes = [_around(*side, width, _LINE) for side in _sides(x, y, width)]
        best = min(boxes, key=lambda box: _covered(box, taken, panel))
        taken.append(best)
        spots.append(panel.values(best.x + best.width / 2, best.y + best.height / 2))
    return spots


def _sides(x: float, y: float, width: float) -> Iterator[tuple[float, float]]:
    aside = (width + _POINT) / 2 + 3
    yield x, y + _LINE + 2
    yield x, y - _LINE - 2
    yield x + aside, y
    yield x - aside, y
    yield x + aside / 2, y + _LINE + 2
    yield x - aside / 2, y + _LINE + 2
    yield x + aside / 2, y - _LINE - 2
    yield x - aside / 2, y - _LINE - 2
    yield x, y + 2 * _LINE + 2
    yield x, y - 2 * _LINE - 2


def _around(x: float, y: float, width: float, height: float) -> _Box:
    return _Box(x - width / 2, y - height / 2, width, height)


def _line(auc: float, panel: Panel) -> _Box:
    _, up = panel.pixels(panel.seconds[0], auc)
    return _around(panel.width / 2, up, panel.width, _RULE)


def _covered(box: _Box, taken: Sequence[_Box], panel: Panel) -> float:
    inside = box.overlap(_Box(0, -_LINE, panel.width, panel.height + 2 * _LINE))
    return sum(map(box.overlap, taken)) + (box.width * box.height - inside)
