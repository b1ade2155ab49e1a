"""Tables from the data sets that scikit-learn brings along."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from runner.data.table import Table
from runner.data.task import TaskError
from runner.errors import suggestion

DATASETS = ("breast_cancer", "diabetes", "digits", "iris", "wine")
TARGET = "target"


def read_bundled(dataset: str) -> Table:
    """A bundled data set, its target under the name ``TARGET``, as text where it has names.

    Raises:
        TaskError: For a data set that scikit-learn doesn't bundle.
    """
    if dataset not in DATASETS:
        raise TaskError(
            f"scikit-learn bundles no data set {dataset!r}: {suggestion(dataset, DATASETS)}",
            key="sklearn",
        )
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{dataset}")()
    columns = {
        str(name): pa.chunked_array([np.ascontiguousarray(bunch.data[:, j], dtype=np.float64)])
        for j, name in enumerate(bunch.feature_names)
    }
    target = bunch.target
    if "target_names" in bunch:
        target = np.array([str(name) for name in bunch.target_names])[target]
    columns[TARGET] = pa.chunked_array([pa.array(target)])
    return Table(f"scikit-learn's {dataset}", "sklearn", columns)
