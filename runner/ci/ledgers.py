"""Which ledger a test set's steps are counted in, and on what terms it was begun."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from runner.ci import account as lines
from runner.ci.account import Account, Terms
from runner.ci.file import CiFile
from runner.ci.ledger import SUFFIX, Ledger, read
from runner.ci.predictions import HeldOut
from runner.errors import CannotRunError, InputError

UNNAMED = "testset"


def ledger_path(file: CiFile, rows: HeldOut) -> Path:
    """Where the ledger of a test set is: its name is the test set's identity.

    The same rows have the same one, whatever is known of their labels by now.
    """
    return ledger_folder(file) / (rows.identity[:16] + SUFFIX)


def ledger_folder(file: CiFile) -> Path:
    """The folder of the ledgers: the file's, or ``ci-ledger`` beside it."""
    return file.path.parent / "ci-ledger" if file.ledger is None else file.ledger


def open_account(ledger: Ledger, file: CiFile, rows: HeldOut, follows: str | None = None) -> None:
    """Begin a test set's account.

    Args:
        follows: The ledger's name of the test set that it replaces.
    """
    ledger.append(
        lines.OPENED,
        testset=file.testset.name if file.testset else UNNAMED,
        identity=rows.identity,
        ids=rows.of_ids,
        rows=len(rows.ids),
        pool=None if rows.pool is None else len(rows.pool),
        terms=asdict(Terms.of(file.guarantee.reuse, file.guarantee.delta)),
        follows=follows,
    )


def check_terms(file: CiFile, account: Account) -> None:
    """Refuse a file that counts otherwise than the ledger was begun with.

    Raises:
        InputError: With the first key that differs.
    """
    begun, now = account.terms, Terms.of(file.guarantee.reuse, file.guarantee.delta)
    keys = {
        "kind": "adaptivity",
        "steps": "steps",
        "first": "first",
        "passes": "passes",
        "delta": "reliability",
    }
    for field, key in keys.items():
        was, asked = getattr(begun, field), getattr(now, field)
        if was != asked:
            if field == "delta":
                was, asked = (f"{1 - value:.12g}" for value in (was, asked))
            raise InputError(
                f"the ledger of this test set was begun with {key} {was}, not {asked}, and its "
                "promise holds for that: put it back, or take a new test set (`runner ci rotate`)",
                file=file.path,
                line=file.line(key),
            )


def check_rows_of(rows: HeldOut, account: Account) -> None:
    """Refuse rows that are not those of a ledger, where only a name tells which it is.

    Raises:
        CannotRunError: If they aren't.
    """
    if account.opened["ids"] != rows.of_ids:
        raise CannotRunError(
            f"the rows are not those that the ledger of test set {account.name!r} was begun with; "
            "another test set needs another name"
        )


def used_up(account: Account) -> str:
    """That a test set is used up, why, and what to do."""
    return (
        f"test set {account.name!r} is used up: {account.ended}; "
        "label a new one (`runner ci size` has the plan) and put it in place (`runner ci rotate`)"
    )


def begun_accounts(file: CiFile) -> list[tuple[str, Account]]:
    """The accounts of all test sets in the file's ledgers, by the ledgers' names.

    The one that the file's next step is counted on comes first, as far as names tell: in use, of
    the file's test set, begun last.
    """
    paths = sorted(ledger_folder(file).glob("*" + SUFFIX))
    found = [(path.name, Account.of(read(path))) for path in paths]
    begun = [(name, account) for name, account in found if account.opened]
    name = file.testset.name if file.testset else UNNAMED
    return sorted(
        begun,
        key=lambda one: (one[1].name == name, not one[1].retired, one[1].opened_at),
        reverse=True,
    )
