"""The store of a study's results: a folder of three Delta tables."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from runner.errors import InputError
from runner.store import schema
from runner.store.check import Problem, problems
from runner.store.export import export_view, read_predictions
from runner.store.merge import Merged, merge_attempts, merge_rows
from runner.store.plan import Wanted, write_plan
from runner.store.repair import Repaired, repair_table
from runner.store.reuse import Reuse, plan_reuse
from runner.store.tables import DamageError, Table, alone
from runner.store.views import Views

COMMITS_BETWEEN_COMPACTIONS = 200
# Delta Lake takes them for parts of an address.
_UNFIT = frozenset("*?[]\\^|%")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/")
_ADVICE = "give a folder of results, or a new one"


@dataclass(frozen=True)
class Run:
    """One start of a command on a study.

    Attributes:
        config: The text of the study's file.
        command: As it was typed.
        started_at: With its time zone.
        versions: Of the runner and the libraries, by name.
        setting: What the study is about, as runner.mlbench.setting writes it; None where the
            command records none.
        config_path: Where the study's file is; None where there is none.
    """

    run_id: str
    study: str
    config: str
    planned: tuple[Wanted, ...]
    command: str
    started_at: datetime
    versions: Mapping[str, str]
    machine: str
    setting: str | None = None
    config_path: str | None = None


_AT_WORK = "another process is compacting or merging these results: try again when it has ended"
_LOST_RUNS = """
select run_id, any_value(study) as study, min(started_at) as started_at from attempts
where run_id is not null and run_id not in (select run_id from runs where started_at is not null)
group by run_id order by run_id
"""


class Store:
    """A store that is there: ``Store.open`` for reading it, ``Store.create`` for a study.

    Any number of processes may append at once: appends never conflict. One ``Store`` belongs to
    one writing thread; reading from other threads is safe.
    """

    def __init__(self, path: str | Path):
        _refuse_address(str(path))
        self.path = str(Path(path).absolute())
        _refuse_unfit(self.path)
        self._attempts = _table(self.path, "attempts", schema.ATTEMPTS)
        self._predictions = _table(self.path, "predictions", schema.PREDICTIONS)
        self._runs = _table(self.path, "runs", schema.RUNS)
        self._commits = 0

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """The store in a folder.

        Raises:
            InputError: There is none, or something else is there.
        """
        store = cls(path)
        _require_folder(Path(path))
        if not store._attempts.exists():
            raise InputError("this folder holds no results", file=path)
        for table in store._tables():
            table.check_schema()
        return store

    @classmethod
    def inspect(cls, path: str | Path) -> Store:
        """The store in a folder, however damaged: for ``check`` and ``repair``.

        Raises:
            InputError: There is none, or something else is there.
        """
        store = cls(path)
        _require_folder(Path(path))
        if not any(table.exists() for table in store._tables()):
            raise InputError("this folder holds no results", file=path)
        for table in store._tables():
            with contextlib.suppress(DamageError):
                table.check_schema()
        return store

    @classmethod
    def create(cls, path: str | Path) -> Store:
        """The store in a folder, made if it isn't there; several processes may do so at once.

        Raises:
            InputError: The folder holds something else, which the message names, or can't be
                written to.
        """
        store = cls.check_place(path)
        for table in store._tables():
            table.check_schema()
        # Attempts come last: where they are, the others are.
        for table in reversed(store._tables()):
            table.create()
        return store

    @classmethod
    def check_place(cls, path: str | Path) -> Store:
        """The store that a folder holds or could hold; nothing is made.

        Raises:
            InputError: The folder holds something else, which the message names, or can't be
                written to.
        """
        store = cls(path)
        folder = Path(store.path)
        if Path(path).exists():
            _require_folder(Path(path))
        else:
            _require_makeable(folder)
        store.require_writable()
        store._refuse_foreign()
        return store

    @classmethod
    def find(cls, path: str | Path) -> Store | None:
        """The store in a folder; None where a study may still make one.

        Raises:
            InputError: Something else is there.
        """
        if (Path(path) / "attempts").is_dir() or Path(path).is_file():
            return cls.open(path)
        cls(path)._refuse_foreign()
        return None

    def require_writable(self) -> None:
        """Raises InputError where rows can't be written."""
        folder = Path(self.path)
        if folder.exists():
            _require_writable(folder)

    def _refuse_foreign(self) -> None:
        if not self._attempts.exists():
            _refuse_foreign(Path(self.path), [Path(table.uri).name for table in self._tables()])

    def append(self, attempts: pa.Table, predictions: pa.Table | None = None) -> None:
        """Commits rows of ``attempts``, the predictions before them; compacts now and then.

        Columns may be missing (null) and in any order.

        Raises:
            ValueError: A column that the schema doesn't have, or of a type that doesn't fit.
        """
        if predictions is not None and len(predictions):
            self._predictions.append(predictions)
        self._attempts.append(attempts)
        self._commits += 1
        if self._commits % COMMITS_BETWEEN_COMPACTIONS == 0:
            self.compact()

    def begin_run(self, run: Run) -> None:
        """Records that a run starts and which evaluations it wants."""
        self._append_run(
            run_id=run.run_id,
            study=run.study,
            config=run.config,
            planned_keys=[key for group in run.planned for key in group.keys],
            plan=write_plan(run.planned),
            command=run.command,
            started_at=run.started_at,
            versions=json.dumps(dict(run.versions), sort_keys=True),
            machine=run.machine,
            setting=run.setting,
            config_path=run.config_path,
        )

    def extend_run(self, run_id: str, keys: Iterable[str]) -> None:
        """Adds keys that a run has come to want, such as those of stage test after selection."""
        self._append_run(run_id=run_id, planned_keys=list(keys))

    def end_run(self, run_id: str, ended_at: datetime, outcomes: Mapping[str, int]) -> None:
        """Records that a run came to its end and its evaluations by outcome; compacts.

        An interrupted run gets none: where there is no end, planned keys may have no row.
        """
        text = json.dumps(dict(outcomes), sort_keys=True)
        self._append_run(run_id=run_id, ended_at=ended_at, outcomes=text)
        self.compact()

    def served(
        self,
        planned: Sequence[str],
        *,
        seconds: float,
        memory_mib: float,
        cpu_seconds: float | None = None,
        processes: int | None = None,
        file_bytes: int | None = None,
        rerun: Collection[str] = (),
        accept_versions: bool = False,
        predictions: bool = False,
    ) -> Reuse:
        """Which of the planned keys need no computing.

        Args:
            planned: Keys, each once.
            seconds: The wall clock limit asked for now.
            memory_mib: The memory limit asked for now.
            cpu_seconds: The limit of processor time asked for now; None for none.
            processes: The limit of processes asked for now; None for none.
            file_bytes: The limit of a file's size asked for now; None for none.
            rerun: Outcomes that are computed again.
            accept_versions: Whether a row made with other versions serves.
            predictions: Whether an ok row serves only if its predictions are in the store.
        """
        with Views({"attempts": self._attempts, "predictions": self._predictions}) as views:
            return plan_reuse(
                views,
                planned,
                {
                    "seconds": seconds,
                    "memory": memory_mib,
                    "cpu": cpu_seconds,
                    "processes": processes,
                    "file": file_bytes,
                },
                rerun=rerun,
                accept_versions=accept_versions,
                predictions=predictions,
            )

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pa.Table:
        """The result of one SELECT over ``evaluations``, ``attempts``, ``predictions``, ``runs``.

        The SQL is DuckDB's, with ``$name`` for a parameter. It can't write, and reads nothing
        but this store.

        Raises:
            InputError: The SQL is wrong, or not one SELECT.
        """
        with Views(self._by_name()) as views:
            return views.query(sql, parameters or {})

    def predictions(self, keys: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of ``predictions`` that have these keys, some at a time, in any order.

        They are found by their keys, and only they are read: it takes no more memory than a few
        of them do.

        Raises:
            DamageError: A file can't be read.
        """
        return read_predictions(self._predictions, keys)

    def moment(self) -> Mapping[str, str]:
        """Names the present state of each table, which something committed changes.

        A look at folders, so cheap that it can be had often.
        """
        return {name: table.newest() for name, table in self._by_name().items()}

    def compact(self) -> bool:
        """Merges small files, and removes merged ones older than a day; safe beside writers.

        Returns:
            False where nothing was done, since another process is compacting.
        """
        with alone(self.path) as free:
            if free:
                for table in self._tables():
                    table.compact()
            return free

    def check(self) -> list[Problem]:
        """What is wrong with the stored rows; empty where all is well."""
        return problems(self._by_name())

    def export(self, view: str, path: str | Path, style: str) -> int:
        """Writes a view to a file, a part at a time; how many rows it has. Their order is open.

        Args:
            view: ``evaluations``, ``attempts``, ``predictions`` or ``runs``.
            path: The file; one that is there is replaced when the new one is whole.
            style: ``parquet`` or ``csv``; lists in CSV are JSON.

        Raises:
            InputError: The file can't be written.
            DamageError: A file of the store can't be read.
        """
        name = "attempts" if view == "evaluations" else view
        return export_view(self._by_name()[name], view, Path(path), style)

    def merge(self, other: Store) -> Merged:
        """Takes the rows of another store in; safe beside writers of both.

        All attempts are kept. Where both stores have a key its attempts are numbered anew by the
        time at which they started. A row that is there already isn't taken again: merging twice
        changes nothing, and a merge that was killed is completed by the next.

        Raises:
            InputError: The other is this store, or another process is compacting this one.
            DamageError: A file can't be read.
        """
        if os.path.samefile(self.path, other.path):
            raise InputError("a store can't be merged into itself", file=other.path)
        with alone(self.path) as free:
            if not free:
                raise InputError(_AT_WORK, file=self.path)
            # As a run writes them: predictions before their rows, and these after their run.
            predictions = merge_rows(self._predictions, other._predictions)
            runs = merge_rows(self._runs, other._runs)
            attempts, renumbered = merge_attempts(self._attempts, other._attempts)
        return Merged(attempts, predictions, runs, renumbered)

    def repair(self) -> list[Repaired]:
        """Sets damaged files aside, in ``damaged/``, and keeps every row that can be read.

        What was lost is computed again by the next run of the study. Not safe beside a writer.

        Returns:
            One for each table that was damaged.

        Raises:
            InputError: Another process is compacting the store, or a table is something else.
        """
        with alone(self.path) as free:
            if not free:
                raise InputError(_AT_WORK, file=self.path)
            done = [found for table in self._tables() if (found := repair_table(table))]
            for table in self._tables():
                table.create()
        if any(found.table == self._runs.name for found in done):
            self._restore_runs()
        return done

    def _restore_runs(self) -> None:
        """Records of lost runs what their rows tell, so that no row is without a run."""
        lost = self.query(_LOST_RUNS).to_pylist()
        for run in lost:
            self._append_run(**run)

    def _append_run(self, **values: object) -> None:
        row = {name: [value] for name, value in values.items()}
        fields = [schema.RUNS.field(name) for name in values]
        self._runs.append(pa.table(row, schema=pa.schema(fields)))

    def _by_name(self) -> dict[str, Table]:
        return {
            "attempts": self._attempts,
            "predictions": self._predictions,
            "runs": self._runs,
        }

    def _tables(self) -> list[Table]:
        return list(self._by_name().values())


def _table(store: str, name: str, columns: pa.Schema) -> Table:
    required = {"attempts": ("key", "outcome", "attempt"), "runs": ("run_id", "planned_keys")}
    return Table(f"{store}/{name}", columns, required.get(name, ("key",)))


# As a path it would be a folder of that name here, and the results elsewhere than they were wanted.
def _refuse_address(path: str) -> None:
    if _ADDRESS.match(path):
        raise InputError(f"results are kept in a folder of this machine, not at {path}; {_ADVICE}")


def _refuse_unfit(path: str) -> None:
    unfit = sorted({character for character in path if character in _UNFIT or character < " "})
    if unfit:
        raise InputError(
            f"the path of a folder of results can't hold {' '.join(map(repr, unfit))}: {path!r}"
        )


def _require_folder(path: Path) -> None:
    if not path.exists():
        raise InputError("there is no such folder; give one with results", file=path)
    if not path.is_dir():
        raise InputError(f"this is a file; {_ADVICE}", file=path)


def _require_writable(folder: Path) -> None:
    for place in (folder, *folder.glob("*/_delta_log")):
        if not os.access(place, os.W_OK | os.X_OK):
            raise InputError("results can't be kept here: it is read-only", file=place)


def _require_makeable(folder: Path) -> None:
    parent = next(parent for parent in folder.parents if parent.exists())
    if not parent.is_dir():
        raise InputError(f"this is a file, which holds no folders; {_ADVICE}", file=parent)
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError("results can't be kept here: it is read-only", file=parent)


# A folder in which another process is just making its tables is no foreign one.
def _refuse_foreign(folder: Path, tables: list[str]) -> None:
    if not folder.exists():
        return
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        begun = entry.name in tables and entry.is_dir()
        if begun and all(item.name == "_delta_log" for item in entry.iterdir()):
            continue
        raise InputError(f"this folder holds something else ({entry.name}); {_ADVICE}", file=folder)
