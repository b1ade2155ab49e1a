"""Metatasks from a server that replays iris, adds made runs and fails on demand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from openml_server import BUSY, CUT, DATABASE, RECORDED, MadeRun, OpenmlServer, predictions_arff

from runner.engine import InProcess
from runner.errors import InputError
from runner.metatask import files
from runner.metatask.openml_build import Builder, Built, Failed, Wish, known
from runner.metatask.openml_journal import Journal
from runner.metatask.openml_selection import Selection, flow_family
from runner.metatask.specification import (
    Specification,
    read_specification,
    write_specification,
)
from runner.openml import Archive, Pace, Server

FAST = Pace(per_second=1000, at_once=3, read_seconds=1, first_wait=0.01)
CLASSES = ("Iris-setosa", "Iris-versicolor", "Iris-virginica")
RECORDED_RUN = MadeRun(26936, 75243, 23161, 0.97, arff=None, flow_name="mlr.randomForest(1)")
ALL = ("repeat", "fold", "row_id", "prediction", "correct", "confidences")


def recorded_folds() -> np.ndarray:
    """The fold of each row of iris, read line by line."""
    folds = np.full(150, -1)
    for line in (RECORDED / "tasks" / "59" / "datasplits.arff").read_text().splitlines():
        if line.startswith("TEST"):
            _, row, _, fold = line.split(",")
            folds[int(float(row))] = int(float(fold))
    return folds


def recorded_labels() -> np.ndarray:
    """The class of each row of iris, read line by line."""
    text = (RECORDED / "datasets" / "61" / "dataset.arff").read_text()
    rows = [line for line in text.split("@DATA")[1].splitlines() if "," in line]
    return np.array([CLASSES.index(line.split(",")[-1]) for line in rows])


FOLDS = recorded_folds()
LABELS = recorded_labels()


def made_predictions(
    wrong: Sequence[int] = (),
    *,
    columns: Sequence[str] = ALL,
    swapped: bool = False,
    label: str | None = None,
    rows: Sequence[int] = range(150),
) -> str:
    """A model's file: right with .8 but for the ``wrong`` rows, where it takes the next class."""
    lines = []
    for row in sorted(rows, key=lambda row: (FOLDS[row], -row)):
        predicted = (LABELS[row] + (row in wrong)) % 3
        confidences = [0.8 if index == predicted else 0.1 for index in range(3)]
        texts = [label or CLASSES[predicted], CLASSES[LABELS[row]]]
        prediction, truth = reversed(texts) if swapped else texts
        lines.append((int(FOLDS[row]), row, prediction, truth, confidences))
    classes = CLASSES if label is None else (*CLASSES, label)
    return predictions_arff(
        classes,
        [(f, r, p, t, (*c, 0.0)[: len(classes)]) for f, r, p, t, c in lines],
        columns=columns,
    )


def made_run(number: int, value: float, arff: str | None, **keys: object) -> MadeRun:
    return MadeRun(number, number + 100, number + 200, value, arff, **keys)  # type: ignore[arg-type]


class Watcher:
    def __init__(self) -> None:
        self.messages: list[str] = []
        self.wanted = self.done = 0

    def expect(self, runs: int) -> None:
        self.wanted += runs

    def ready(self) -> None:
        self.done += 1

    def message(self, text: str) -> None:
        self.messages.append(text)


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


def builder(
    server: OpenmlServer, folder: Path, watcher: Watcher, page: int = 1000, **choice: object
) -> Builder:
    archive = Archive(folder / "cache", Server(server.url, pace=FAST, attempts=3))
    selection = Selection(**choice)  # type: ignore[arg-type]
    journal = Journal(folder / "out", archive, page)
    return Builder(journal, selection, folder / "out", InProcess(), watcher, at_once=3)


def built(outcomes: object) -> Built:
    (one,) = outcomes  # type: ignore[misc]
    assert isinstance(one, Built), one
    return one


def failure(outcomes: object) -> str:
    (one,) = outcomes  # type: ignore[misc]
    assert isinstance(one, Failed)
    assert "\n" not in str(one.error)
    return str(one.error)


def test_the_recorded_run(openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher) -> None:
    openml_server.runs = [RECORDED_RUN]
    one = built(builder(openml_server, tmp_path, watcher).build([Wish(59)]))
    metatask = files.read(one.path)
    assert watcher.messages == ["task 59: 1 of 50 models, as there are no more runs"]
    assert (metatask.dataset, metatask.target, metatask.classes) == ("iris", "class", CLASSES)
    np.testing.assert_array_equal(metatask.labels, LABELS)
    np.testing.assert_array_equal(metatask.folds, FOLDS)
    (model,) = metatask.models
    assert model.name == "prediction_flow_75243_run_26936"
    assert model.origin == {"flow": 75243, "run": 26936, "setup": 23161, "score": 0.97}
    # The file itself, line by line.
    text = (RECORDED / "runs" / "26936" / "predictions.arff").read_text()
    for line in text.split("@data")[1].strip().splitlines():
        _, _, row, prediction, _, *confidences = line.split(",")
        place = int(row)
        assert CLASSES[metatask.tested.predictions[0, place]] == prediction.strip('"')
        assert metatask.tested.confidences[0, place].tolist() == [float(c) for c in confidences]
    assert metatask.features.num_rows == 150
    assert metatask.categorical == ()


