from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config import SweepStudy, load_study, load_tasks, located
from runner.config.schema import memory_bytes
from runner.data import BundledSource, FileSource, TaskError
from runner.errors import InputError
from runner.models import family

StudyOf = Callable[[str], SweepStudy]

SMALL = "kind: sweep\nname: small\ntasks:\n  - sklearn: breast_cancer\nsystems:\n  - C-LR\n"


@pytest.fixture
def study_of(tmp_path: Path) -> StudyOf:
    def make(text: str) -> SweepStudy:
        path = tmp_path / "study.yaml"
        path.write_text(text)
        return load_study(path)

    return make


def test_defaults(study_of: StudyOf) -> None:
    study = study_of(SMALL)
    assert (study.name, study.folds, study.holdout, study.seed) == ("small", 5, 0.2, 0)
    assert (study.sandbox.cpus, study.sandbox.memory) == (1, 2 * 10**9)
    assert study.sandbox.seconds == 3600
    assert (study.sandbox.cpu_seconds, study.sandbox.processes) == (None, None)
    assert study.sandbox.file_size is None
    assert (study.threads, study.timing, study.repeats) == (1, "packed", 1)
    assert (study.share_fits, study.predictions) == (True, False)
    assert study.text == SMALL
    assert study.tasks[0].source == BundledSource("breast_cancer")


def test_timing_repeats_and_limits(study_of: StudyOf) -> None:
    study = study_of(
        SMALL + "timing: exclusive\nrepeats: 3\n"
        "sandbox: {seconds: 9, cpu_seconds: 20, processes: 64, file_size: 1.5GiB}\n"
    )
    assert (study.timing, study.repeats) == ("exclusive", 3)
    box = study.sandbox
    assert (box.seconds, box.cpu_seconds, box.processes) == (9.0, 20.0, 64)
    assert box.file_size == 3 * 2**29


def test_a_name_alone_is_the_whole_grid(study_of: StudyOf) -> None:
    study = study_of(SMALL + "  - C-BDT\n")
    assert [(s.name, len(s.configurations)) for s in study.systems] == [
        ("C-LR", 72),
        ("C-BDT", 180),
    ]


def test_named_parameters_replace_their_sweep(study_of: StudyOf) -> None:
    study = study_of(SMALL + "  - C-BDT: {leaves: [8], trees: [100]}\n")
    chosen = dict(study.systems[1].configurations)
    full = dict(family("C-BDT").configurations())
    assert len(chosen) == 15
    for number, configuration in chosen.items():
        assert configuration == full[number]
        assert (configuration["leaves"], configuration["trees"]) == (8, 100)


def test_a_number_with_an_exponent_is_a_number(study_of: StudyOf) -> None:
    study = study_of(SMALL.replace("C-LR", "C-LR: {tolerance: [1e-5, 1E-4], l1: [1]}"))
    configurations = [c for _, c in study.systems[0].configurations]
    assert {c["tolerance"] for c in configurations} == {1e-5, 1e-4}
    assert all(isinstance(c["l1"], float) for c in configurations)


def test_paths_are_relative_to_the_study(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    (tmp_path / "data.v2.csv").write_text("x,y\n" + "1,a\n2,b\n" * 20)
    path = tmp_path / "studies" / "s.yaml"
    path.write_text(
        "kind: sweep\nname: s\ntasks:\n"
        "  - {file: ../data.v2.csv, target: y}\n"
        f"  - {{file: {tmp_path}/data.v2.csv, target: y, positive: a, name: other}}\n"
        "systems: [C-LR]\n"
    )
    study = load_study(path)
    assert [task.name for task in study.tasks] == ["data.v2", "other"]
    tasks, splits = load_tasks(study)
    assert (tasks[0].y != tasks[1].y).all()
    assert len(splits[0].train_rows) == 32


def test_the_stem_of_a_compressed_file(study_of: StudyOf) -> None:
    study = study_of(SMALL.replace("sklearn: breast_cancer", "{file: a/train.csv.gz, target: y}"))
    assert study.tasks[0].name == "train"


@pytest.mark.parametrize("written", ["1", "1.0", "true", "True", "yes", "'01'", "NA", "2020-01-01"])
def test_the_positive_class_is_the_text_as_written(study_of: StudyOf, written: str) -> None:
    task = f"{{file: a.csv, target: y, positive: {written}}}"
    study = study_of(SMALL.replace("sklearn: breast_cancer", task))
    source = study.tasks[0].source
    assert isinstance(source, FileSource)
    assert source.positive == written.strip("'")


def test_lines(study_of: StudyOf) -> None:
    study = study_of(SMALL)
    assert study.line("tasks", 0, "sklearn") == 4
    assert study.line("tasks", 0, "positive") == 4
    assert study.line("tasks", 7) == 3
    assert study.line("systems", 0) == 6
    assert study.line("folds") == 1


def test_a_tasks_error_names_the_line_of_its_key(study_of: StudyOf) -> None:
    study = study_of(SMALL)
    with pytest.raises(InputError) as caught, located(study, 0):
        raise TaskError("wrong", key="sklearn")
    assert (caught.value.file, caught.value.line) == (study.path, 4)


def test_quickstart_is_a_right_study() -> None:
    study = load_study(Path(__file__).parents[2] / "configs" / "quickstart.yaml")
    assert study.name == "quickstart"
    assert [len(system.configurations) for system in study.systems] == [180, 72]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("12GB", 12 * 10**9),
        ("2GiB", 2 * 2**30),
        ("500MB", 500 * 10**6),
        ("1.5 GB", 15 * 10**8),
        ("512mib", 512 * 2**20),
        (30_000_000, 30_000_000),
    ],
)
def test_memory(text: str | int, size: int) -> None:
    assert memory_bytes(text) == size


@given(st.text(max_size=12))
def test_any_other_text_is_no_size(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert memory_bytes(text) > 0


def test_the_example_of_ensembles_is_what_its_page_says() -> None:
    study = load_study(Path(__file__).parents[2] / "docs" / "example-ensembles" / "sweep.yaml")
    assert (study.predictions, study.refit, len(study.tasks)) == (True, None, 6)
    assert sum(len(system.configurations) for system in study.systems) == 57


def test_refits_are_a_number_or_all(study_of: StudyOf) -> None:
    assert study_of(SMALL).refit == 1
    assert study_of(SMALL + "refit: 20\n").refit == 20
    assert study_of(SMALL + "refit: all\n").refit is None
    for wrong in ("0", "most", "true", "2.5"):
        with pytest.raises(InputError, match=r"how many of each system's .* or all") as caught:
            study_of(SMALL + f"refit: {wrong}\n")
        assert caught.value.line == 7
