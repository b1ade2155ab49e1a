"""The predictions of models that a test set has judged, kept beside its ledger for ranks.

A file a step, written before the step's line and named by what the step judged, so that a step that
a ledger holds has its file.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from runner.ci.account import Step
from runner.ci.predictions import HeldOut, Joined
from runner.errors import CannotRunError


def keep(ledger: Path, inputs: str, rows: HeldOut, joined: Joined) -> None:
    """Keep a new model's predictions."""
    path = _path(ledger, inputs)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    content = json.dumps(dict(zip(rows.ids, joined.predicted, strict=True))).encode()
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(gzip.compress(content, mtime=0))
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def with_earlier(ledger: Path, steps: Sequence[Step], rows: HeldOut, joined: Joined) -> Joined:
    """Add what the models of earlier steps predicted.

    Raises:
        CannotRunError: If a step's predictions weren't kept.
    """
    import numpy as np

    found = np.zeros((len(steps), len(rows.ids)), dtype=np.int64)
    for index, step in enumerate(steps):
        kept = _read(_path(ledger, step.inputs), step.number)
        # A class that no one else speaks of is none that the labels have.
        found[index] = [joined.numbers.get(kept.get(one), -2) for one in rows.ids]
    return replace(joined, tested=replace(joined.tested, earlier=found))


def _read(path: Path, number: int) -> dict[str, str]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            found: dict[str, str] = json.load(file)
    except (OSError, EOFError, ValueError):
        raise CannotRunError(
            f"a rank needs the predictions of all earlier models, and those of step {number:,} "
            f"weren't kept ({path.name} beside the ledger): a condition with a rank keeps them "
            "from its first step on; take a new test set (`runner ci rotate`)"
        ) from None
    return found


def _path(ledger: Path, inputs: str) -> Path:
    return ledger.with_suffix(".models") / f"{inputs[:32]}.json.gz"
