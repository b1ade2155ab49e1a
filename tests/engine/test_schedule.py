"""Batches and second chances, as properties of any list of jobs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.engine.job import Evaluation, Job
from runner.engine.schedule import (
    MAX_BATCH_JOBS,
    MAX_LOSSES,
    SUSPECTS,
    Entry,
    Pool,
    batch_seconds,
)

COSTS = st.lists(st.floats(0, 1e4), max_size=200)
SLOTS = st.integers(1, 64)


def jobs(costs: list[float]) -> list[Job]:
    return [Job((Evaluation(str(i), {}),), b"", cost) for i, cost in enumerate(costs)]


def filled(costs: list[float]) -> Pool:
    pool = Pool()
    pool.add(jobs(costs))
    return pool


def key(entry: Entry) -> str:
    return entry.job.evaluations[0].key


@given(COSTS, SLOTS)
def test_every_job_once_dearest_first(costs: list[float], slots: int) -> None:
    pool = filled(costs)
    given_out: list[Entry] = []
    while batch := pool.take(slots):
        assert len(batch) <= MAX_BATCH_JOBS
        given_out += batch
    assert sorted(map(key, given_out)) == sorted(str(i) for i in range(len(costs)))
    in_order = [entry.cost for entry in given_out]
    assert in_order == sorted(in_order, reverse=True)
    for entry in given_out:
        pool.finish(entry, entry.cost)
    assert len(pool) == 0
    assert pool.seconds_left(slots) == pytest.approx(0, abs=1e-6)


@given(SLOTS, st.integers(1, 2000))
def test_batches_shrink_to_a_share(slots: int, count: int) -> None:
    pool = filled([1.0] * count)
    sizes = []
    left = count
    while batch := pool.take(slots):
        # Beyond a slot's share of what waits, one job at most: a job is never cut.
        assert len(batch) <= left / slots + 1
        left -= len(batch)
        sizes.append(len(batch))
    assert sizes == sorted(sizes, reverse=True)


@given(st.floats(0, 1e7), SLOTS)
def test_batch_seconds(waiting: float, slots: int) -> None:
    seconds = batch_seconds(waiting, slots)
    assert seconds > 0
    assert seconds <= max(batch_seconds(0, slots), waiting / slots)
    assert batch_seconds(waiting * 2, slots) >= seconds


def test_few_batches_a_slot() -> None:
    slots = 32
    pool = filled([0.05] * 20_000)
    batches = 0
    while pool.take(slots):
        batches += 1
    assert 4 * slots < batches < 16 * slots


@given(COSTS, st.randoms(use_true_random=False))
def test_nothing_is_lost_or_doubled(costs: list[float], chance: random.Random) -> None:
    """Slots finish, return and lose batches as they like: each job ends once, or is given up."""
    pool = filled(costs)
    ended: list[str] = []
    while len(pool):
        batch = pool.take(3)
        assert batch
        done = chance.randint(0, len(batch))
        for entry in batch[:done]:
            pool.finish(entry, entry.cost * chance.uniform(0, 3))
            ended.append(key(entry))
        if chance.random() < 0.7:
            pool.give_back(batch[done:])
            continue
        for entry in pool.lose_batch(batch[done:]):
            assert entry.losses == MAX_LOSSES - 1
            pool.finish(entry, entry.cost)
            ended.append(key(entry))
    assert sorted(ended) == sorted(str(i) for i in range(len(costs)))


def test_lost_jobs_come_back_alone() -> None:
    pool = filled([1.0] * 4 * SUSPECTS)
    batch = pool.take(1)
    assert len(batch) > SUSPECTS
    assert pool.lose_batch(batch) == []
    suspects = [pool.take(1) for _ in range(SUSPECTS)]
    assert all(len(suspect) == 1 and suspect[0].losses == 1 for suspect in suspects)
    assert len(pool.take(1)) > 1


def test_a_job_that_always_dies_is_given_up_and_costs_no_other() -> None:
    pool = filled([1.0] * 50)
    poison, given_up, done = "7", [], set()
    while len(pool):
        batch = pool.take(2)
        names = [key(entry) for entry in batch]
        fine = batch[: names.index(poison)] if poison in names else batch
        for entry in fine:
            pool.finish(entry, 1.0)
            done.add(key(entry))
        if poison in names:
            for entry in pool.lose_batch(batch[len(fine) :]):
                given_up.append(key(entry))
                pool.finish(entry, 1.0)
    assert given_up == [poison]
    assert len(done) == 49


def test_costs_are_corrected_by_what_was_measured() -> None:
    pool = filled([1.0] * 1000)
    for entry in pool.take(1)[:300]:
        pool.finish(entry, 3.0)
    assert pool.ratio == pytest.approx(3.0, rel=0.05)
    assert pool.seconds_left(7) == pytest.approx(3.0 * 700 / 7, rel=0.05)
