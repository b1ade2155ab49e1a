"""What a model family is: its parameters, its grid, and which configurations one fit serves."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal, Protocol, Self

import numpy as np

from runner.errors import InputError, suggestion

Configuration = dict[str, Any]
Numbered = tuple[int, Configuration]
"""A configuration with its configuration_id."""
Stop = Mapping[str, Any]
"""Values of the shared parameters, by name: a point that a fit passes."""
Value = float | str | None
"""A hyper-parameter's: a number, one of a few names, or any scalar of a user's own class."""
DEFAULT = "@default"
"""Ends the name of a system that is a family's default configuration alone."""


INT32 = 2**31 - 1
"""The greatest whole number of a parameter, a seed of a library or a configuration_id."""


@dataclass(frozen=True)
class Spent:
    """What a path has spent at a stop, where it trains models that not all stops contain.

    Attributes:
        own: Seconds that the stop's model takes to train by itself.
        ahead: Seconds spent so far that the next stop's model contains.
    """

    own: float
    ahead: float


class PathClassifier(Protocol):
    """A binary scikit-learn classifier whose fit passes through other configurations' models.

    ``prepare`` and then advancing ``path`` are ``fit`` in two parts, so that a caller can time the
    training alone and read off, on the way, every model that differs only in the family's shared
    parameters.
    """

    classes_: np.ndarray

    def prepare(self, X: Any, y: Any) -> Any:
        """Check, cast, scale or bin the training rows: what no fit time may hold.

        The result serves any number of calls of ``path``, also of other configurations'
        estimators of the same family, seed and threads, within the process.

        Args:
            X: (rows, columns), finite numbers.
            y: (rows,), two distinct labels; the one that sorts last is positive.

        Raises:
            ValueError: If X holds NaN or infinity, or y hasn't exactly two classes.
        """

    def path(self, prepared: Any, stops: Sequence[Stop]) -> Iterator[Spent | None]:
        """Train, and pause at each stop to be scored.

        After a yield the estimator is, bit for bit, the one that ``fit`` with the stop's values
        gives; using it there doesn't disturb what follows. Only the time spent inside the
        generator is training.

        Args:
            stops: In the order in which a fit passes them (``Family.fits`` gives it); any subset
                of a grid.

        Yields:
            What was spent on this stop's model and on the next one's; None where both contain all
            that was trained so far.
        """

    def fit(self, X: Any, y: Any) -> Self:
        """Prepare, then follow the path to the estimator's own configuration."""

    def decision_function(self, X: Any) -> np.ndarray:
        """The raw margin, (rows,) float64: above 0 is the positive class."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of ``classes_``, (rows, 2)."""

    def predict(self, X: Any) -> np.ndarray:
        """Labels, (rows,)."""


class Build(Protocol):
    """Makes the estimator of a configuration."""

    def __call__(
        self, configuration: Mapping[str, Any], *, seed: int, threads: int
    ) -> PathClassifier: ...


class Cost(Protocol):
    """Predicts the CPU seconds that one configuration's training takes by itself."""

    def __call__(self, configuration: Mapping[str, Any], rows: int, columns: int) -> float: ...


@dataclass(frozen=True)
class Parameter:
    """One numeric hyper-parameter of a family.

    Attributes:
        swept: The grid's values, in the order of mlbench's Table 5.
        default: The value of the estimator left as it is (bold in Table 5).
        kind: Whether values are whole or real numbers.
        low: The least value.
        high: The greatest value.
        open_low: Whether ``low`` itself is excluded.
    """

    name: str
    swept: tuple[float, ...]
    default: float
    kind: Literal["whole", "real"]
    low: float
    high: float = math.inf
    open_low: bool = False

    def problem(self, value: object) -> str | None:
        """What would be right instead of ``value``; None if it is valid."""
        kind: type = Integral if self.kind == "whole" else Real
        if isinstance(value, kind) and not isinstance(value, bool) and self._within(value):
            return None
        return self._right()

    def convert(self, value: float) -> float:
        """A valid value as the parameter's plain type, so that 1 and 1.0 are one configuration."""
        # Adding 0 makes -0.0 the same text as 0.0.
        return int(value) if self.kind == "whole" else float(value) + 0.0

    def _within(self, value: Any) -> bool:
        # The largest float, not infinity: a whole number beyond it has no float.
        above = value > self.low if self.open_low else value >= self.low
        return bool(above and value <= min(self.high, float(np.finfo(np.float64).max)))

    def _right(self) -> str:
        noun = "a whole number" if self.kind == "whole" else "a number"
        if self.open_low:
            upper = f" and at most {self.high:g}" if self.high < math.inf else ""
            return f"{noun} above {self.low:g}{upper}"
        if self.high < math.inf:
            return f"{noun} from {self.low:g} to {self.high:.15g}"
        return f"{noun} from {self.low:g} up"


