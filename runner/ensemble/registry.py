"""Which techniques there are, and what each one takes and needs."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.ensemble.technique import Oracle, Technique
from runner.errors import InputError, suggestion

SEED = "random_state"
"""The parameter of techniques that draw random numbers: a seed or a RandomState."""

_PACKAGE = "runner.ensemble"
_FOREST = f"{_PACKAGE}.kernels.regression_forest"
_SELECTION = f"{_PACKAGE}.kernels.selection"
_SKLEARN = ("scikit-learn",)


def _never(parameters: Mapping[str, Any]) -> bool:
    return False


def _always(parameters: Mapping[str, Any]) -> bool:
    return True


def _if_passed_through(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters.get("passthrough"))


@dataclass(frozen=True)
class Listing:
    """A technique as studies name it.

    Attributes:
        name: In study files, results and tables.
        title: In words.
        origin: ``package.module:Class``.
        version: Goes up whenever what it predicts changes by a bit; a user's class has the digest
            of its source instead.
        parameters: Those it takes, with their defaults; not ``random_state``.
        seeded: Whether it takes ``random_state``; else it is deterministic.
        oracle: Whether it sees the true classes of the rows that it is asked for.
        needs_features: Whether it reads the task's features, given its parameters.
        libraries: The distributions that its numbers rest on.
        preload: Modules to import, and compile, before its clock starts.
        extra: The extra of this package that has to be installed for it, of that module's name.
    """

    name: str
    title: str
    origin: str
    version: int | str = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seeded: bool = False
    oracle: bool = False
    needs_features: Callable[[Mapping[str, Any]], bool] = _never
    libraries: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    extra: str = ""

    def make(self, parameters: Mapping[str, Any], seed: Any = 0) -> Technique | Oracle:
        """One to be fitted.

        Args:
            parameters: Those that differ from the defaults.
            seed: Of its random numbers, or the RandomState that they are drawn from.

        Raises:
            InputError: It takes no such parameter, or not that value, or isn't installed.
        """
        if self.extra and importlib.util.find_spec(self.extra) is None:
            raise InputError(
                f"{self.name} needs the package {self.extra}: pip install 'runner[{self.extra}]'"
            )
        for name in parameters:
            if name not in self.parameters:
                raise InputError(
                    f"{self.name} has no parameter {name!r}: {suggestion(name, self.parameters)}"
                )
        module, _, attribute = self.origin.partition(":")
        made = getattr(importlib.import_module(module), attribute)
        given = {**parameters, **({SEED: seed} if self.seeded else {})}
        try:
            technique: Technique | Oracle = made(**given)
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.name} can't be made: {error}") from None
        return technique


TECHNIQUES: Mapping[str, Listing] = {
    listing.name: listing
    for listing in (
        Listing(
            "SBA",
            "single best model",
            f"{_PACKAGE}.best:SingleBest",
            parameters={"metric": "auc"},
        ),
        Listing("VBA", "virtual best model", f"{_PACKAGE}.best:VirtualBest", oracle=True),
        Listing(
            "VBE",
            "virtual best ensemble",
            f"{_PACKAGE}.stacking:VirtualBestEnsemble",
            parameters={"passthrough": False, "max_iter": 1000},
            oracle=True,
            needs_features=_if_passed_through,
            libraries=_SKLEARN,
            preload=("sklearn.linear_model",),
        ),
        Listing(
            "Voting",
            "majority or averaged vote",
            f"{_PACKAGE}.voting:Voting",
            parameters={"kind": "hard"},
        ),
        Listing(
            "Stacking",
            "logistic regression on the confidences",
            f"{_PACKAGE}.stacking:Stacking",
            parameters={"passthrough": False, "max_iter": 1000},
            needs_features=_if_passed_through,
            libraries=_SKLEARN,
            preload=("sklearn.linear_model",),
        ),
        Listing(
            "ES",
            "greedy ensemble selection",
            f"{_PACKAGE}.selection:EnsembleSelection",
            parameters={
                "iterations": 50,
                "metric": "auc",
                "use_best": False,
                "bags": 0,
                "bag_share": 0.5,
                "random_ties": False,
            },
            seeded=True,
            preload=(_SELECTION, "sklearn.utils"),
        ),
        Listing(
            "DCS",
            "dynamic classifier selection by a performance model",
            f"{_PACKAGE}.dynamic:DynamicClassifierSelection",
            parameters={"trees": 100, "forest": "own"},
            seeded=True,
            needs_features=_always,
            libraries=_SKLEARN,
            preload=(_FOREST, "sklearn.ensemble"),
        ),
        Listing(
            "DES",
            "dynamic ensemble selection by a performance model",
            f"{_PACKAGE}.dynamic:DynamicEnsembleSelection",
            parameters={"share": 0.5, "kind": "hard", "trees": 100, "forest": "own"},
            seeded=True,
            needs_features=_always,
            libraries=_SKLEARN,
            preload=(_FOREST, "sklearn.ensemble"),
        ),
        Listing(
            "KNORA-E",
            "nearest oracles, intersected",
            f"{_PACKAGE}.knora:KnoraEliminate",
            parameters={"neighbours": 7},
            needs_features=_always,
            libraries=(*_SKLEARN, "deslib"),
            preload=("deslib.des.knora_e",),
            extra="deslib",
        ),
        Listing(
            "KNORA-U",
            "nearest oracles, united",
            f"{_PACKAGE}.knora:KnoraUnion",
            parameters={"neighbours": 7},
            needs_features=_always,
            libraries=(*_SKLEARN, "deslib"),
            preload=("deslib.des.knora_u",),
            extra="deslib",
        ),
    )
}
"""Those that are built in, by name; the paper's are ``PAPER_TECHNIQUES``."""

PAPER_TECHNIQUES = ("SBA", "VBA", "VBE", "Voting", "Stacking", "ES", "DCS", "DES")


def listed(name: str) -> Listing:
    """The technique of a name, in any spelling of upper and lower case.

    Raises:
        InputError: There is none.
    """
    folded = {known.casefold(): known for known in TECHNIQUES}
    if name.casefold() not in folded:
        raise InputError(f"there is no technique {name!r}: {suggestion(name, TECHNIQUES)}")
    return TECHNIQUES[folded[name.casefold()]]