def test_the_best_configurations_each_once(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher
) -> None:
    # The second is the first one's configuration again, the fourth beyond the three wanted.
    openml_server.runs = [
        MadeRun(1, 10, 100, 0.9, made_predictions([1])),
        MadeRun(2, 10, 100, 0.8, made_predictions([2])),
        MadeRun(3, 10, 101, 0.8, made_predictions([3])),
        MadeRun(4, 11, 102, 0.7, made_predictions([4])),
        MadeRun(5, 11, 103, 0.6, made_predictions([5])),
    ]
    one = built(builder(openml_server, tmp_path, watcher, page=2, top=3).build([Wish(59)]))
    assert [candidate.run for candidate in one.models] == [1, 3, 4]
    metatask = files.read(one.path)
    for index, row in enumerate([1, 3, 4]):
        wrong = np.flatnonzero(metatask.tested.predictions[index] != LABELS)
        assert wrong.tolist() == [row]
    # No page and no run was asked for that isn't needed.
    assert len(openml_server.asked("evaluation/list")) == 2
    assert not openml_server.asked("run/(2|5)$")


def test_the_best_of_each_flow_with_near_equal_names_merged(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher
) -> None:
    names = [
        "sklearn.svm.classes.SVC(1)",
        "sklearn.svm._classes.SVC(12)",
        "mlr.classif.svm(2)",
        "mlr.classif.ranger(2)",
    ]
    openml_server.runs = [
        MadeRun(number, 10 + number, 100 + number, 0.9, made_predictions(), flow_name=name)
        for number, name in enumerate(names)
    ]
    one = built(builder(openml_server, tmp_path, watcher, per_flow=True).build([Wish(59)]))
    assert [candidate.run for candidate in one.models] == [0, 2, 3]


def test_flow_families() -> None:
    old = "sklearn.pipeline.Pipeline(a=sklearn.ensemble.forest.RandomForestClassifier)(3)"
    new = "sklearn.pipeline.Pipeline(a=sklearn.ensemble._forest.RandomForestClassifier)(1)"
    other = "sklearn.pipeline.Pipeline(a=sklearn.ensemble._forest.ExtraTreesClassifier)(1)"
    assert flow_family(old) == flow_family(new) != flow_family(other)
    assert flow_family("weka.J48(1)") != flow_family("weka.J4(1)")


@pytest.mark.parametrize(
    "columns",
    [
        ("repeat", "fold", "sample", "row_id", "confidences", "prediction", "correct"),
        ("repeat", "fold", "row_id", "prediction", "truth", "confidences"),
        ("row_id", "prediction", "confidences"),
    ],
)
def test_every_known_format_gives_the_same(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher, columns: Sequence[str]
) -> None:
    openml_server.runs = [
        made_run(1, 0.9, made_predictions([7, 70])),
        made_run(2, 0.9, made_predictions([7, 70], columns=columns)),
    ]
    metatask = files.read(built(builder(openml_server, tmp_path, watcher).build([Wish(59)])).path)
    assert not metatask.models[1].findings
    np.testing.assert_array_equal(*metatask.tested.predictions)
    np.testing.assert_array_equal(*metatask.tested.confidences)


def test_swapped_columns_are_put_right_and_missing_confidences_told(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher
) -> None:
    openml_server.runs = [
        made_run(1, 0.9, made_predictions([7, 70], swapped=True)),
        made_run(2, 0.9, made_predictions([7], columns=ALL[:-1])),
    ]
    metatask = files.read(built(builder(openml_server, tmp_path, watcher).build([Wish(59)])).path)
    swapped, without = metatask.models
    assert [finding.kind for finding in swapped.findings] == ["swapped"]
    assert np.flatnonzero(metatask.tested.predictions[0] != LABELS).tolist() == [7, 70]
    assert [finding.kind for finding in without.findings] == ["no confidences"]
    np.testing.assert_array_equal(metatask.tested.confidences[1].max(axis=1), 1)


