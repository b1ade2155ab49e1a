"""A run's file by itself: what is read of it, and why it can't serve."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from runner.data.arff import parse_arff
from runner.metatask.integrity import Checked
from runner.metatask.openml_predictions import Question, Unusable, examine_run

HEAD = (
    "@relation r\n@attribute repeat numeric\n@attribute fold numeric\n@attribute row_id numeric\n"
    "@attribute prediction {no,yes}\n@attribute correct {no,yes}\n"
    "@attribute confidence.no numeric\n@attribute confidence.yes numeric\n@data\n"
)
ROWS = "0,1,1,yes,no,0.25,0.75\n0,0,0,no,no,1,0\n0,1,2,yes,yes,0.5,0.5\n"


def question(text: str, **changes: object) -> Question:
    fields: dict[str, object] = {
        "name": "run",
        "description": "flow",
        "content": text.encode(),
        "classes": ("no", "yes"),
        "rows": np.arange(3),
        "labels": np.array([0, 0, 1], dtype=np.int16),
        "folds": np.array([0, 1, 1], dtype=np.int16),
        **changes,
    }
    return Question(**fields)  # type: ignore[arg-type]


def usable(text: str, **changes: object) -> Checked:
    found = examine_run(question(text, **changes))
    assert isinstance(found, Checked), found
    return found


def test_rows_are_put_in_the_tasks_order() -> None:
    found = usable(HEAD + ROWS)
    assert found.predictions.tolist() == [0, 1, 1]
    assert found.confidences.tolist() == [[1, 0], [0.25, 0.75], [0.5, 0.5]]


def test_only_the_first_repeat_counts() -> None:
    other = "1,0,1,no,no,1,0\n1,1,0,yes,no,0,1\n1,1,2,yes,yes,0,1\n"
    found = usable(HEAD + other + ROWS)
    assert found.predictions.tolist() == [0, 1, 1]


def test_another_fold_than_the_tasks_is_found() -> None:
    found = usable(HEAD + ROWS.replace("0,1,2", "0,0,2"))
    assert [(one.kind, one.rows) for one in found.findings][-1:] == [("folds", 1)]


def test_booleans_may_be_spelled_otherwise() -> None:
    text = (HEAD + ROWS).replace("yes", "TRUE").replace("no,", "FALSE,").replace(".no", ".FALSE")
    found = usable(text, classes=("false", "true"))
    assert found.predictions.tolist() == [0, 1, 1]


def test_a_declared_class_that_no_row_has_may_stand_there() -> None:
    text = HEAD.replace("@data", "@attribute confidence.never numeric\n@data")
    assert usable(text + ROWS.replace("\n", ",0\n")).confidences.shape == (3, 2)


CASES: Mapping[str, tuple[str, str]] = {
    "a class unknown": (
        (HEAD + ROWS).replace("{no,yes}", "{no,yes,maybe}").replace("1,yes", "1,maybe"),
        "'maybe'",
    ),
    "a class without confidences": (
        (HEAD + ROWS).replace("confidence.yes", "trust.yes"),
        "no column 'confidence.yes'",
    ),
    "confidences of no class": (
        HEAD.replace("@data", "@attribute confidence.never numeric\n@data")
        + ROWS.replace("\n", ",0.1\n"),
        "'confidence.never' is of no class",
    ),
    "a row twice": (HEAD + ROWS + ROWS.splitlines()[0] + "\n", "row 1 is there more than once"),
    "a row missing": (HEAD + "\n".join(ROWS.splitlines()[:2]) + "\n", "lacks 1 of 3 rows"),
    "no row_id": ((HEAD + ROWS).replace("row_id", "row"), "'row_id'"),
    "no ARFF": ("<html/>", "no ARFF"),
    "a broken row": (HEAD + ROWS + "0,0\n", "0,0"),
}


@pytest.mark.parametrize("case", CASES)
def test_why_a_file_cant_serve(case: str) -> None:
    text, words = CASES[case]
    found = examine_run(question(text))
    assert isinstance(found, Unusable)
    assert words in found.reason
    assert "\n" not in found.reason


RECORDINGS = Path(__file__).parents[3] / "shared" / "data" / "openml" / "runs"


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings aren't beside the project")
@pytest.mark.parametrize("run", [219, 221])
def test_recorded_confidences_give_the_servers_auc(run: int) -> None:
    folder = RECORDINGS / str(run)
    root = ElementTree.fromstring((folder / "run.xml").read_bytes().rstrip(b"\0"))
    space = "{http://openml.org/openml}"
    served = next(
        float(one.findtext(f"{space}value") or "nan")
        for one in root.iter(f"{space}evaluation")
        if one.findtext(f"{space}name") == "area_under_roc_curve" and "fold" not in one.attrib
    )
    columns = parse_arff((folder / "predictions.arff").read_text()).columns
    truth = np.array(columns["truth"].to_pylist())
    classes = sorted(set(truth))
    total = 0.0
    for label in classes:
        confidences = columns[f"confidence.{label}"].to_numpy()
        total += roc_auc_score(truth == label, confidences) * np.mean(truth == label)
    assert total == pytest.approx(served, abs=1e-5)
