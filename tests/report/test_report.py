"""Reports against numbers worked out by hand, and against pandas on a made-up store."""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Callable
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from rich.console import Console

from runner.errors import InputError
from runner.report import CONFIGURATIONS, SUMMARY, SummaryTable, configurations, summary, write
from runner.report.chart import FLOOR_SECONDS, marks
from runner.report.labels import Panel, Point, place
from runner.report.table import seconds_text
from runner.store import OUTCOMES, Run, Store, Wanted, find_run, other_studies

from .conftest import FOLDS, START, evaluation, plan, synthetic_rows

Record = Callable[..., Store]


def small(
    scores: list[float | None], seconds: float = 1.0, configuration_id: int = 0
) -> list[dict[str, Any]]:
    """Rows of one configuration of C-LR on wdbc; None is a timeout."""
    rows = []
    for fold, score in enumerate(scores):
        row = evaluation("wdbc", "C-LR", configuration_id, fold)
        ok = {"score": score, "fit_seconds": seconds}
        rows.append(row | (ok if score is not None else {"outcome": "timeout"}))
    return rows


def planned(*groups: list[dict[str, Any]], extra: tuple[str, ...] = ()) -> tuple[Wanted, ...]:
    keys = tuple(row["key"] for rows in groups for row in rows) + extra
    return (Wanted("wdbc", "C-LR", 2, keys),)


def test_by_hand(record: Record) -> None:
    rows = [small([0.7, 0.9], 1.0, 0), small([0.9, None], 4.0, 1), small([0.8, 0.8], 2.0, 2)]
    test = evaluation("wdbc", "C-LR", 0, None) | {"score": 0.75, "fit_seconds": 9.0}
    other = evaluation("wdbc", "C-LR", 2, None) | {"score": 0.99, "fit_seconds": 9.0}
    store = record([*chain(*rows), test, other], planned(*rows), tests=(test["key"],))
    (row,) = summary(store).to_pylist()
    assert row["configuration_id"] == 0
    assert row["configuration"] == '{"leaves": 0}'
    assert row["cv_auc"] == pytest.approx(0.8)
    assert row["cv_auc_sd"] == pytest.approx(0.02**0.5)
    assert row["test_auc"] == 0.75
    assert row["total_training_seconds"] == 1 + 1 + 4 + 2 + 2
    assert row["average_training_seconds"] == pytest.approx(10 / 3)
    assert row["refit_seconds"] == 9.0
    assert (row["ok"], row["timeout"], row["missing"], row["configurations"]) == (5, 1, 0, 3)
    found = configurations(store).to_pylist()
    assert [r["training_seconds"] for r in found] == [2.0, 4.0, 4.0]
    assert [r["selected"] for r in found] == [True, False, False]
    assert [r["cv_auc"] for r in found] == [pytest.approx(0.8), None, pytest.approx(0.8)]


def test_against_pandas(record: Record) -> None:
    rows = synthetic_rows()
    store = record(rows, plan())
    frame = pd.DataFrame(rows)
    pair, one = ["task", "system"], ["task", "system", "configuration_id"]
    by_one = frame.groupby(one)
    ok = by_one["score"].count() == FOLDS
    expected = pd.DataFrame(
        {
            "cv_auc": by_one["score"].mean().where(ok),
            "cv_auc_sd": by_one["score"].std().where(ok),
            "training_seconds": by_one["fit_seconds"].sum(min_count=1),
        }
    )
    found = configurations(store).to_pandas().set_index(one).sort_index()
    pd.testing.assert_frame_equal(found[list(expected)], expected, check_index_type=False)

    table = summary(store).to_pandas().set_index(pair)
    best = expected.dropna().sort_values("cv_auc").groupby(level=pair).tail(1)
    best = best.reset_index("configuration_id")
    total = frame.groupby(pair)["fit_seconds"].sum()
    timed = frame.dropna(subset="fit_seconds").groupby(pair)["configuration_id"].nunique()
    outcomes = frame.groupby(pair)["outcome"].value_counts().unstack(fill_value=0)
    assert list(table.index) == [(group.task, group.system) for group in plan()]
    for group in plan():
        name = group.task, group.system
        row = table.loc[name]
        assert row["configuration_id"] == best.loc[name, "configuration_id"]
        assert row["cv_auc"] == pytest.approx(best.loc[name, "cv_auc"], rel=1e-12)
        assert row["total_training_seconds"] == pytest.approx(total[name], rel=1e-12)
        average = total[name] / timed[name]
        assert row["average_training_seconds"] == pytest.approx(average, rel=1e-12)
        for outcome in OUTCOMES:
            assert row[outcome] == outcomes.get(outcome, pd.Series(0, outcomes.index))[name]
        assert row["missing"] == len(group.keys) - outcomes.loc[name].sum()


