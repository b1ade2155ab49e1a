"""One run of a study: take what the store has, compute the rest, record both."""

from __future__ import annotations

import dataclasses
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Generic, TypeVar

import pyarrow as pa

from runner import engine
from runner.engine import Observer, Settings
from runner.models.kernels.cache import compile_ahead, uncompiled
from runner.sandbox import Limits
from runner.store import Run, Store, Wanted, present
from runner.study.options import Options, Outlook, StudySummary
from runner.study.served import find_served, stored_key, version_notes
from runner.study.subject import StudyFile, StudySource, Subject
from runner.study.versions import environment_versions
from runner.timing import EXCLUSIVE

Jobs = TypeVar("Jobs", bound=StudySource)


class StudyRun(Generic[Jobs]):
    """A study ready to be run: its plan is made, its store opened.

    Args:
        study: Its file.
        options: How to run it.
        subject: Makes what its kind says of it, given a sandbox's cores, which may be fewer than
            the file asks for (``fit_sandbox``).

    Raises:
        InputError: The results folder isn't one.
        CannotRunError: No node can hold one sandbox.
    """

    def __init__(self, study: StudyFile, options: Options, subject: Callable[[int], Subject[Jobs]]):
        self._study = study
        self._options = options
        asked = Limits(**dataclasses.asdict(study.sandbox))
        self._exclusive = study.timing == EXCLUSIVE
        self._capacity = engine.capacity(
            options.address, asked, fit=options.fit_sandbox, exclusive=self._exclusive
        )
        self._fitted = self._capacity.limits != asked
        self._subject = subject(self._capacity.limits.cpus)
        self._store = Store.create(options.results)
        self._served, attempts, self._stale = find_served(
            self._store,
            self._subject.keys,
            self._capacity.limits,
            options,
            predictions=study.predictions,
        )
        self._source = self._subject.source(self._served, attempts, self._store)
        self._jobs = self._source.jobs
        self._reused = len(self._source.final)
        self._recorded = 0

    def notes(self) -> list[str]:
        """What a person should know before the run starts."""
        notes = [self._capacity.note] if self._capacity.note else []
        notes += self._subject.notes()
        return notes + version_notes(self._stale, self._subject.versions)

    def outlook(self) -> Outlook:
        """What the run would do."""
        slot_seconds: dict[str, float] = defaultdict(float)
        for job in self._jobs:
            share = job.cost / len(job.evaluations)
            for evaluation in job.evaluations:
                slot_seconds[evaluation.columns["system"]] += share
        return Outlook(
            planned=self._subject.planned,
            reused=self._reused,
            jobs=len(self._jobs),
            slot_seconds=dict(slot_seconds),
            slots=self._capacity.slots,
        )

    def run(self, observer: Observer) -> StudySummary:
        """Compute what is missing; rows are in the store as soon as their jobs end."""
        with present(self._store.path) as others:
            for other in others:
                observer.message(
                    f"another run writes to these results ({other}): what neither has yet may be "
                    "computed twice"
                )
            return self._run(observer)

    def _run(self, observer: Observer) -> StudySummary:
        wanted = self._subject.wanted(self._stored)
        first = sum(len(group.keys) for group in wanted)
        run_id = self._begin(wanted)

        def sink(attempts: pa.Table, predictions: pa.Table | None) -> None:
            self._record_later(run_id)
            kept = None if predictions is None else self._subject.kept(predictions)
            self._store.append(attempts, kept)

        interrupted = False
        if self._jobs:
            settings = self._settings(run_id)
            _compile(settings.preload, observer)
            expected = self._subject.planned - first
            whole = _Whole(observer, lambda: expected - len(self._source.later))
            interrupted = engine.run(settings, self._source, sink, whole).interrupted
        self._record_later(run_id)
        summary = self._summary(first, interrupted)
        if interrupted:
            self._store.compact()
        else:
            self._store.end_run(run_id, datetime.now(UTC), summary.outcomes)
        return summary

    def _record_later(self, run_id: str) -> None:
        """Tell the run's row what it has come to want, as soon as rows of that may come."""
        new = self._source.later[self._recorded :]
        if new:
            self._store.extend_run(run_id, [self._stored(key) for key in new])
            self._recorded += len(new)

    def _stored(self, key: str) -> str:
        return stored_key(self._served, key)

    def _begin(self, wanted: tuple[Wanted, ...]) -> str:
        run_id, path = uuid.uuid4().hex, self._study.path
        self._store.begin_run(
            Run(
                run_id=run_id,
                study=self._study.name,
                config=self._study.text,
                planned=wanted,
                command=self._options.command,
                started_at=datetime.now(UTC),
                versions=environment_versions(),
                machine=engine.machine(),
                setting=self._subject.setting(),
                config_path=None if path is None else str(path.absolute()),
            )
        )
        return run_id

    def _settings(self, run_id: str) -> Settings:
        load = self._subject.workload(self._jobs)
        return Settings(
            function=load.function,
            warm_up=load.warm_up,
            preload=load.preload,
            limits=self._capacity.limits,
            threads=load.threads,
            arrays=load.arrays,
            columns={
                "run_id": run_id,
                "study": self._study.name,
                "timing": self._study.timing,
            },
            address=self._options.address,
            fitted=self._fitted,
            exclusive=self._exclusive,
        )

    def _summary(self, first: int, interrupted: bool) -> StudySummary:
        final = self._source.final
        return StudySummary(
            # What is still to follow belongs to what an interrupted run planned.
            planned=self._subject.planned if interrupted else first + len(self._source.later),
            reused=sum(key in self._served for key in final),
            computed=sum(key not in self._served for key in final),
            outcomes=dict(Counter(final.values())),
            interrupted=interrupted,
        )


class _Whole:
    """An observer that counts from the start what is sure to follow, such as refits.

    Args:
        observer: Who is told.
        to_come: How many evaluations will follow from those the engine knows.
    """

    def __init__(self, observer: Observer, to_come: Callable[[], int]):
        self._to_come = to_come
        self._progress = observer.progress
        self.message = observer.message

    def progress(self, done: int, total: int, seconds_left: float | None) -> None:
        self._progress(done, total + self._to_come(), seconds_left)


def _compile(preload: Sequence[str], observer: Observer) -> None:
    """Have machine code on disk before several sandboxes would each make it at once."""
    if modules := uncompiled(preload):
        observer.message("compiling kernels, once on this machine")
        compile_ahead(modules)
