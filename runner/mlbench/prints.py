"""Where printed tables differ from those computed from the numbers that they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path

import pyarrow as pa

from runner.mlbench.published import Cells, read_cells
from runner.mlbench.study import Study
from runner.mlbench.tables import tables

FILES = {
    "table6": "table6_total_training_seconds.csv",
    "table7": "table7_average_training_seconds.csv",
    "table8": "table8_auc_and_rank.csv",
    "table9": "table9_capacity.csv",
    "table10": "table10_capacity_logistic_regression.csv",
    "table11": "table11_high_tolerance_auc.csv",
    "table12": "table12_gap_to_winning_code.csv",
}
"""The file of each printed table."""


@dataclass(frozen=True)
class Difference:
    """A printed cell that isn't the computed value rounded.

    Attributes:
        table: Such as ``table7``.
        row: The texts that name the row.
        printed: As it stands there.
        computed: Unrounded.
    """

    table: str
    row: str
    column: str
    printed: str
    computed: float


def differences(study: Study, folder: Path) -> list[Difference]:
    """The numeric cells of the printed tables that don't agree with the computed ones.

    Args:
        study: What :func:`runner.mlbench.published.read_published` read.
        folder: The printed tables; those that are missing from it are passed over.

    Raises:
        InputError: With file and line, for a table that can't be read.
    """
    computed = tables(study)
    return [
        difference
        for name, file in FILES.items()
        if (folder / file).exists()
        for difference in _differences(name, computed[name], folder / file)
    ]


def agrees(printed: str, value: float) -> bool:
    """Whether a value, rounded to as many decimals as are printed, is the printed one.

    Halves may have been rounded up or to the even neighbour.
    """
    text = Decimal(printed)
    # Twelve digits are what a sum of floats holds for sure.
    exact = Decimal(f"{value:.12g}")
    step = Decimal(1).scaleb(int(text.as_tuple().exponent))
    return text in {exact.quantize(step, rule) for rule in (ROUND_HALF_UP, ROUND_HALF_EVEN)}


def _differences(name: str, table: pa.Table, file: Path) -> Iterator[Difference]:
    keys = [column for column in ("platform", "model", "dataset") if column in table.column_names]
    numeric = [
        field.name
        for field in table.schema
        if pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
    ]
    found = {_key(row, keys): row for row in table.to_pylist()}
    for line in read_cells(file, keys):
        row: Mapping[str, float | None] = found.get(_key(line.cells, keys), {})
        for column in numeric:
            difference = _difference(name, line, column, keys, row.get(column))
            if difference is not None:
                yield difference


def _difference(
    name: str, line: Cells, column: str, keys: list[str], value: float | None
) -> Difference | None:
    if column not in line.cells or line.number(column) is None or value is None:
        return None
    printed = line.name(column)
    if agrees(printed, value):
        return None
    row = " ".join(cell for key in keys if (cell := line.cells[key]))
    return Difference(name, row, column, printed, value)


def _key(row: Mapping[str, object], keys: list[str]) -> tuple[str, ...]:
    return tuple(str(row[key] or "") for key in keys)