def test_ties_go_to_the_lower_id(record: Record) -> None:
    rows = [small([0.3, 0.1], configuration_id=2), small([0.1, 0.3], configuration_id=1)]
    (row,) = summary(record(list(chain(*rows)), planned(*rows))).to_pylist()
    assert row["configuration_id"] == 1


def test_a_fold_that_is_missing_rules_a_configuration_out(record: Record) -> None:
    rows = small([0.9])
    store = record(rows, planned(rows, extra=("to come",)), ended=False)
    (row,) = summary(store).to_pylist()
    assert row["configuration_id"] is None
    assert row["cv_auc"] is None
    assert row["missing"] == 1


def test_only_planned_rows_count_whatever_they_are_called(record: Record) -> None:
    mine, foreign = small([0.6, 0.7]), small([0.9, 0.9], configuration_id=1)
    for row in mine:
        row |= {"study": "another", "task": "renamed", "run_id": "r0"}
    (row,) = summary(record(mine + foreign, planned(mine))).to_pylist()
    assert (row["task"], row["configuration_id"], row["ok"]) == ("wdbc", 0, 2)


def test_latest_run_with_keys_unless_one_is_named(record: Record) -> None:
    old, new = small([0.6, 0.7]), small([0.9, 0.9], configuration_id=1)
    record(old, planned(old), run_id="first")
    record(new, planned(new), run_id="killed", hours=1, ended=False)
    store = record([], (), run_id="empty", hours=2)
    assert summary(store)["configuration_id"].to_pylist() == [1]
    assert summary(store, "first")["configuration_id"].to_pylist() == [0]
    with pytest.raises(InputError, match="did you mean 'first'"):
        summary(store, "frist")


def test_a_store_without_runs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run"):
        summary(Store.create(tmp_path / "results"))


def test_files_and_what_they_say(record: Record, tmp_path: Path) -> None:
    store = record(synthetic_rows(), plan())
    report = write(store, tmp_path / "deep" / "report")
    assert report.table.rows == summary(store).to_pylist()
    for path, schema, wanted in [
        (report.summary_csv, SUMMARY, summary(store)),
        (report.configurations_csv, CONFIGURATIONS, configurations(store)),
    ]:
        with path.open(newline="") as file:
            lines = list(csv.DictReader(file))
        assert list(lines[0]) == schema.names
        for line, row in zip(lines, wanted.to_pylist(), strict=True):
            for name, value in row.items():
                read = type(value)(line[name]) if isinstance(value, int | float) else line[name]
                assert read == ("" if value is None else value) or isinstance(value, bool)
    texts = [element.text for element in ElementTree.parse(report.chart_svg).iter()]
    for words in ("study: AUC against training time", "wdbc", "kc2", "C-BDT", "C-LR"):
        assert words in texts
    assert any("not for comparison" in (text or "") for text in texts)
    head = report.chart_png.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    assert min(struct.unpack(">II", head[16:])) > 400
    folder = tmp_path / "deep" / "report"
    assert {path.parent for path in report.files} == {folder, folder / "tables"}


def test_notes_name_what_a_reader_must_know(record: Record, tmp_path: Path) -> None:
    rows = small([0.6, 0.7])
    rows[0] |= {"machine": "m2", "cpus": 2}
    store = record(rows, planned(rows, extra=("to come",)), ended=False)
    notes = "\n".join(write(store, tmp_path / "report").notes)
    for words in ("1 of its evaluations have no row", "its refit is missing", "packed"):
        assert words in notes
    for words in ("2 kinds of machine don't compare", "A: m1, 1 rows", "2 numbers of cores"):
        assert words in notes
    assert "memory limits" not in notes


def test_no_selection_is_told_and_draws_an_empty_chart(record: Record, tmp_path: Path) -> None:
    rows = small([0.6, None])
    report = write(record(rows, planned(rows)), tmp_path / "report")
    assert any("No selection for C-LR on wdbc" in note for note in report.notes)
    assert "no configuration has all its folds ok" in report.chart_svg.read_text()
    assert "no selection" in text_of(report.table, 100)


def test_unwritable_output_is_an_error(record: Record, tmp_path: Path) -> None:
    rows = small([0.6, 0.7])
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="can't write"):
        write(record(rows, planned(rows)), tmp_path / "file")