@dataclass(frozen=True)
class Choice:
    """One hyper-parameter whose values are names.

    Attributes:
        swept: All names it may have, in the grid's order.
        default: The value of the estimator left as it is.
    """

    name: str
    swept: tuple[str, ...]
    default: str

    def problem(self, value: object) -> str | None:
        """What would be right instead of ``value``; None if it is valid."""
        if isinstance(value, str) and value in self.swept:
            return None
        return " or ".join(repr(name) for name in self.swept)

    def convert(self, value: str) -> str:
        """A valid value as it is."""
        return value


@dataclass(frozen=True)
class Free:
    """One hyper-parameter of which nothing is known but the values to try.

    Attributes:
        swept: The grid's values.
        default: The value of the estimator left as it is.
    """

    name: str
    swept: tuple[Value, ...]
    default: Value

    def problem(self, value: object) -> str | None:
        """What no parameter can be; of the rest the estimator itself will say."""
        if value is None or isinstance(value, Integral | str):
            return None
        if not isinstance(value, Real):
            return "a single value"
        return None if math.isfinite(value) else "a finite number"

    def convert(self, value: Value) -> Value:
        """The value as it is."""
        return value


@dataclass(frozen=True)
class Family:
    """A model family: all that the rest of the project knows of it.

    Pickles small, and without what its estimators' modules hold: it travels with each fit.

    Attributes:
        name: Its code in mlbench, such as C-BDT, or the system's name in a study.
        version: Raised whenever a change makes its scores other bits; of a user's class a digest
            of its source.
        libraries: Distributions on whose versions its numbers rest.
        parameters: By name, in the grid's order: the last one varies fastest.
        shared: The parameters whose values one fit passes through; the last one varies fastest.
        descending: Whether the fit passes the shared parameters' values from high to low.
        linear: Whether its decision boundary is linear in the prepared columns.
        estimator: Makes the estimator of a configuration.
        cost: Predicts a configuration's CPU seconds; good for an order, within a factor of two
            or three for planning.
        preload: Modules that training needs, and functions (``module:function``) whose first call
            is slow: whoever times fits imports and calls them beforehand.
        origin: Of a user's class ``package.module:Class``.
        seeded: Whether another seed gives another model; None where nobody knows.
        order_free: Whether the order of the training rows changes no more than rounding does.
    """

    name: str
    version: int | str
    libraries: tuple[str, ...]
    parameters: Mapping[str, Parameter | Choice | Free]
    shared: tuple[str, ...]
    descending: bool
    linear: bool
    estimator: Build
    cost: Cost
    preload: tuple[str, ...]
    origin: str | None = None
    seeded: bool | None = None
    order_free: bool = False

    def configurations(
        self, replacements: Mapping[str, Sequence[Value]] | None = None
    ) -> tuple[Numbered, ...]:
        """The grid, with the swept values of some parameters replaced.

        Returns:
            Each configuration with its number: the index in the full grid, or, where a value
            isn't swept there, a number above those that its content gives: the same in every
            study, since studies share stores.

        Raises:
            InputError: If a parameter is unknown, or a value invalid or given twice.
        """
        replacements = replacements or {}
        for name in replacements:
            if name not in self.parameters:
                hint = suggestion(name, self.parameters)
                raise InputError(f"{self.name} has no parameter {name!r}: {hint}")
        values = [
            checked_values(self.name, parameter, replacements[name])
            if name in replacements
            else parameter.swept
            for name, parameter in self.parameters.items()
        ]
        full = itertools.product(*(parameter.swept for parameter in self.parameters.values()))
        numbers = {_exact(point): number for number, point in enumerate(full)}
        return tuple(
            (
                numbers.get(_exact(point), _number_beyond(len(numbers), point)),
                dict(zip(self.parameters, point, strict=True)),
            )
            for point in itertools.product(*values)
        )

    @property
    def default(self) -> Family:
        """The system that is this family as it comes: a grid of its default configuration."""
        known: Mapping[str, Any] = self.parameters
        alone = {name: replace(one, swept=(one.default,)) for name, one in known.items()}
        return replace(self, name=self.name + DEFAULT, parameters=alone)

    def fits(self, configurations: Sequence[Numbered]) -> tuple[tuple[Numbered, ...], ...]:
        """Configurations that one fit serves, each group in the order in which the fit passes it.

        Groups come in the order of their first configuration.
        """
        groups: dict[tuple[Any, ...], list[Numbered]] = {}
        for one in configurations:
            rest = tuple(value for name, value in one[1].items() if name not in self.shared)
            groups.setdefault(_exact(rest), []).append(one)
        return tuple(
            tuple(sorted(group, key=self._passing, reverse=self.descending))
            for group in groups.values()
        )

    def stop(self, configuration: Mapping[str, Any]) -> Stop:
        """Where a fit has to pause for a configuration."""
        return {name: configuration[name] for name in self.shared}

    def warm_up(self, configuration: Mapping[str, Any], threads: int) -> None:
        """Fit and predict once on toy data, so that no timed fit holds a first call's cost."""
        toy = dict(configuration)
        for name in self.shared:
            swept: Any = self.parameters[name].swept
            toy[name] = max(swept) if self.descending else min(swept)
        rng = np.random.default_rng(0)
        X = rng.normal(size=(256, 4))
        y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(np.uint8)
        self.estimator(toy, seed=0, threads=threads).fit(X, y).decision_function(X)

    def _passing(self, one: Numbered) -> tuple[Any, ...]:
        return tuple(self.stop(one[1]).values())


