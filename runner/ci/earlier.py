"""The predictions of models that a test set has judged, kept beside its ledger for ranks.

A file a step, written before the step's line and named by what the step judged, so that a step that
a ledger holds has its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from runner.ci import kept
from runner.ci.account import Step
from runner.ci.predictions import HeldOut, Joined
from runner.errors import CannotRunError


def keep(ledger: Path, inputs: str, rows: HeldOut, joined: Joined) -> None:
    """Keep a new model's predictions."""
    classes = dict(zip(rows.ids, joined.predicted, strict=True))
    kept.keep(_path(ledger, inputs), classes)


def with_earlier(ledger: Path, steps: Sequence[Step], rows: HeldOut, joined: Joined) -> Joined:
    """Add what the models of earlier steps predicted, each once; the new one isn't among them.

    Raises:
        CannotRunError: If a step's predictions weren't kept.
    """
    import numpy as np

    # A model may be judged again, by another condition.
    others = {step.new: step for step in steps if step.new != joined.models[0]}
    found = np.zeros((len(others), len(rows.ids)), dtype=np.int64)
    for index, step in enumerate(others.values()):
        then = _read(_path(ledger, step.inputs), step.number)
        # A class that no one else speaks of is none that the labels have.
        found[index] = [joined.numbers.get(then.get(one), -2) for one in rows.ids]
    return replace(joined, tested=replace(joined.tested, earlier=found))


def _read(path: Path, number: int) -> dict[str, str]:
    found: dict[str, str] | None = kept.kept(path)
    if found is None:
        raise CannotRunError(
            f"a rank needs the predictions of all earlier models, and those of step {number:,} "
            f"weren't kept ({path.name} beside the ledger): a condition with a rank keeps them "
            "from its first step on; take a new test set (`runner ci rotate`)"
        )
    return found


def _path(ledger: Path, inputs: str) -> Path:
    return ledger.with_suffix(".models") / f"{inputs[:32]}.json.gz"
