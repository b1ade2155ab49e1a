"""The rows that a report is about: those that one run planned, by task and system, in columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from runner.mlbench.setting import Setting
from runner.report.groups import Flags, Floats, Ints, Texts, encode_texts
from runner.store import Group, Store, find_run, read_plan

STAGES = ("cv", "test", "external")


@dataclass(frozen=True)
class Pair:
    """One system on one task.

    Attributes:
        planned: How many evaluations in cross-validation.
        configuration_ids: The numbers of its configurations in this run, in the order in which
            they are planned; empty where the run doesn't say them.
        untested: Whether the task has no test rows.
    """

    task: str
    system: str
    folds: int
    repeats: int
    planned: int
    configuration_ids: tuple[int, ...]
    untested: bool


@dataclass(frozen=True, eq=False)
class Rows:
    """What one run planned and what the store has of it.

    Attributes:
        finished: Whether the run came to its end.
        table: A row for each evaluation of a pair, sorted by pair, stage, and as they were
            planned. ``pair`` is the place in ``pairs``; ``stage`` is one of ``STAGES``: planned in
            cross-validation, on the test rows, or a score that a competition gave back. An
            evaluation on the test rows that two pairs share has a row in each. ``kind`` is what
            its times are: times of two kinds never stand in one table. ``fitted`` says whether its
            sandbox was shrunk to what the machine holds. The others are the store's
            (docs/results.md).
        kinds: Where its times are of several kinds: how many rows are of each.
        kept: The kind whose times are left then.
        mixed: The pairs whose times are left out then.
    """

    run_id: str
    study: str
    finished: bool
    pairs: tuple[Pair, ...]
    table: pa.Table
    kinds: Mapping[str, int] = field(default_factory=dict)
    kept: str | None = None
    mixed: frozenset[int] = frozenset()

    @property
    def pair(self) -> Ints:
        """For each row the number of its pair."""
        return self.integers("pair")

    @property
    def timed(self) -> Flags:
        """The rows that have a time."""
        return ~np.isnan(self.floats("fit_seconds"))

    @property
    def own(self) -> Flags:
        """The rows that were computed here."""
        return ~self.texts("stage").equal("external")

    def stage(self, name: str) -> Rows:
        """Those of a stage alone."""
        return self.only(self.texts("stage").equal(name))

    def only(self, flags: Flags) -> Rows:
        """Some of the rows."""
        return replace(self, table=self.table.filter(pa.array(flags)))

    def integers(self, name: str) -> Ints:
        """A column of integers without nulls."""
        return np.asarray(self.table[name].to_numpy(), np.int64)

    def floats(self, name: str) -> Floats:
        """A column of floats, NaN for null."""
        return np.asarray(self.table[name].to_numpy(), float)

    def texts(self, name: str) -> Texts:
        """A column of texts."""
        return Texts.of(self.table[name])


_RUN = "select study, plan, ended_at, setting from runs where run_id = $run_id"

# By key alone: rows may have been computed by an earlier run, for a study of another name or a
# task called otherwise. External scores are entered by hand at any time: no run planned them.
_ROWS = """
with planned as (
    select unnest(planned_keys) as key, unnest(range(len(planned_keys))) as place
    from runs where run_id = $run_id
)
select place, key, stage, task_fingerprint, system, configuration, configuration_id,
    coalesce(fold, 0) as fold, coalesce(repeat, 0) as repeat, outcome, score, fit_seconds, timing,
    enforced, machine, cpus, threads, memory_mib, quiet
