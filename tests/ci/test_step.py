"""Steps: which plan they are held to, which test set they count on, what a release costs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.ci import Guarantee, Mode, Reuse, load_ci_file, parse_condition
from runner.ci.columns import Columns
from runner.ci.ledgers import begun_accounts
from runner.ci.multiplicity import ln_full
from runner.ci.predictions import HeldOut, Joined, held_out, held_out_by_name, join
from runner.ci.release import release_cost
from runner.ci.step import Taken, take_step
from runner.errors import CannotRunError, InputError

FILE = """\
condition: {condition}
reliability: 0.95
mode: {mode}
adaptivity: {adaptivity}
steps: 3
ledger: ledger
testset: {{name: {name}}}
"""


class Set:
    """A test set without files: so many rows, and a pool."""

    def __init__(self, folder: Path, condition: str, rows: int, pool: int = 0, **keys: str):
        keys = {"mode": "fp-free", "adaptivity": "full", "name": "may", **keys}
        self.letter = keys.pop("letter", "r")
        path = folder / "ci.yaml"
        path.write_text(FILE.format(condition=condition, **keys))
        self.file = load_ci_file(path)
        self.rows, self.pool = rows, pool
        self.labels: list[str | None] = ["a"] * rows

    @property
    def held(self) -> HeldOut:
        pool = Columns(Path("pool"), self._ids("p", self.pool), []) if self.pool else None
        found = held_out(
            Columns(Path("labels"), self._ids(self.letter, self.rows), self.labels), pool
        )
        assert found is not None
        return found

    def joined(self, new: int, old: int, of_pool: int = 0) -> Joined:
        """So many rows that the models are right on, the same ones; and that many that differ."""
        ids = self._ids(self.letter, self.rows) + self._ids("p", self.pool)
        columns = []
        for right, differ in ((new, of_pool), (old, 0)):
            values = ["a" if i < right else "b" for i in range(self.rows)]
            values += ["b" if i < differ else "a" for i in range(self.pool)]
            columns.append(Columns(Path("x"), ids, list(values)))
        return join(self.held, *columns)

    def step(self, new: int, old: int = 0, of_pool: int = 0) -> Taken:
        return take_step(self.file, self.held, self.joined(new, old, of_pool))

    def _ids(self, letter: str, count: int) -> list[str]:
        return [f"{letter}{i}" for i in range(count)]


def test_labels_that_come_later_count_on_the_same_ledger(tmp_path: Path) -> None:
    scene = Set(tmp_path, "n - o > 0.1 +/- 0.1", 4000)
    # Labels where the models differ, and no others.
    scene.labels = [None if i < 3000 else "a" for i in range(4000)]
    first = scene.step(4000, 3000)
    with pytest.raises(CannotRunError, match="500 rows lack a label"):
        scene.step(4000, 2500)
    scene.labels = [None if i < 2500 else "a" for i in range(4000)]
    second = scene.step(4000, 2500)
    scene.labels = ["a"] * 4000
    third = scene.step(1, 4000)
    assert [taken.passed for taken in (first, second, third)] == [True, True, False]
    assert [taken.step.number for taken in (first, second, third)] == [1, 2, 3]
    assert third.account.ended == "all 3 steps are taken"
    assert len(begun_accounts(scene.file)) == 1


def test_a_small_test_set_serves_where_the_pool_shows_how_little_models_differ(
    tmp_path: Path,
) -> None:
    scene = Set(tmp_path, "n - o > 0.02 +/- 0.02", 12_000, pool=6_000)
    assert scene.step(11_500, 11_000, of_pool=60).passed
    with pytest.raises(CannotRunError, match="needs"):
        scene.step(11_000, 11_000, of_pool=3_000)
    without = Set(tmp_path, "n - o > 0.02 +/- 0.02", 12_000)
    with pytest.raises(CannotRunError, match="the test set has 12,000 rows"):
        without.step(11_500, 11_000)


def test_another_test_set_has_another_ledger(tmp_path: Path) -> None:
    scene = Set(tmp_path, "n > 0.5 +/- 0.2", 300)
    scene.step(300)
    other = Set(tmp_path, "n > 0.5 +/- 0.2", 300, letter="j", name="june")
    assert other.step(300).step.number == 1
    assert len(begun_accounts(scene.file)) == 2


def test_labels_that_change_count_on_the_same_ledger(tmp_path: Path) -> None:
    scene = Set(tmp_path, "n - o > 0.1 +/- 0.1", 4000)
    for right in (4000, 3999, 3998):
        scene.step(right, 1)
    for changed in (None, "c"):
        scene.labels[-1] = changed
        with pytest.raises(CannotRunError, match="used up"):
            scene.step(3997, 1)
    assert len(list((tmp_path / "ledger").glob("*.jsonl"))) == 1


def test_a_refusal_begins_nothing(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="needs"):
        Set(tmp_path, "n > 0.5 +/- 0.1", 20).step(20)
    assert list((tmp_path / "ledger").iterdir()) == []


def test_rows_of_another_test_set_or_its_name(tmp_path: Path) -> None:
    condition = "n > 0.5 +/- 0.2"
    Set(tmp_path, condition, 300).step(300)
    for name in ("may", "june"):
        with pytest.raises(CannotRunError, match="299 of 299 ids are those of test set 'may'"):
            Set(tmp_path, condition, 299, name=name).step(299)
    with pytest.raises(CannotRunError, match="'may' was begun with other rows"):
        Set(tmp_path, condition, 300, letter="j").step(300)
    assert len(begun_accounts(Set(tmp_path, condition, 300).file)) == 1


def test_rows_that_only_a_name_tells_stay_the_same(tmp_path: Path) -> None:
    file = Set(tmp_path, "d < 0.5 +/- 0.2", 300).file

    def step(count: int) -> None:
        found = Columns(Path("x"), [str(i) for i in range(count)], ["a"] * count)
        rows = held_out_by_name(found, "testset")
        take_step(file, rows, join(rows, found, found))

    step(300)
    with pytest.raises(CannotRunError, match="not those that the ledger"):
        step(301)


def test_what_was_seen_by_another_condition_is_a_step_of_its_own(tmp_path: Path) -> None:
    for i, condition in enumerate(("n > 0.5 +/- 0.2", "n > 0.6 +/- 0.2", "n > 0.5 +/- 0.2")):
        taken = Set(tmp_path, condition, 300).step(300)
        assert taken.step.number == min(i, 1) + 1 if i < 2 else taken.repeated
    with pytest.raises(InputError, match="begun with adaptivity full, not firstChange"):
        Set(tmp_path, "n > 0.5 +/- 0.2", 300, adaptivity="firstChange").step(300)


@pytest.mark.parametrize("mode", ["fp-free", "fn-free"])
def test_a_release_is_paid_for_by_the_branch_that_it_splits(mode: Mode) -> None:
    condition = parse_condition("n - o > 0.1 +/- 0.1")

    def cost(reuse: Reuse, release: str, passed: bool) -> float:
        return release_cost(Guarantee(condition, 0.05, mode, reuse), release, passed, 99)  # type: ignore[arg-type]

    full, first = Reuse("full", 8), Reuse("firstChange", 8)
    for reuse in (full, first):
        assert cost(reuse, "bit", True) == cost(reuse, "bit", False) == 0
        assert cost(reuse, "scores", True) == pytest.approx(2 * math.log(100))
    # All 8 steps of it: 3^8 histories, where the bits had 2^8.
    assert ln_full(8) + 8 * cost(full, "outcome", True) == pytest.approx(8 * math.log(3))
    assert cost(first, "outcome", mode == "fn-free") == pytest.approx(math.log(2))
    assert cost(first, "outcome", mode == "fp-free") == 0


@settings(deadline=None, max_examples=50)
@given(st.data(), st.sampled_from(["fp-free", "fn-free"]))
def test_whatever_is_revealed_the_histories_shares_add_up_to_one(
    data: st.DataObject, mode: Mode
) -> None:
    guarantee = Guarantee(parse_condition("n > 0.1 +/- 0.1"), 0.05, mode, Reuse("full", 4))

    def charged(passed: bool, afterwards: bool) -> float:
        return 0.5 * math.exp(
            -release_cost(guarantee, "outcome", passed, 99, afterwards=afterwards)
        )

    def total(steps: int) -> float:
        """Of all histories from here on, for a developer who decides anew at each."""
        if not steps:
            return 1.0
        if data.draw(st.booleans(), label="asked for from the start"):
            outcomes = [passed for passed in (True, False) for _ in range(split(passed))]
            return sum(charged(passed, False) * total(steps - 1) for passed in outcomes)
        found = 0.0
        for passed in (True, False):
            if data.draw(st.booleans(), label="asked for afterwards"):
                shares = [charged(passed, True)] * split(passed)
            else:
                shares = [0.5]
            found += sum(share * total(steps - 1) for share in shares)
        return found

    def split(passed: bool) -> int:
        """Outcomes that lead to the bit."""
        return 2 if passed is (mode == "fn-free") else 1

    assert total(4) <= 1 + 1e-12
