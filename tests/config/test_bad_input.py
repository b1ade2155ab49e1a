"""Every wrong study gets one line that names the file, the line and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.config import load_study, load_tasks
from runner.errors import InputError

GOOD = """\
kind: sweep
name: study
tasks:
  - sklearn: breast_cancer
  - file: good.csv
    name: mine
    target: y
    positive: yes
systems:
  - C-LR
  - C-BDT:
      leaves: [2, 8]
      trees: [100]
sandbox:
  cpus: 2
  memory: 2GB
  seconds: 60
threads: 1
folds: 2
holdout: 0.2
"""
GOOD_CSV = "x,y\n" + "".join(f"{i},{'yes' if i % 3 else 'no'}\n" for i in range(30))


def complaint(folder: Path, text: str | bytes, *, csv: str = GOOD_CSV) -> tuple[int | None, str]:
    """The line and the message with which a study is refused."""
    (folder / "good.csv").write_text(csv)
    path = folder / "study.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        load_tasks(load_study(path))
    error = caught.value
    assert error.file == path
    assert "\n" not in str(error)
    assert error.exit_status == 2
    return error.line, error.message


def test_the_study_that_the_cases_start_from_is_right(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text(GOOD_CSV)
    path = tmp_path / "study.yaml"
    path.write_text(GOOD)
    tasks, splits = load_tasks(load_study(path))
    assert [task.name for task in tasks] == ["breast_cancer", "mine"]
    assert len(splits) == 2


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        # unknown keys, systems, parameters and sources
        ("folds: 2", "fold: 2", 19, ["unknown key 'fold'", "'folds'"]),
        ("  cpus: 2", "  cpu: 2", 15, ["unknown key 'cpu'", "'cpus'"]),
        ("    target: y", "    taget: y", 7, ["unknown key 'taget'", "'target'"]),
        ("threads: 1", "zzz: 1", 18, ["unknown key 'zzz'", "'kind'", "'seed'"]),
        ("  - sklearn: ", "  - sklaern: ", 4, ["unknown source 'sklaern'", "'sklearn'"]),
        ("  - sklearn: breast_cancer", "  - web: 31", 4, ["'openml'", "'file'", "'sklearn'"]),
        ("  - sklearn: breast_cancer", "  - name: x", 4, ["source"]),
        ("  - sklearn: breast_cancer", "  - breast_cancer", 4, ["`sklearn: NAME`"]),
        ("    name: mine", "    sklearn: iris", 6, ["not by both"]),
        ("    name: mine", "    submission: [Id, p]", 6, ["a `test` file without labels"]),
        ("    name: mine", "    submission: [Id]", 6, ["submission must be two different names"]),
        ("    name: mine", "    submission: [p, p]", 6, ["submission must be two different names"]),
        ("    name: mine", f"    name: {'x' * 101}", 6, ["101 characters; 100 are the most"]),
        ("    name: mine", "    id:", 6, ["key 'id' has no value"]),
        ("breast_cancer", "breast_cancr", 4, ["'breast_cancr'", "'breast_cancer'"]),
        ("  - C-LR", "  - C-RL", 10, ["'C-RL'", "'C-LR'"]),
        ("  - C-BDT:", "  - C-BTD:", 11, ["'C-BTD'", "'C-BDT'"]),
        ("leaves", "leafs", 12, ["'leafs'", "'leaves'"]),
        # grid values
        ("[2, 8]", "[2, 1]", 12, ["leaves must be", "not 1"]),
        ("[2, 8]", "[2, 8.5]", 12, ["leaves must be a whole number", "8.5"]),
        ("[2, 8]", "[2, true]", 12, ["leaves must be a whole number", "true"]),
        ("[2, 8]", "\n        - 2\n        - x", 14, ["leaves must be", "'x'"]),
        ("[2, 8]", "[2, 2]", 12, ["twice"]),
        ("[2, 8]", "[]", 12, ["no values"]),
        ("[2, 8]", "8", 12, ["leaves must be a list", "not 8"]),
        ("  - C-LR", "  - C-LR: [1]", 10, ["C-LR takes parameters", "whole grid"]),
        ("  - C-LR", "  - C-LR:", 10, ["C-LR takes parameters", "whole grid"]),
        ("  - C-LR", "  - 5", 10, ["a system is a name"]),
        ("  - C-LR", "  - C-BDT", 11, ["'C-BDT' stands twice"]),
        # wrong types and ranges
        ("kind: sweep", "kind: swep", 1, ["kind must be 'sweep'", "'swep'"]),
        ("name: study", "name: 5", 2, ["name must be text", "5"]),
        ("name: study", "name: ../study", 2, ["name may hold", "'../study'"]),
        ("folds: 2", "folds: two", 19, ["folds must be a whole number", "'two'"]),
        ("folds: 2", "folds: 1", 19, ["folds must be at least 2", "1"]),
        ("folds: 2", "folds: true", 19, ["folds must be a whole number", "true"]),
        ("folds: 2", "folds: 2.5", 19, ["folds must be a whole number", "2.5"]),
        ("holdout: 0.2", "holdout: 1.0", 20, ["holdout must be below 0.9", "1.0"]),
        ("holdout: 0.2", "holdout: 0", 20, ["holdout must be above 0"]),
        ("holdout: 0.2", "seed: -1", 20, ["seed must be at least 0", "-1"]),
        ("holdout: 0.2", "share_fits: 1", 20, ["share_fits must be true or false", "1"]),
        ("holdout: 0.2", "timing: exclusve", 20, ["'packed' or 'exclusive'", "did you mean"]),
        ("holdout: 0.2", "timing: fast", 20, ["'packed' or 'exclusive', not 'fast'"]),
        ("holdout: 0.2", "seed: 4294967296", 20, ["seed must be below 4294967296, not"]),
        ("holdout: 0.2", "timing: 3", 20, ["timing must be 'packed' or 'exclusive', not 3"]),
        ("holdout: 0.2", "repeats: 0", 20, ["repeats must be at least 1"]),
        ("holdout: 0.2", "repeats: 2.5", 20, ["repeats must be a whole number", "2.5"]),
        ("  cpus: 2", "  cpu_seconds: 0", 15, ["cpu_seconds must be above 0"]),
        ("  cpus: 2", "  cpu_seconds: 1 h", 15, ["cpu_seconds must be a number", "'1 h'"]),
        ("  cpus: 2", "  processes: 0", 15, ["processes must be at least 1"]),
        ("  cpus: 2", "  processes: many", 15, ["processes must be a whole number", "'many'"]),
        ("  cpus: 2", "  processes:", 15, ["processes must be", "nothing"]),
        ("  cpus: 2", "  file_size: large", 15, ["file_size must be a size", "'large'"]),
        ("  cpus: 2", "  file_size: 0", 15, ["file_size must be a size", "0"]),
        ("  cpus: 2", "  open_files: 9", 15, ["unknown key 'open_files'", "'processes'"]),
        ("threads: 1", "threads: 3", 18, ["threads must be at most", "(2)"]),
        ("  cpus: 2", "  cpus: 0", 15, ["cpus must be at least 1"]),
        ("  seconds: 60", "  seconds: .inf", 17, ["seconds must be a finite number"]),
        ("  seconds: 60", "  seconds: 1 h", 17, ["seconds must be a number", "'1 h'"]),
        ("memory: 2GB", "memory: 2 gigs", 16, ["memory must be a size such as 2GB", "2 gigs"]),
        ("memory: 2GB", "memory: 2", 16, ["memory of 2 bytes", "2GB"]),
        ("memory: 2GB", "memory: 1MB", 16, ["memory of 1,000,000 bytes", "7 MiB"]),
        ("memory: 2GB", "memory: true", 16, ["memory must be a size"]),
        ("    target: y", "    target: 5", 7, ["target must be text", "5"]),
        ("    target: y", "    target:", 7, ["key 'target' has no value"]),
        ("    positive: yes", "    positive:", 8, ["key 'positive' has no value"]),
        ("    positive: yes", "    positive: [a]", 8, ["positive must be text, not a list"]),
        ("threads: 1", "predictions:", 18, ["key 'predictions' has no value"]),
        ("  cpus: 2", "  cpus:", 15, ["cpus must be a whole number, not nothing"]),
        # missing things
        ("    target: y\n", "", 5, ["key 'target' is missing"]),
        ("name: study\n", "", 1, ["key 'name' is missing"]),
        ("good.csv", "god.csv", 5, ["god.csv", "'good.csv'"]),
        ("good.csv", "good.txt", 5, ["good.txt"]),
        ("    target: y", "    target: Y", 7, ["no column 'Y'", "'y'"]),
        ("positive: yes", "positive: yess", 8, ["no class 'yess'", "'yes'"]),
        ("positive: yes", "test: none.csv", 8, ["none.csv"]),
        # things given twice
        ("name: mine", "name: breast_cancer", 5, ["two tasks are named 'breast_cancer'"]),
        ("threads: 1", "name: other", 18, ["'name' stands twice", "line 2"]),
        # YAML itself
        ("folds: 2", "folds: [2", 20, ["not valid YAML"]),
        ("folds: 2", "\tfolds: 2", 19, ["not valid YAML"]),
        ("folds: 2", "? [a, b]\n: 2", 19, ["a key must be text"]),
        ("folds: 2", "folds: !!int two", 19, ["'two'", "int"]),
        ("folds: 2", "folds: &a [*a]", 1, ["nested without end"]),
    ],
)
def test_one_thing_wrong(tmp_path: Path, old: str, new: str, line: int, words: list[str]) -> None:
    assert GOOD.count(old) == 1
    found, message = complaint(tmp_path, GOOD.replace(old, new))
    assert found == line, message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        ("# nothing\n", ["empty"]),
        ("- kind: sweep\n", ["keys and values", "a list"]),
        ("sweep\n", ["keys and values", "'sweep'"]),
        (b"kind: sweep\nname: \xff\n", ["UTF-8"]),
        ("kind: sweep\n---\nkind: sweep\n", ["a second document begins here"]),
        ("kind: sweep\nname: a\x00b\n", ["not valid YAML"]),
    ],
)
def test_no_study_at_all(tmp_path: Path, text: str | bytes, words: list[str]) -> None:
    _, message = complaint(tmp_path, text)
    for word in words:
        assert word in message


def test_empty_lists(tmp_path: Path) -> None:
    text = "kind: sweep\nname: a\ntasks: []\nsystems: [C-LR]\n"
    assert complaint(tmp_path, text) == (3, "tasks is empty; give at least one")


def test_a_misspelt_key_is_told_before_the_missing_one(tmp_path: Path) -> None:
    line, message = complaint(tmp_path, GOOD.replace("tasks:", "taks:"))
    assert (line, "'tasks'" in message) == (3, True)


def test_the_first_of_several_by_line(tmp_path: Path) -> None:
    text = GOOD.replace("folds: 2", "folds: 0").replace("leaves", "leafs")
    assert complaint(tmp_path, text)[0] == 12


def test_a_missing_study_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(GOOD)
    with pytest.raises(InputError, match=r"did you mean 'study\.yaml'"):
        load_study(tmp_path / "stduy.yaml")
    with pytest.raises(InputError, match="no such file"):
        load_study(tmp_path / "nowhere" / "study.yaml")


def test_a_folder_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder"):
        load_study(tmp_path)


@pytest.mark.parametrize(
    ("csv", "line", "words"),
    [
        ("x,y\n1,yes\n2,yes\n", 7, ["'yes' in every row"]),
        ("x,y\n1,yes\n2,\n", 7, ["missing in 1 of 2"]),
        ("x,x,y\n1,2,yes\n", 5, ["'x' stands 2 times"]),
        ("x,y\n1\n", 5, ["Expected 2 columns"]),
        ("x;y\n1;2\n", 7, ["commas"]),
        ("x,y\n" + "1,yes\n" * 20 + "1,no\n" * 2, 7, ["class 'no' has 2", "than the 3 folds"]),
    ],
)
def test_what_is_wrong_with_a_task_is_traced_to_its_key(
    tmp_path: Path, csv: str, line: int, words: list[str]
) -> None:
    found, message = complaint(tmp_path, GOOD.replace("folds: 2", "folds: 3"), csv=csv)
    assert found == line, message
    for word in words:
        assert word in message


def test_several_classes_ask_for_the_positive_one(tmp_path: Path) -> None:
    text = GOOD.replace("breast_cancer", "iris")
    line, message = complaint(tmp_path, text)
    assert line == 4
    assert "`positive:`" in message


def test_a_test_file_of_other_columns(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("z,y\n1,yes\n2,no\n")
    text = GOOD.replace("positive: yes", "test: test.csv")
    line, message = complaint(tmp_path, text)
    assert line == 8
    assert "no column 'x'" in message


def test_a_categorical_column_that_is_not_there(tmp_path: Path) -> None:
    text = GOOD.replace("    target: y\n", "    target: y\n    categorical: [X]\n")
    line, message = complaint(tmp_path, text)
    assert line == 8
    assert "'X'" in message
    assert "'x'" in message


def test_the_same_data_twice(tmp_path: Path) -> None:
    text = GOOD.replace(
        "systems:", "  - {file: good.csv, name: again, target: y, positive: yes}\nsystems:"
    )
    line, message = complaint(tmp_path, text)
    assert line == 9
    assert "'mine'" in message
    assert "'again'" in message


def test_a_few_aliases_that_stand_for_billions_of_values(tmp_path: Path) -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    _, message = complaint(tmp_path, bomb)
    assert "aliases" in message


def test_a_size_beyond_all_machines(tmp_path: Path) -> None:
    line, message = complaint(tmp_path, GOOD.replace("2GB", "1" + "0" * 400 + "GB"))
    assert line == 16
    assert "2GB" in message