def test_what_cant_serve_is_named_and_the_next_best_taken(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher
) -> None:
    openml_server.runs = [
        made_run(1, 0.99, None),
        made_run(2, 0.98, made_predictions(label="Iris-nova")),
        made_run(3, 0.97, made_predictions(rows=range(149))),
        made_run(4, 0.96, "<html>not found</html>"),
        made_run(5, 0.95, made_predictions(columns=("fold", "row_id", "correct"))),
        made_run(6, 0.94, made_predictions([1])),
        made_run(7, 0.93, made_predictions([2])),
    ]
    one = built(builder(openml_server, tmp_path, watcher, top=2).build([Wish(59)]))
    assert [candidate.run for candidate in one.models] == [6, 7]
    reasons = {int(name.rpartition("_")[2]): reason for name, reason in one.dropped.items()}
    assert "no predictions" in reasons[1]
    assert "'Iris-nova'" in reasons[2]
    assert "lacks 1 of 150 rows" in reasons[3]
    assert "no ARFF" in reasons[4]
    assert "'prediction'" in reasons[5]
    assert [text for text in watcher.messages if "left out" not in text] == []
    assert len(watcher.messages) == 5
    assert watcher.done == watcher.wanted
    assert files.read(one.path).constraints["dropped"] == dict(one.dropped)


@pytest.mark.parametrize("fault", [BUSY, DATABASE, CUT])
def test_faults_of_the_server_change_nothing(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher, fault: str
) -> None:
    openml_server.runs = [made_run(n, 0.9, made_predictions([n])) for n in range(1, 4)]
    openml_server.fail("evaluation/list", fault, times=2)
    openml_server.fail("run/2", fault, times=2)
    openml_server.fail("made/3", fault, times=2)
    one = built(builder(openml_server, tmp_path, watcher).build([Wish(59)]))
    assert [candidate.run for candidate in one.models] == [1, 2, 3]
    assert not one.dropped


def test_one_that_is_out_of_reach_is_left_out_many_stop_the_build(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher
) -> None:
    openml_server.runs = [made_run(n, 0.9, made_predictions([n])) for n in range(1, 7)]
    openml_server.fail("made/2/", BUSY, times=99)
    one = built(builder(openml_server, tmp_path / "one", watcher, top=3).build([Wish(59)]))
    assert [candidate.run for candidate in one.models] == [1, 3, 4]
    openml_server.fail("made/", BUSY, times=99)
    text = failure(builder(openml_server, tmp_path / "two", watcher).build([Wish(59)]))
    assert "can't be reached" in text


def test_a_task_without_runs(openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher) -> None:
    text = failure(builder(openml_server, tmp_path, watcher).build([Wish(59)]))
    assert "no run of task 59 with area_under_roc_curve" in text


def test_a_task_whose_runs_cant_serve(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher
) -> None:
    openml_server.runs = [made_run(1, 0.9, None)]
    text = failure(builder(openml_server, tmp_path, watcher).build([Wish(59)]))
    assert "none of 1 runs can serve" in text


def test_a_missing_fold(openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher) -> None:
    openml_server.runs = [made_run(1, 0.9, made_predictions())]
    own = builder(openml_server, tmp_path, watcher)
    path = own._archive.task(59).splits
    assert path is not None
    lines = path.read_text().splitlines()
    path.write_text("\n".join(one for one in lines if not one.startswith("TEST") or one[-1] != "4"))
    assert "fold 4 of folds 0 to 9 tests no row" in failure(own.build([Wish(59)]))


def test_a_failed_task_doesnt_stop_the_others(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher
) -> None:
    openml_server.runs = [made_run(1, 0.9, made_predictions())]
    outcomes = list(builder(openml_server, tmp_path, watcher).build([Wish(4711), Wish(59)]))
    assert {type(one): one.task for one in outcomes} == {Failed: 4711, Built: 59}


def test_nothing_is_asked_twice(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher
) -> None:
    openml_server.runs = [
        made_run(1, 0.9, None),
        *(made_run(n, 0.8, made_predictions([n])) for n in range(2, 6)),
    ]
    first = built(builder(openml_server, tmp_path, watcher, top=3).build([Wish(59)]))
    asked = list(openml_server.requests)
    first.path.unlink()
    again = built(builder(openml_server, tmp_path, watcher, top=3).build([Wish(59)]))
    assert again == first
    assert openml_server.requests == asked
    assert len(set(asked)) == len(asked)


def test_what_is_there_is_known_if_the_same_is_asked_for(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher
) -> None:
    openml_server.runs = [made_run(n, 0.9, made_predictions([n])) for n in range(1, 4)]
    one = built(builder(openml_server, tmp_path, watcher, top=2).build([Wish(59)]))
    output = tmp_path / "out"
    found = known(Wish(59), Selection(top=2), output)
    assert found is not None
    assert not found.fresh
    assert found.models == one.models
    assert known(Wish(59, one.models), Selection(), output) is not None
    assert known(Wish(59, one.models[:1]), Selection(), output) is None
    assert known(Wish(59), Selection(top=3), output) is None


