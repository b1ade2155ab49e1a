"""One run of a sweep: plan, take what the store has, compute the rest, select and refit."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from runner import engine
from runner.config import SweepStudy, load_tasks
from runner.data import arrays
from runner.engine import Observer, Settings
from runner.models.kernels.cache import compile_ahead, uncompiled
from runner.sandbox import Limits
from runner.store import Run, Stale, Store, Wanted
from runner.study import Options, Outlook, StudySummary, environment_versions
from runner.sweep import work
from runner.sweep.costs import cost_model
from runner.sweep.plan import EXCLUSIVE, Plan
from runner.sweep.setting import setting
from runner.sweep.source import Served, SweepSource
from runner.sweep.test_rows import TestRows


@dataclass(frozen=True)
class SweepSummary(StudySummary):
    """How a run ended.

    Attributes:
        unselected: The (task, system) without a configuration whose folds are all ok.
    """

    unselected: tuple[tuple[str, str], ...]


class Sweep:
    """A study ready to be run: its tasks are loaded, its plan made, its store opened.

    Args:
        study: The study.
        options: How to run it.

    Raises:
        InputError: The tasks or the results folder aren't what the study says.
        CannotRunError: No node can hold one sandbox.
    """

    def __init__(self, study: SweepStudy, options: Options):
        self._study = study
        self._options = options
        tasks, splits = load_tasks(study)
        asked = Limits(**dataclasses.asdict(study.sandbox))
        self._exclusive = study.timing == EXCLUSIVE
        self._capacity = engine.capacity(
            options.address, asked, fit=options.fit_sandbox, exclusive=self._exclusive
        )
        self._fitted = self._capacity.limits != asked
        self._plan = Plan(study, tasks, splits, cpus=self._capacity.limits.cpus)
        self._store = Store.create(options.results)
        self._served, attempts, self._stale = self._find_served()
        self._source = SweepSource(
            self._plan, self._served, attempts, cost_model(self._plan, self._store)
        )
        self._test_rows = TestRows(self._plan)
        self._jobs = self._source.jobs
        self._reused = len(self._source.final)
        self._recorded_tests = 0

    def notes(self) -> list[str]:
        """What a person should know before the run starts."""
        notes = [self._capacity.note] if self._capacity.note else []
        notes += self._test_rows.notes()
        notes += [
            f"{stale.rows} rows of {stale.system} were made with {self._differing(stale)}: "
            "computing them again; --accept-versions keeps them"
            for stale in self._stale
        ]
        return notes

    def _differing(self, stale: Stale) -> str:
        """Those versions of stale rows that their system's numbers rest on and aren't today's."""
        made = json.loads(stale.versions or "{}")
        now: dict[str, str | int] = {}
        for task in range(len(self._plan.tasks)):
            now |= self._plan.versions(task, stale.system)
        others = [f"{n} {made[n]}" for n, version in now.items() if made.get(n, version) != version]
        return ", ".join(others) or "other versions"

    def outlook(self) -> Outlook:
        """What the run would do."""
        slot_seconds: dict[str, float] = defaultdict(float)
        for job in self._jobs:
            slot_seconds[job.evaluations[0].columns["system"]] += job.cost
        return Outlook(
            planned=sum(len(pair.cv) + self._study.repeats for pair in self._plan.pairs),
            reused=self._reused,
            jobs=len(self._jobs),
            slot_seconds=dict(slot_seconds),
            slots=self._capacity.slots,
        )

    def best(self) -> Mapping[tuple[str, str], float]:
        """The best mean score so far by task and system."""
        return self._source.best()

    def run(self, observer: Observer) -> SweepSummary:
        """Compute what is missing; rows are in the store as soon as their jobs end."""
        run_id = self._begin()

        def sink(attempts: pa.Table, predictions: pa.Table | None) -> None:
            self._record_tests(run_id)
            named = None if predictions is None else self._test_rows.named(predictions)
            self._store.append(attempts, named)

        interrupted = False
        if self._jobs:
            self._compile(observer)
            interrupted = engine.run(
                self._settings(run_id), self._source, sink, observer
            ).interrupted
        self._record_tests(run_id)
        summary = self._summary(interrupted)
        if interrupted:
            self._store.compact()
        else:
            self._store.end_run(run_id, datetime.now(UTC), summary.outcomes)
        return summary

    def _compile(self, observer: Observer) -> None:
        """Have machine code on disk before several sandboxes would each make it at once."""
        if modules := uncompiled(self._preload):
            observer.message("compiling the families' kernels, once on this machine")
            compile_ahead(modules)

    def _record_tests(self, run_id: str) -> None:
        """Tell the run's row which refits it wants, as soon as rows of them may come."""
        new = self._source.tests[self._recorded_tests :]
        if new:
            self._store.extend_run(run_id, [self._stored(test.key) for test in new])
            self._recorded_tests += len(new)

    def _find_served(self) -> tuple[dict[str, Served], Mapping[str, int], tuple[Stale, ...]]:
        wanted = [evaluation.key for pair in self._plan.pairs for evaluation in pair.evaluations]
        reuse = self._store.served(
            wanted,
            seconds=self._capacity.limits.seconds,
            memory_mib=self._capacity.limits.memory_mib,
            cpu_seconds=self._capacity.limits.cpu_seconds,
            processes=self._capacity.limits.processes,
            file_bytes=self._capacity.limits.file_size,
            rerun=self._options.rerun,
            accept_versions=self._options.accept_versions,
            predictions=self._study.predictions,
        )
        served = {
            planned: Served(stored, reuse.outcomes[planned], reuse.scores[planned])
            for planned, stored in reuse.served.items()
        }
        return served, reuse.attempts, reuse.stale

    def _stored(self, key: str) -> str:
        known = self._served.get(key)
        return known.key if known else key

    def _begin(self) -> str:
        run_id = uuid.uuid4().hex
        planned = tuple(
            Wanted(
                task=self._plan.tasks[pair.task].name,
                system=pair.system,
                folds=self._study.folds,
                repeats=self._study.repeats,
                keys=tuple(self._stored(evaluation.key) for evaluation in pair.cv),
                configuration_ids=tuple(pair.tests),
            )
            for pair in self._plan.pairs
        )
        self._store.begin_run(
            Run(
                run_id=run_id,
                study=self._study.name,
                config=self._study.text,
                planned=planned,
                command=self._options.command,
                started_at=datetime.now(UTC),
                versions=environment_versions(),
                machine=engine.machine(),
                setting=setting(self._plan).to_json(),
            )
        )
        return run_id

    def _settings(self, run_id: str) -> Settings:
        study = self._study
        used = {job.arrays for job in self._jobs}
        return Settings(
            function=work.FUNCTION,
            warm_up=work.WARM_UP,
            preload=self._preload,
            limits=self._capacity.limits,
            threads=self._plan.threads,
            arrays={
                name: arrays(task, split)
                for index, (task, split) in enumerate(
                    zip(self._plan.tasks, self._plan.splits, strict=True)
                )
                if (name := self._plan.arrays_name(index)) in used
            },
            columns={
                "run_id": run_id,
                "study": study.name,
                "timing": study.timing,
            },
            address=self._options.address,
            fitted=self._fitted,
            exclusive=self._exclusive,
        )

    @property
    def _preload(self) -> tuple[str, ...]:
        """What every sandbox imports: the work's modules and those of the families used."""
        systems = {job.evaluations[0].columns["system"]: None for job in self._jobs}
        modules = (module for name in systems for module in self._plan.families[name].preload)
        return tuple(dict.fromkeys((*work.PRELOAD, *modules)))

    def _summary(self, interrupted: bool) -> SweepSummary:
        source = self._source
        cv = sum(len(pair.cv) for pair in self._plan.pairs)
        return SweepSummary(
            planned=cv + len(source.tests),
            reused=sum(key in self._served for key in source.final),
            computed=sum(key not in self._served for key in source.final),
            outcomes=dict(Counter(source.final.values())),
            unselected=tuple(source.unselected),
            interrupted=interrupted,
        )