from evaluations left join planned using (key)
where place is not null or stage = 'external'
"""

_TEXTS = ("stage", "task_fingerprint", "system", "configuration", "outcome", "timing", "enforced",
          "machine")  # fmt: skip


def load(store: Store, run_id: str | None = None) -> Rows:
    """The rows that a run planned.

    Args:
        store: Where they are.
        run_id: The run; by default the latest one that planned any.

    Raises:
        InputError: There is no such run.
    """
    run_id = find_run(store, run_id)
    (run,) = store.query(_RUN, {"run_id": run_id}).to_pylist()
    untested = {task.name for task in Setting.from_json(run["setting"]).tasks if task.untested}
    pairs = tuple(_pair(group, untested=group.task in untested) for group in read_plan(run["plan"]))
    found = encode_texts(store.query(_ROWS, {"run_id": run_id}), _TEXTS)
    table = _described(_placed(found, pairs))
    return Rows(run_id, run["study"] or "", run["ended_at"] is not None, pairs, table)


def _pair(group: Group, *, untested: bool) -> Pair:
    return Pair(
        task=group.task,
        system=group.system,
        folds=group.folds,
        repeats=group.repeats,
        planned=group.keys,
        configuration_ids=group.configuration_ids,
        untested=untested,
    )


def _placed(found: pa.Table, pairs: Sequence[Pair]) -> pa.Table:
    """The rows of each pair, with its number and the configurations' numbers of this run."""
    finder = _Finder(found)
    parts, first = [], 0
    for number, pair in enumerate(pairs):
        parts += [(*part, number) for part in finder.parts(pair, first)]
        first += pair.planned
    rows = np.concatenate([part[0] for part in parts] or [np.zeros(0, int)])
    ids = np.concatenate([part[1] for part in parts] or [np.zeros(0, int)])
    sizes = [len(part[0]) for part in parts]
    stages = np.repeat(np.array([part[2] for part in parts], int), sizes)
    owners = np.repeat(np.array([part[3] for part in parts], int), sizes)
    table = found.take(pa.array(rows)).drop_columns(["place", "stage", "configuration_id"])
    return (
        table.append_column("pair", pa.array(owners, pa.int32()))
        .append_column("stage", pa.DictionaryArray.from_arrays(stages, list(STAGES)))
        .append_column("configuration_id", pa.array(ids, pa.int32()))
    )


class _Finder:
    """Finds each pair's rows among those of a run."""

    def __init__(self, found: pa.Table):
        place = found["place"].fill_null(-1).to_numpy()
        self._rows = np.argsort(place, kind="stable")
        self._places = place[self._rows]
        self._ids = found["configuration_id"].to_numpy()
        self._configurations = Texts.of(found["configuration"]).codes
        self._fingerprints = Texts.of(found["task_fingerprint"]).codes
        self._systems = Texts.of(found["system"])
        stage = Texts.of(found["stage"])
        self._others = [self._once(found["key"], stage.equal(name)) for name in STAGES[1:]]

    def parts(self, pair: Pair, first: int) -> Iterator[tuple[Ints, Ints, int]]:
        """A pair's rows of each stage, their configurations' numbers, and the stage's place.

        Args:
            pair: Which.
            first: The place of its first key among the planned ones.
        """
        begin, end = np.searchsorted(self._places, [first, first + pair.planned])
        cv, ids = self._rows[begin:end], self._ids[self._rows[begin:end]]
        if pair.configuration_ids:
            # A row made for a study whose own system had another grid may hold another.
            index = (self._places[begin:end] - first) // pair.folds
            ids = np.array(pair.configuration_ids)[index % len(pair.configuration_ids)]
        yield cv, ids, 0
        fingerprints = np.unique(self._fingerprints[cv])
        for stage, others in enumerate(self._others, 1):
            same_system = self._systems.equal(pair.system)[others]
            rows = others[same_system & np.isin(self._fingerprints[others], fingerprints)]
            yield rows, np.array([self._id(row, cv, ids) for row in rows], int), stage

    def _id(self, row: int, cv: Ints, ids: Ints) -> int:
        """The number of a row's configuration in cross-validation, where it was there."""
        same = np.flatnonzero(self._configurations[cv] == self._configurations[row])
        return int(ids[same[-1]] if len(same) else self._ids[row])

    def _once(self, keys: pa.ChunkedArray, wanted: Flags) -> Ints:
        """Rows in the order of planning: a refit that is planned twice counts once."""
        rows = self._rows[wanted[self._rows]]
        first = dict(zip(keys.take(pa.array(rows)).to_pylist(), rows.tolist(), strict=True))
        return np.array([*first.values()], int)


def _described(table: pa.Table) -> pa.Table:
    """The table with ``kind`` and ``fitted`` in place of ``enforced``."""
    enforced, timing = Texts.of(table["enforced"]), Texts.of(table["timing"])
    shrunk = [json.loads(text or "{}").get("size") == "fitted" for text in enforced.values]
    fitted = np.array([*shrunk, False])[enforced.codes]
    timings = np.array([*(text or "packed" for text in timing.values), "packed"], object)
    kind = (
        timings[timing.codes] + np.array(["", " in a shrunk sandbox"], object)[fitted.astype(int)]
    )
    described = table.drop_columns(["enforced", "task_fingerprint", "system"])
    return encode_texts(
        described.append_column("fitted", pa.array(fitted)).append_column(
            "kind", pa.array(kind, pa.string())
        ),
        ["kind"],
    )
