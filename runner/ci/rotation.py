"""The end of a test set: retired, released to the developers, replaced by a new one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from runner.ci import account as lines
from runner.ci.account import Account
from runner.ci.file import CiFile
from runner.ci.fresh import check_fresh, keep_ids
from runner.ci.held_out import open_content
from runner.ci.ledger import locked, read
from runner.ci.ledgers import ledger_path, open_account, used_up
from runner.ci.plan import make_plan
from runner.ci.predictions import HeldOut
from runner.ci.step import can_measure
from runner.ci.verdict import check_rows
from runner.errors import CannotRunError, InputError


@dataclass(frozen=True)
class Rotated:
    """What a rotation did.

    Attributes:
        retired: The account of the test set that ended.
        opened: That of the new one; None where none was named.
    """

    retired: Account
    opened: Account | None


def check_new(file: CiFile, old: HeldOut, new: HeldOut) -> None:
    """Refuse a new test set that is too small, is used up itself, or has rows of an earlier one.

    Raises:
        CannotRunError: With how many.
    """
    if old.identity == new.identity:
        raise CannotRunError("the new test set is the old one; label new rows")
    shared = len(set(new.ids) & set(old.ids))
    if shared:
        raise CannotRunError(
            f"{shared:,} of {len(new.ids):,} ids of the new test set are in the old one, which "
            "developers may have seen; take new rows, or name them otherwise if they are new"
        )
    path = ledger_path(file, new)
    own = Account.of(read(path))
    if own.opened and own.ended:
        raise CannotRunError(f"can't replace the old one: {used_up(own)}")
    check_fresh(file, path, new, renamed=True)
    pool = None if new.pool is None else len(new.pool)
    if pool is not None and can_measure(file.guarantee, file.bound, pool):
        # How many labels it takes is then known with each model only.
        return
    check_rows(make_plan(file.guarantee, file.bound), len(new.ids), pool)


def rotate(file: CiFile, old: HeldOut, new: tuple[CiFile, HeldOut] | None) -> Rotated:
    """Retire a test set for good and begin the account of the one that replaces it.

    The same call again, after a kill say, finishes what is left to do.

    Args:
        new: The file as it will be, and the rows that it names; None for a later day.

    Raises:
        CannotRunError: If the new one can't serve, before anything is done.
    """
    if new is not None:
        check_new(new[0], old, new[1])
    path = ledger_path(file, old)
    with locked(path) as ledger:
        if not Account.of(ledger.records).opened:
            keep_ids(path, old)
            open_account(ledger, file, old)
        if not Account.of(ledger.records).retired:
            ledger.append(lines.RETIRED)
        retired = Account.of(ledger.records)
    if new is None:
        return Rotated(retired, None)
    with locked(ledger_path(*new)) as ledger:
        if not Account.of(ledger.records).opened:
            keep_ids(ledger.path, new[1])
            open_account(ledger, *new, follows=path.name)
        return Rotated(retired, Account.of(ledger.records))


def release_labels(file: CiFile, old: HeldOut, private_key: str | None, target: Path) -> None:
    """Write the labels of a retired test set for the developers, unsealed.

    Raises:
        CannotRunError: If it isn't retired.
        InputError: If it has no labels, or something else is in the target's place.
    """
    if file.testset is None or file.testset.labels is None:
        raise InputError("the test set has no labels to release", file=file.path)
    with locked(ledger_path(file, old)) as ledger:
        if not Account.of(ledger.records).retired:
            raise CannotRunError("the test set is in use: its labels are released when it ends")
        _write_new(target, open_content(file.testset.labels, private_key))
        ledger.append(lines.RELEASED)


def _write_new(target: Path, content: bytes) -> None:
    """Write a file that appears whole; one that holds the same already is left alone."""
    if target.exists():
        if target.is_file() and target.read_bytes() == content:
            return
        raise InputError("is there already; name a new file to release the labels to", file=target)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        fresh.write_bytes(content)
        os.replace(fresh, target)
    except OSError as error:
        raise InputError(f"can't be written: {error.strerror}", file=target) from None
    finally:
        fresh.unlink(missing_ok=True)
