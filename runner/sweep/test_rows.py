"""Test rows whose labels only a competition has: what a run says of them and calls them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from runner.data import Task
from runner.store import PREDICTIONS
from runner.sweep.plan import Plan


class TestRows:
    """The test rows without labels of a plan's tasks.

    Args:
        plan: The plan.
    """

    __test__ = False

    def __init__(self, plan: Plan):
        self._tasks = [task for task in plan.tasks if not task.has_test_labels]
        self._named: Mapping[str, Task] = {
            test.key: plan.tasks[pair.task]
            for pair in plan.pairs
            if plan.tasks[pair.task].test_ids
            for tests in pair.tests.values()
            for test in tests
        }

    def notes(self) -> Iterator[str]:
        """What a person should know before the run starts."""
        for task in self._tasks:
            yield (
                f"{task.name}: its test file has no labels, so its refits get no score here; "
                "`runner report` writes their predictions as submission files"
            )

    def named(self, predictions: pa.Table) -> pa.Table:
        """Predictions with what the test file calls their rows (``ids``), where it does."""
        if not self._named:
            return predictions
        ids = [self._ids(row) for row in predictions.select(["key", "row_ids"]).to_pylist()]
        place = PREDICTIONS.names.index("ids")
        return predictions.set_column(place, PREDICTIONS.field(place), pa.array(ids, _LIST))

    def _ids(self, row: Mapping[str, object]) -> Sequence[str] | None:
        task = self._named.get(str(row["key"]))
        if task is None:
            return None
        first = len(task.y) - task.given_test
        rows: Sequence[int] = row["row_ids"]  # type: ignore[assignment]
        return [task.test_ids[number - first] for number in rows]


_LIST = PREDICTIONS.field("ids").type
