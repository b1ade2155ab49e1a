"""A simulation as the engine sees it: one job an evaluation, or one job for a shared state."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from runner.engine import Evaluation, Job
from runner.ensemble.original import ORDER, Asked
from runner.ensemble.plan import STAGE, Plan, Planned, configuration_text
from runner.ensemble.protocols import PAPER
from runner.ensemble.transport import Place
from runner.ensemble.work import Case, Chain, Scoring
from runner.study import Served, environment_versions
from runner.timing import retime_seconds

JOB_OVERHEAD = 0.03
"""Seconds that a job costs besides its technique: a fork, the groups, the rows of a fold."""

Cost = Callable[[Planned], float]
CHAIN = "chain"
"""The name of the arrays of all metatasks together."""


class SimulationSource:
    """Hands the engine a plan's jobs, minus what the store serves.

    Args:
        plan: The plan.
        served: What needs no computing, by planned key.
        attempts: The number of the next attempt by key; 1 where there is none.
        cost: Predicted seconds of an evaluation.
        places: Where a sandbox finds each metatask.
    """

    later: tuple[str, ...] = ()

    def __init__(
        self,
        plan: Plan,
        served: Mapping[str, Served],
        attempts: Mapping[str, int],
        cost: Cost,
        places: Sequence[Place],
    ):
        self._plan = plan
        self._attempts = attempts
        self._cost = cost
        self._places = tuple(places)
        self._served = served
        self.final = {
            planned.key: served[planned.key].outcome
            for planned in plan.evaluations
            if planned.key in served
        }

    def initial(self) -> Sequence[Job]:
        return self.jobs

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        missing = [one for one in self._plan.evaluations if one.key not in self._served]
        if self._plan.study.protocol != PAPER:
            return tuple(self._job([planned]) for planned in missing)
        # The state that an evaluation begins with is what all before it left behind.
        return (self._job(self._in_order(missing)),) if missing else ()

    def follow_up(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Job]:
        self.final.update((row["key"], row["outcome"]) for row in rows)
        return ()

    def _job(self, group: Sequence[Planned]) -> Job:
        chained = self._plan.study.protocol == PAPER
        return Job(
            evaluations=tuple(self._evaluation(planned) for planned in group),
            argument=pickle.dumps(self._chain(group) if chained else self._case(group[0])),
            cost=JOB_OVERHEAD + sum(map(self._cost, group)),
            arrays=self._arrays(group[0], chained=chained),
        )

    def _arrays(self, planned: Planned, *, chained: bool) -> str | None:
        if chained:
            return CHAIN if any(place.file is None for place in self._places) else None
        place = self._places[planned.metatask]
        return place.fingerprint if place.file is None else None

    def _case(self, planned: Planned) -> Case:
        study = self._plan.study
        return Case(
            place=self._places[planned.metatask],
            fold=planned.fold,
            choice=self._plan.techniques[planned.technique],
            protocol=study.protocol,
            seed=study.seed,
            scoring=Scoring(study.metric, study.predictions),
            retime_within=retime_seconds(
                study.timing,
                seconds=study.sandbox.seconds,
                cpu_seconds=study.sandbox.cpu_seconds,
                threads=self._plan.threads,
            ),
        )

    def _chain(self, group: Sequence[Planned]) -> Chain:
        study, techniques = self._plan.study, self._plan.techniques
        return Chain(
            places=self._places,
            choices=techniques,
            indices={
                (one.metatask, one.fold, techniques[one.technique].name): index
                for index, one in enumerate(group)
            },
            seed=study.seed,
            scoring=Scoring(study.metric, study.predictions),
        )

    def _in_order(self, group: Sequence[Planned]) -> list[Planned]:
        """As the original's program comes to them: by metatask, by fold, its techniques first."""
        turn = {name: place for place, name in enumerate(ORDER)}
        asked = [Asked(one.name, one.listing, one.given) for one in self._plan.techniques]

        def place(planned: Planned) -> tuple[int, int, int, int]:
            one = asked[planned.technique]
            own = turn[one.listing.name] if one.of_the_paper else len(turn)
            return planned.metatask, planned.fold, own, planned.technique

        return sorted(group, key=place)

    def _evaluation(self, planned: Planned) -> Evaluation:
        plan = self._plan
        loaded, choice = plan.metatasks[planned.metatask], plan.techniques[planned.technique]
        columns = {
            "stage": STAGE,
            "task": loaded.metatask.name,
            "task_fingerprint": loaded.fingerprint,
            "system": choice.name,
            "configuration": configuration_text(choice.parameters),
            "configuration_id": 0,
            "fold": planned.fold,
            "repeat": 0,
            "seed": plan.study.seed,
            "metric": plan.study.metric,
            "protocol": plan.study.protocol,
            "versions": json.dumps({**environment_versions(), **plan.versions(choice.name)}),
        }
        return Evaluation(planned.key, columns, attempt=self._attempts.get(planned.key, 1))
