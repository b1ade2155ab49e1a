"""The writer thread: nothing lost, few commits, and a failure that is told."""

from __future__ import annotations

import threading
import time

import pyarrow as pa
import pytest
from engine_helpers import Table

from runner.engine.writer import Writer
from runner.errors import InputError, RunnerError
from runner.store.schema import ATTEMPTS, PREDICTIONS


def row(key: str) -> dict[str, str]:
    return {"key": key, "outcome": "ok"}


def test_all_rows_in_order_in_few_commits() -> None:
    table = Table()
    with Writer(table) as writer:
        for number in range(1000):
            writer.put([row(str(number))], None)
    assert [r["key"] for r in table.rows] == [str(number) for number in range(1000)]
    assert len(table.commits) <= 3
    assert table.commits[0].schema == ATTEMPTS


def test_put_never_waits_for_the_sink() -> None:
    gate = threading.Event()
    table = Table(lambda rows: assert_true(gate.wait(10)))
    with Writer(table) as writer:
        for number in range(50):
            writer.put([row(str(number))], None)
            time.sleep(0.001)
        assert not table.commits
        gate.set()
    assert len(table.rows) == 50


def assert_true(value: bool) -> None:
    assert value


def test_predictions_go_with_their_rows() -> None:
    table = Table()
    predictions = pa.table(
        [["a"], [[1]], [["x"]], [[0.5]], [["x"]], [[2.0]], [["one"]]],
        schema=PREDICTIONS,
    )
    with Writer(table) as writer:
        writer.put([row("a")], predictions)
        writer.put([row("b")], None)
    assert [found["key"].to_pylist() for found in table.predictions] == [["a"]]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device"), "can't be written.*No space left"),
        (InputError("the folder is gone"), "^the folder is gone$"),
    ],
)
def test_failure_is_told_and_ends_writing(error: Exception, told: str) -> None:
    calls = []

    def fail(rows: pa.Table) -> None:
        calls.append(rows)
        raise error

    def use() -> None:
        with Writer(Table(fail)) as writer:
            writer.put([row("a")], None)
            while not calls:
                time.sleep(0.01)
            writer.put([row("b")], None)

    with pytest.raises(RunnerError, match=told):
        use()
    assert len(calls) == 1


def test_flush_waits_for_the_commit() -> None:
    table = Table(lambda rows: time.sleep(0.2))
    with Writer(table) as writer:
        writer.put([row("a")], None)
        writer.flush()
        assert [r["key"] for r in table.rows] == ["a"]
        writer.flush()