def test_a_specification_builds_the_same_again(
    openml_server: OpenmlServer, tmp_path: Path, watcher: Watcher
) -> None:
    openml_server.runs = [made_run(n, 0.9, made_predictions([n])) for n in range(1, 4)]
    one = built(builder(openml_server, tmp_path / "one", watcher, top=2).build([Wish(59)]))
    path = tmp_path / "specification.json"
    write_specification(Specification({59: one.models}, "area_under_roc_curve"), path)
    read = read_specification(path)
    wishes = [Wish(task, runs) for task, runs in read.tasks.items()]
    other = built(builder(openml_server, tmp_path / "two", watcher).build(wishes))
    assert files.read(other.path).models[0].description == "weka.Made"
    first, second = files.read(one.path), files.read(other.path)
    assert [model.name for model in first.models] == [model.name for model in second.models]
    np.testing.assert_array_equal(first.tested.confidences, second.tested.confidences)


PAPER = Path(__file__).parents[3] / "shared" / "data" / "assembled"


@pytest.mark.skipif(not PAPER.is_dir(), reason="the paper's files aren't beside the project")
def test_the_papers_specification() -> None:
    read = read_specification(PAPER / "paper_benchmark_details.json")
    assert len(read.tasks) == 31
    assert sum(map(len, read.tasks.values())) == 1523
    assert read.metric == "area_under_roc_curve"
    assert read.tasks[3913][0].name == "prediction_flow_6767_run_2902533"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", ["specification.json:1", "no JSON"]),
        ("{}", ["task_ids_to_valid_predictors"]),
        ('{"task_ids_to_valid_predictors": {"59": []}}', ["task 59", "no list"]),
        ('{"task_ids_to_valid_predictors": {"59": ["svm"]}}', ["task 59", "'svm'"]),
        ('{"task_ids_to_valid_predictors": {"x": ["prediction_flow_1_run_1"]}}', ["'x'"]),
        (
            '{"valid_task_ids": [3], "task_ids_to_valid_predictors": '
            '{"59": ["prediction_flow_1_run_1"]}}',
            ["task 3"],
        ),
    ],
)
def test_a_wrong_specification(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "specification.json"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_specification(path)
    for word in words:
        assert word in str(error.value)


class TestCommand:
    """The command itself, with a Ray of its own, killed on the way."""

    def environment(self, server: OpenmlServer, folder: Path) -> dict[str, str]:
        return {
            **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            "OPENML_SERVER": server.url,
            "OPENML_CACHE_DIR": str(folder / "cache"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }

    def test_a_killed_build_resumes_and_asks_nothing_twice(
        self, openml_server: OpenmlServer, tmp_path: Path
    ) -> None:
        openml_server.runs = [
            RECORDED_RUN,
            *(made_run(n, 0.9, made_predictions([n])) for n in range(1, 13)),
        ]
        openml_server.suites = {"99": [59]}
        openml_server.fail("made/3/", CUT)
        openml_server.fail("run/4$", BUSY)
        command = [
            *(sys.executable, "-m", "runner", "metatask", "build", "--openml-suite", "99"),
            *("--output", str(tmp_path / "out"), "--per-second", "4", "--json"),
        ]
        environment = self.environment(openml_server, tmp_path)
        first = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 120
            while len(openml_server.answered) < 15 and time.monotonic() < deadline:
                time.sleep(0.01)
            # Less than the quarter of a second after which the next request comes.
            time.sleep(0.1)
        finally:
            first.send_signal(signal.SIGKILL)
            first.wait()
        assert not (tmp_path / "out" / "metatask_59.arrow").exists()
        command[command.index("--per-second") + 1] = "1000"
        again = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert again.returncode == 0, again.stderr
        document = json.loads(again.stdout)
        assert len(document["built"][0]["models"]) == 13
        answered = openml_server.answered
        assert [path for path in set(answered) if answered.count(path) > 1] == []
        requests = len(openml_server.requests)
        third = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert json.loads(third.stdout)["built"][0]["reused"]
        assert len(openml_server.requests) == requests

    @pytest.mark.slow
    def test_an_interrupted_build_says_how_to_go_on(
        self, openml_server: OpenmlServer, tmp_path: Path
    ) -> None:
        openml_server.runs = [made_run(n, 0.9, made_predictions([n])) for n in range(1, 41)]
        openml_server.delay = 0.2
        output = str(tmp_path / "out")
        command = ["metatask", "build", "--openml-task", "59", "--output", output]
        process = subprocess.Popen(
            [sys.executable, "-m", "runner", *command],
            env=self.environment(openml_server, tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 120
        while len(openml_server.answered) < 12 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert out == ""
        # Nothing of Ray's is among them.
        assert [line for line in err.splitlines() if line] == [
            "1 metatask to build",
            "interrupted: 0 of 1 are done",
            f"resume with: runner {' '.join(command)}",
        ]
