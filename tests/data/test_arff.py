"""ARFF files, against liac-arff's and SciPy's readers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import arff
import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scipy.io import arff as scipy_arff

from runner.data import FileSource, TaskError, load
from runner.data.arff import ArffError, parse_arff

IRIS = Path(__file__).parent / "openml" / "datasets" / "61" / "dataset.arff"
PREDICTIONS = Path(__file__).parent / "openml" / "runs" / "26936" / "predictions.arff"


def test_recorded_files_read_as_scipy_reads_them() -> None:
    for path in (IRIS, PREDICTIONS):
        data, meta = scipy_arff.loadarff(io.StringIO(path.read_text()))
        found = parse_arff(path.read_text()).columns
        assert len(found) == len(meta.names())
        for (name, column), other in zip(found.items(), meta.names(), strict=True):
            values = data[other]
            if values.dtype.kind == "S":
                # SciPy leaves the double quotes on.
                assert column.to_pylist() == [text.decode().strip('"') for text in values], name
            else:
                np.testing.assert_array_equal(column.to_numpy(), values)


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")))
CELLS = st.tuples(
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | TEXTS.filter(lambda text: text not in ("", "?") and text == text.strip()),
    st.none() | st.sampled_from(["a b", "None", "TRUE", "?", "it's", "x,y", "%"]),
)


@given(st.lists(CELLS, min_size=1, max_size=8))
def test_what_liac_arff_writes_is_read_back(rows: list[tuple[Any, ...]]) -> None:
    kinds: Any = ["REAL", "STRING", ["a b", "None", "TRUE", "?", "it's", "x,y", "%"]]
    names = ["a number", "text", "one of several"]
    text = arff.dumps(
        {
            "relation": "made",
            "attributes": list(zip(names, kinds, strict=True)),
            "data": [list(row) for row in rows],
        }
    )
    try:
        # It writes a ? that is a value as one that is missing.
        expected = arff.loads(text)["data"]
    except arff.ArffException:
        # Nor does it quote a brace.
        reject()
    found = parse_arff(text).columns
    assert list(found) == names
    read = zip(*(column.to_pylist() for column in found.values()), strict=True)
    assert [list(row) for row in read] == expected


HEAD = "@relation r\n@attribute n numeric\n@attribute c {TRUE, FALSE}\n@attribute s string\n@data\n"


@pytest.mark.parametrize(
    "text",
    [
        "1,TRUE,x\n?,FALSE,?\n",
        "1, TRUE, x\n?, FALSE ,?\n",
        "1,'TRUE',x\n?,'FALSE',?\n",
        '1,"TRUE",x\r\n?,"FALSE",?\r\n',
        "% a comment\n1,TRUE,x\n\n% another\n?,FALSE,?",
        "{0 1, 2 x}\n{0 ?, 1 FALSE, 2 ?}\n",
        "1,TRUE,x\n?,FALSE,?\n\0",
    ],
)
def test_all_spellings_of_the_same(text: str) -> None:
    found = parse_arff(HEAD + text).columns
    assert {name: column.to_pylist() for name, column in found.items()} == {
        "n": [1.0, None],
        "c": ["TRUE", "FALSE"],
        "s": ["x", None],
    }


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (HEAD + "1,TRUE,x\nx,TRUE,x\n", 7, "numerical"),
        (HEAD + "1,MAYBE,x\n", 6, "MAYBE"),
        (HEAD + "1,TRUE\n", 6, "1,TRUE"),
        ("@relation r\n@attribute d date\n@data\n", 2, "attribute"),
        ("a,b\n1,2\n", None, "no @data"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, line: int | None, words: str) -> None:
    with pytest.raises(ArffError) as error:
        parse_arff(text)
    assert error.value.line == line
    assert words.casefold() in str(error.value).casefold()


def made_task(folder: Path, labels: tuple[str, str]) -> Path:
    path = folder / "made.arff"
    nominal = ",".join(labels)
    rows = "".join(f"{i},{i % 3},{labels[i % 2]}\n" for i in range(20))
    path.write_text(
        f"@relation made\n@attribute n numeric\n@attribute c {{0,1,2}}\n"
        f"@attribute class {{{nominal}}}\n@data\n{rows}\0"
    )
    return path


@pytest.mark.parametrize("labels", [("None", "Some"), ("FALSE", "TRUE"), ("0", "1")])
def test_a_task_keeps_the_text_of_its_classes(tmp_path: Path, labels: tuple[str, str]) -> None:
    task = load(FileSource(made_task(tmp_path, labels), "class", labels[1]), "made")
    assert (task.negative, task.positive) == labels
    assert task.y.tolist() == [0, 1] * 10
    # Declared categories are categories, digits or not.
    assert [(column.name, column.kind) for column in task.columns] == [
        ("n", "numeric"),
        ("c", "categorical"),
    ]


def test_a_wrong_file_is_one_line(tmp_path: Path) -> None:
    path = made_task(tmp_path, ("a", "b"))
    path.write_text(path.read_text().replace("\n7,", "\nseven,"))
    with pytest.raises(TaskError, match=r"made.arff:13: invalid numerical value"):
        load(FileSource(path, "class"), "made")
