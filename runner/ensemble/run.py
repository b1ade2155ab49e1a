"""One run of a simulation: its metatasks and techniques, handed to the run of all studies."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

import numpy as np
import pyarrow as pa

from runner.config import EnsembleStudy
from runner.engine import Job
from runner.ensemble import work
from runner.ensemble.choices import choose
from runner.ensemble.costs import cost_model
from runner.ensemble.loading import load_metatasks, remarks
from runner.ensemble.plan import Plan
from runner.ensemble.protocols import PAPER
from runner.ensemble.source import CHAIN, SimulationSource
from runner.ensemble.transport import Place, to_arrays
from runner.store import Store, Wanted
from runner.study import Options, Served, StudyRun, Workload


class Simulation(StudyRun[SimulationSource]):
    """A study of ensembles ready to be run: its metatasks are open, its store is too.

    Args:
        study: The study.
        options: How to run it.

    Raises:
        InputError: The metatasks, the techniques or the results folder aren't what the study says.
        CannotRunError: No node can hold one sandbox.
    """

    def __init__(self, study: EnsembleStudy, options: Options):
        techniques = choose(study)
        metatasks = load_metatasks(study)

        def subject(cpus: int) -> _Subject:
            plan = Plan(study, metatasks, techniques, cpus=cpus)
            return _Subject(plan, mapped=options.address == "local")

        super().__init__(study, options, subject)

    def best(self) -> Mapping[tuple[str, str], float]:
        """Nothing: which technique is best so far says little before all folds are done."""
        return {}


class _Subject:
    """What a run needs to know of a plan.

    Args:
        plan: The plan.
        mapped: Whether sandboxes see this machine's files.
    """

    def __init__(self, plan: Plan, *, mapped: bool):
        self._plan = plan
        self._places = [
            Place(one.fingerprint, str(one.file) if mapped and one.file else None)
            for one in plan.metatasks
        ]

    @property
    def planned(self) -> int:
        return len(self._plan.evaluations)

    @property
    def keys(self) -> Sequence[str]:
        return [planned.key for planned in self._plan.evaluations]

    def versions(self, system: str) -> Mapping[str, str | int]:
        return self._plan.versions(system)

    def notes(self) -> Sequence[str]:
        return tuple(remarks([one.metatask for one in self._plan.metatasks], self._plan.study))

    def wanted(self, stored: Callable[[str], str]) -> tuple[Wanted, ...]:
        return tuple(self._plan.wanted(stored))

    def setting(self) -> str:
        return self._plan.setting.to_json()

    def source(
        self, served: Mapping[str, Served], attempts: Mapping[str, int], store: Store
    ) -> SimulationSource:
        return SimulationSource(
            self._plan, served, attempts, cost_model(self._plan, store), self._places
        )

    def workload(self, jobs: Sequence[Job]) -> Workload:
        systems = {e.columns["system"] for job in jobs for e in job.evaluations}
        modules = [
            module
            for choice in self._plan.techniques
            if choice.name in systems
            for module in choice.listing.preload
        ]
        return Workload(
            function=work.CHAIN_FUNCTION if self._chained else work.FUNCTION,
            warm_up=work.WARM_UP,
            preload=tuple(dict.fromkeys((*work.PRELOAD, *modules))),
            threads=self._plan.threads,
            arrays=self._arrays({job.arrays for job in jobs}),
        )

    @property
    def _chained(self) -> bool:
        return self._plan.study.protocol == PAPER

    def _arrays(self, used: Container[str | None]) -> dict[str, dict[str, np.ndarray]]:
        """The arrays of those metatasks that a sandbox can't map, by the name that jobs use."""
        found: dict[str, dict[str, np.ndarray]] = {}
        for loaded, place in zip(self._plan.metatasks, self._places, strict=True):
            name = CHAIN if self._chained else loaded.fingerprint
            if place.file is None and name in used:
                found.setdefault(name, {}).update(to_arrays(loaded.metatask, loaded.fingerprint))
        return found

    def kept(self, predictions: pa.Table) -> pa.Table:
        return predictions
