"""Whether a test set may have an account of its own: no row of it was counted in another.

Each account promises for its own steps. A developer whose models are judged on the same rows under
two accounts learns from both, and neither promise holds; a row left out, or another name, would be
all it takes. So the ids of each test set with labels are kept beside its ledger.
"""

from __future__ import annotations

from pathlib import Path

from runner.ci.file import CiFile
from runner.ci.kept import keep, kept
from runner.ci.ledgers import UNNAMED, begun_accounts
from runner.ci.predictions import HeldOut
from runner.errors import CannotRunError

_SUFFIX = ".ids.gz"


def keep_ids(ledger: Path, rows: HeldOut) -> None:
    """Keep which rows a test set has; without labels there is nothing to learn from them."""
    if rows.labels is not None:
        keep(ledger.with_suffix(_SUFFIX), sorted(rows.ids))


def check_fresh(file: CiFile, ledger: Path, rows: HeldOut, renamed: bool = False) -> None:
    """Refuse to begin the account of a test set that has rows of another, or its name.

    Args:
        ledger: Where the account would be.
        renamed: Whether it may have the name of an earlier one, as it may in a rotation.

    Raises:
        CannotRunError: Says of which.
    """
    name = file.testset.name if file.testset else UNNAMED
    ids = set(rows.ids)
    for other, account in begun_accounts(file):
        if other == ledger.name:
            continue
        shared = 0
        if rows.labels is not None:
            shared = len(ids.intersection(kept(ledger.with_name(other).with_suffix(_SUFFIX)) or ()))
        if shared:
            raise CannotRunError(
                f"{shared:,} of {len(ids):,} ids are those of test set {account.name!r} ({other}), "
                "whose steps would then be counted in two places: put its rows back as they were, "
                "or take new rows under new ids"
            )
        if account.name == name and not renamed:
            raise CannotRunError(
                f"a test set {name!r} was begun with other rows ({other}): put them back, or begin "
                "the new one by `runner ci rotate`, or by another `name` of `testset`"
            )
