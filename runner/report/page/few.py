"""The configurations that the page shows where a run has more than a browser bears."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MOST = 200_000
"""Configurations on a page: with them it is some 13 MB."""


def few(configurations: pa.Table, most: int = MOST) -> tuple[pa.Table, tuple[str, ...]]:
    """All configurations, or where they are too many the best of each system on each task.

    Args:
        configurations: Rows of ``CONFIGURATIONS``.
        most: More than these aren't shown, the selected ones aside.

    Returns:
        The rows, in their order, and in sentences what was left out.
    """
    if len(configurations) <= most:
        return configurations, ()
    pairs = _pairs(configurations)
    each = most // (int(pairs.max()) + 1)
    kept = (_ranks(pairs, _scores(configurations)) < each) | _selected(configurations)
    shown = configurations.filter(pa.array(kept))
    return shown, (
        f"Of {len(configurations):,} configurations this page has {len(shown):,}: of each system "
        f"on each task the best {each:,}. configurations.csv has them all.",
    )


def _pairs(configurations: pa.Table) -> np.ndarray:
    """A number for each row's task and system: 0 and up, without gaps."""
    codes = [
        configurations[name].combine_chunks().dictionary_encode().indices.to_numpy()
        for name in ("task", "system")
    ]
    return np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel()


def _scores(configurations: pa.Table) -> np.ndarray:
    scores = configurations["cv_auc"].to_numpy()
    return np.where(np.isnan(scores), -np.inf, scores)


def _selected(configurations: pa.Table) -> np.ndarray:
    selected: np.ndarray = pc.fill_null(configurations["selected"], False).to_numpy()
    return selected


def _ranks(groups: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Each row's place among its group's, the highest score first; of equal ones the first row."""
    order = np.lexsort((-scores, groups))
    ordered = groups[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(ordered)])
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(starts, sizes)
    return ranks
