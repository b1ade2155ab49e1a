"""From a study to its evaluations: a technique on a fold of a metatask, each under its key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runner.config import EnsembleStudy
from runner.ensemble.choice import Choice
from runner.ensemble.loading import Loaded
from runner.ensemble.protocols import PAPER, PROTOCOL_VERSION
from runner.ensemble.registry import TECHNIQUES
from runner.ensemble.setting import MetataskFacts, Setting, TechniqueFacts
from runner.store import Wanted
from runner.store.key import key
from runner.study import library_versions

STAGE = "simulation"


@dataclass(frozen=True)
class Planned:
    """One technique on one fold of one metatask, the latter two by their place in the plan."""

    key: str
    metatask: int
    technique: int
    fold: int


class Plan:
    """All evaluations of a simulation.

    Args:
        study: The study.
        metatasks: Its metatasks, in the study's order.
        techniques: Its techniques, likewise.
        cpus: Cores in force, which may be fewer than the study asks for (``--fit-sandbox``).

    Attributes:
        threads: What a fit may use of them.
    """

    def __init__(
        self,
        study: EnsembleStudy,
        metatasks: Sequence[Loaded],
        techniques: Sequence[Choice],
        *,
        cpus: int,
    ):
        self.study = study
        self.metatasks = tuple(metatasks)
        self.techniques = tuple(techniques)
        self.cpus = cpus
        self.threads = min(study.threads, cpus)

    @cached_property
    def evaluations(self) -> tuple[Planned, ...]:
        """By metatask, technique, fold."""
        return tuple(planned for pair in self._pairs() for planned in pair)

    def versions(self, technique: str) -> dict[str, str | int]:
        """The versions that the numbers of a technique of that name rest on."""
        choice = next(one for one in self.techniques if one.name == technique)
        libraries = {"numpy", *choice.listing.libraries}
        if self.study.protocol == PAPER:
            # Its splits, forests and rounded scores are scikit-learn's.
            libraries.add("scikit-learn")
        return {
            choice.name: choice.listing.version,
            "protocols": PROTOCOL_VERSION,
            **library_versions(sorted(libraries)),
        }

    def wanted(self, stored: Callable[[str], str]) -> Iterator[Wanted]:
        """What a run records of the plan.

        Args:
            stored: Gives the key under which a planned evaluation's row is.
        """
        for pair in self._pairs():
            keys = tuple(stored(planned.key) for planned in pair)
            yield Wanted(
                task=self.metatasks[pair[0].metatask].metatask.name,
                system=self.techniques[pair[0].technique].name,
                folds=len(keys),
                keys=keys,
                configuration_ids=(0,),
                refits=0,
            )

    @property
    def setting(self) -> Setting:
        """What reports need to know of the study."""
        return Setting(
            protocol=self.study.protocol,
            metric=self.study.metric,
            seed=self.study.seed,
            metatasks=tuple(MetataskFacts.of(loaded.metatask) for loaded in self.metatasks),
            techniques=tuple(
                TechniqueFacts(one.name, _technique(one), one.parameters, one.listing.oracle)
                for one in self.techniques
            ),
        )

    def _pairs(self) -> Iterator[tuple[Planned, ...]]:
        for metatask, loaded in enumerate(self.metatasks):
            for technique in range(len(self.techniques)):
                yield tuple(
                    self._planned(metatask, technique, fold)
                    for fold in loaded.metatask.fold_numbers
                )

    def _planned(self, metatask: int, technique: int, fold: int) -> Planned:
        choice = self.techniques[technique]
        identity = {
            "kind": "ensembles",
            "protocol": self.study.protocol,
            "task": self.metatasks[metatask].fingerprint,
            "task_name": self.metatasks[metatask].metatask.name,
            "before": self._before(metatask),
            "system": choice.name,
            "technique": _technique(choice),
            "configuration": dict(choice.parameters),
            "fold": fold,
            "seed": self.study.seed,
            "metric": self.study.metric,
            "cpus": self.cpus,
            "threads": self.threads,
            "timing": self.study.timing,
        }
        return Planned(key(identity, self._versions[choice.name]), metatask, technique, fold)

    @cached_property
    def _versions(self) -> dict[str, dict[str, str | int]]:
        return {one.name: self.versions(one.name) for one in self.techniques}

    def _before(self, metatask: int) -> list[str]:
        """The metatasks whose use of the shared random state a score depends on."""
        if self.study.protocol != PAPER:
            return []
        return [loaded.fingerprint for loaded in self.metatasks[:metatask]]


def _technique(choice: Choice) -> str:
    """What a technique is, whatever a study calls it: its name where it is built in."""
    listing = choice.listing
    return listing.name if listing.name in TECHNIQUES else listing.origin


def configuration_text(parameters: Mapping[str, Any]) -> str:
    """The parameters as the store writes them: JSON with sorted keys."""
    return json.dumps(parameters, sort_keys=True)
