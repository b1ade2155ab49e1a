"""The sweep as the engine sees it: jobs of the folds first, then refits of the best."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from runner.engine import Evaluation, Job
from runner.selection import Scored, Selection, ranked, select, summarise
from runner.study import Served, environment_versions
from runner.sweep.plan import METRIC, TEST, Pair, Plan, Planned, configuration_text
from runner.sweep.work import Fit
from runner.timing import SHORT_SECONDS, retime_seconds

JOB_OVERHEAD = 0.02
"""Seconds that a job costs besides its fit: a fork, the groups, the preparation."""

Cost = Callable[[Planned], float]


class SweepSource:
    """Hands the engine a plan's jobs, minus what the store serves, and selects as rows come in.

    Args:
        plan: The plan.
        served: What needs no computing, by planned key.
        attempts: The number of the next attempt by key; 1 where there is none.
        cost: Predicted seconds of an evaluation's fit.
    """

    def __init__(
        self, plan: Plan, served: Mapping[str, Served], attempts: Mapping[str, int], cost: Cost
    ):
        self._plan = plan
        self._attempts = attempts
        self._cost = cost
        self._open = {
            (pair.task, pair.system): _Open(pair, plan.folds(pair.task), plan.study.repeats)
            for pair in plan.pairs
        }
        self._planned = {
            evaluation.key: evaluation for pair in plan.pairs for evaluation in pair.evaluations
        }
        self._served = served
        self.final: dict[str, str] = {}
        """Outcome by key of everything that is known, served or computed."""
        self.tests: list[Planned] = []
        """The refits that selections have asked for so far, served or not."""
        self.unselected: list[tuple[str, str]] = []
        """The (task, system) that have no configuration whose folds are all ok."""

    @property
    def later(self) -> list[str]:
        """The keys of the refits asked for so far."""
        return [test.key for test in self.tests]

    def initial(self) -> list[Job]:
        return self.jobs

    @cached_property
    def jobs(self) -> list[Job]:
        """The jobs that can run from the start; made once, with what the store serves taken in."""
        jobs = []
        for pair in self._plan.pairs:
            missing = [e for e in pair.cv if e.key not in self._served]
            jobs += [self._job(group) for group in self._plan.fits(missing)]
            for evaluation in pair.cv:
                if known := self._served.get(evaluation.key):
                    jobs += self._take(evaluation, known.outcome, known.score)
        return jobs

    def follow_up(self, rows: Sequence[Mapping[str, Any]]) -> list[Job]:
        jobs = []
        for row in rows:
            jobs += self._take(self._planned[row["key"]], row["outcome"], row["score"])
        return jobs

    def best(self) -> dict[tuple[str, str], float]:
        """The best mean score so far by task and system, of configurations with all folds."""
        return {
            self._name(progress.pair): progress.best
            for progress in self._open.values()
            if progress.best is not None
        }

    def _take(self, planned: Planned, outcome: str, score: float | None) -> list[Job]:
        self.final[planned.key] = outcome
        if planned.stage == TEST:
            return []
        progress = self._open[planned.task, planned.system]
        progress.add(planned, outcome, score)
        return self._refit(progress) if progress.complete else []

    def _name(self, pair: Pair) -> tuple[str, str]:
        return self._plan.tasks[pair.task].name, pair.system

    def _refit(self, progress: _Open) -> list[Job]:
        pair = progress.pair
        complete = progress.ranked()
        if not complete:
            self.unselected.append(self._name(pair))
        missing = []
        for selection in complete[: self._plan.refits(pair)]:
            for test in pair.tests[selection.configuration_id]:
                self.tests.append(test)
                if known := self._served.get(test.key):
                    self._take(test, known.outcome, known.score)
                else:
                    missing.append(test)
        return [self._job(group) for group in self._plan.fits(missing)]

    def _job(self, group: tuple[Planned, ...]) -> Job:
        plan, first = self._plan, group[0]
        task = plan.tasks[first.task]
        fit = Fit(
            family=plan.families[first.system],
            configurations=tuple(dict(e.configuration) for e in group),
            fold=first.fold,
            seed=plan.study.seed,
            threads=plan.threads,
            classes=(task.negative, task.positive),
            predictions=plan.study.predictions,
            retime_within=self._retime_seconds,
        )
        return Job(
            evaluations=tuple(self._evaluation(e) for e in group),
            argument=pickle.dumps(fit),
            cost=JOB_OVERHEAD + self._seconds([self._cost(e) for e in group]),
            arrays=plan.arrays_name(first.task),
        )

    @property
    def _retime_seconds(self) -> float | None:
        study = self._plan.study
        return retime_seconds(
            study.timing,
            seconds=study.sandbox.seconds,
            cpu_seconds=study.sandbox.cpu_seconds,
            threads=self._plan.threads,
        )

    def _seconds(self, fits: Sequence[float]) -> float:
        """What a shared fit takes: its longest one, and the short ones again and again."""
        longest = max(fits)
        if self._retime_seconds is None:
            return longest
        return longest + sum(SHORT_SECONDS for seconds in fits if seconds < SHORT_SECONDS)

    def _evaluation(self, planned: Planned) -> Evaluation:
        plan = self._plan
        task = plan.tasks[planned.task]
        columns = {
            "stage": planned.stage,
            "task": task.name,
            "task_fingerprint": task.fingerprint,
            "system": planned.system,
            "configuration": configuration_text(planned.configuration),
            "configuration_id": planned.configuration_id,
            "fold": planned.fold,
            "repeat": planned.repeat,
            "seed": plan.study.seed,
            "metric": METRIC,
            "versions": json.dumps(
                {**environment_versions(), **plan.versions(planned.task, planned.system)}
            ),
        }
        return Evaluation(planned.key, columns, attempt=self._attempts.get(planned.key, 1))


class _Open:
    """What is known so far of one system on one task."""

    def __init__(self, pair: Pair, folds: int, repeats: int):
        self.pair = pair
        self.best: float | None = None
        self._folds = folds
        self._repeats = repeats
        self._scored: dict[int, dict[tuple[int, int], Scored]] = {}
        self._missing = {evaluation.key for evaluation in pair.cv}

    @property
    def complete(self) -> bool:
        return not self._missing

    def add(self, planned: Planned, outcome: str, score: float | None) -> None:
        assert planned.fold is not None
        self._missing.discard(planned.key)
        of_configuration = self._scored.setdefault(planned.configuration_id, {})
        of_configuration[planned.repeat, planned.fold] = Scored(
            planned.configuration_id, planned.fold, outcome, score, planned.repeat
        )
        found = select(of_configuration.values(), self._folds, self._repeats)
        if found is not None and (self.best is None or found.mean > self.best):
            self.best = found.mean

    def ranked(self) -> list[Selection]:
        """The configurations whose folds are all ok, best first."""
        scored = (scored for folds in self._scored.values() for scored in folds.values())
        summaries = summarise(scored, self._folds, self._repeats).values()
        return ranked(summary for summary in summaries if summary is not None)