def text_of(table: SummaryTable, width: int, *, terminal: bool = False) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=terminal,
        no_color=True,
        legacy_windows=False,
    )
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_table_fits_and_keeps_its_numbers(record: Record, width: int) -> None:
    table = summary(record(synthetic_rows(), plan()))
    text = text_of(SummaryTable(table), width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    for row in table.to_pylist():
        assert row["cv_auc"] is None or f"{row['cv_auc']:.4f}" in text
        assert seconds_text(row["total_training_seconds"]) in text
    # In the table or, where it has no room, below it.
    assert "leaves=" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.0, "0"), (3e-5, "3.0e-05"), (0.01234, "0.0123"), (1.0, "1.00"),
     (99.94, "99.9"), (1234.5, "1,234")],
)  # fmt: skip
def test_seconds_text(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text


def test_marks_have_places_on_a_log_axis(record: Record) -> None:
    rows = [small([0.6, 0.7], 0.0, 0), small([0.5, 0.5], 3.0, 1)]
    store = record(list(chain(*rows)), planned(*rows))
    found = marks(summary(store), configurations(store))
    assert [(m.best, m.seconds, m.own_seconds) for m in found] == [
        (False, FLOOR_SECONDS, FLOOR_SECONDS),
        (False, 6.0, 6.0),
        (True, 6.0, FLOOR_SECONDS),
    ]


def test_labels_of_close_points_do_not_cover_each_other() -> None:
    panel = Panel(280, 210, (0.1, 1000.0), (0.8, 1.0))
    points = [Point(10.0 * 1.3**i, 0.9 + 0.003 * i, f"C-{i}") for i in range(5)]
    spots = [panel.pixels(*spot) for spot in place(points, panel)]
    for i, (x, y) in enumerate(spots):
        for other_x, other_y in spots[:i]:
            assert abs(x - other_x) >= 22 or abs(y - other_y) >= 12
    lone = place([Point(10.0, 0.9, "C-LR")], panel)[0]
    assert lone[0] == pytest.approx(10.0)
    assert lone[1] > 0.9


def test_labels_keep_off_lines() -> None:
    panel = Panel(280, 210, (0.1, 1000.0), (0.8, 1.0))
    _, point = panel.pixels(10.0, 0.9)
    for above in range(-40, 41):
        _, line = panel.values(0, point + above)
        ((seconds, auc),) = place([Point(10.0, 0.9, "C-LR")], panel, [line])
        _, label = panel.pixels(seconds, auc)
        assert abs(label - (point + above)) >= 7


def test_a_study_of_several_is_found_by_its_name(record: Callable[..., Store]) -> None:
    rows = [evaluation("wdbc", "C-BDT", 0, fold) for fold in range(5)]
    wanted = (Wanted("wdbc", "C-BDT", 5, tuple(row["key"] for row in rows)),)
    store = record(rows, wanted, run_id="r1")
    record([], wanted, run_id="r2", hours=-1)
    store.begin_run(Run("r3", "other", "", wanted, "", START - timedelta(hours=2), {}, "m1"))
    assert [find_run(store, name) for name in (None, "study", "other", "r2")] == [
        "r1", "r1", "r3", "r2"
    ]  # fmt: skip
    assert [other.run_id for other in other_studies(store, "r2")] == ["r3"]
    assert [other.run_id for other in other_studies(store, "r3")] == ["r1"]
    with pytest.raises(InputError, match="did you mean 'other'"):
        find_run(store, "othr")


def test_a_later_run_of_another_kind_hides_no_sweep(record: Callable[..., Store]) -> None:
    rows = [evaluation("wdbc", "C-BDT", 0, fold) for fold in range(5)]
    wanted = (Wanted("wdbc", "C-BDT", 5, tuple(row["key"] for row in rows)),)
    store = record(rows, wanted, run_id="r1")
    with pytest.raises(
        InputError, match="no run of kind ensembles is recorded here, only of kind sweep"
    ):
        find_run(store, kind="ensembles")
    later = START + timedelta(hours=2)
    setting = '{"kind": "ensembles"}'
    store.begin_run(Run("r2", "study", "", wanted, "", later, {}, "m1", setting=setting))
    assert (find_run(store), find_run(store, kind="sweep")) == ("r2", "r1")
    assert (find_run(store, "study"), find_run(store, "study", "sweep")) == ("r2", "r1")
    assert [(one.run_id, one.kind) for one in other_studies(store, "r1")] == [("r2", "ensembles")]
    with pytest.raises(
        InputError, match="r2 is of kind ensembles, not sweep: the choice is study, r1"
    ):
        find_run(store, "r2", "sweep")