def wrong_values(
    parameter: Any, values: Sequence[Any], shown: Callable[[object], str] = repr
) -> Iterator[tuple[int, str]]:
    """What is wrong with the values to try of a parameter.

    Args:
        parameter: A Parameter, Choice or Free.
        shown: How a message shows a value.

    Yields:
        The index of a value that is invalid or that stands before, with what would be right.
    """
    before: list[Any] = []
    for index, value in enumerate(values):
        if right := parameter.problem(value):
            yield index, f"{parameter.name} must be {right}, not {shown(value)}"
            continue
        plain = _exact((parameter.convert(value),))
        if plain in before:
            yield index, f"{parameter.name} has {shown(value)} twice; give it once"
        before.append(plain)


def checked_values(owner: str, parameter: Any, values: Sequence[Value]) -> tuple[Value, ...]:
    """The values to try of a parameter, each as its plain type.

    Raises:
        InputError: If there is none, or one is invalid or given twice; ``owner`` has the parameter.
    """
    if not values:
        raise InputError(f"{owner}: {parameter.name} has no values; give at least one")
    for _, message in wrong_values(parameter, values):
        raise InputError(f"{owner}: {message}")
    return tuple(parameter.convert(value) for value in values)


def _exact(point: tuple[Value, ...]) -> tuple[Any, ...]:
    """Tells 1, 1.0 and true apart, which are equal in Python and not to every class."""
    return tuple((type(value), value) for value in point)


def _number_beyond(grid_size: int, point: tuple[Value, ...]) -> int:
    digest = hashlib.sha256(repr(point).encode()).digest()
    return grid_size + int.from_bytes(digest[:4], "big") % (INT32 + 1 - grid_size)
