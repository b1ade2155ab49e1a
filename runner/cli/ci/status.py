"""``runner ci status``: steps used and left, from the ledgers alone: no labels, no key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.ci import options

if TYPE_CHECKING:
    from runner.ci import CiFile
    from runner.ci.account import Account


@click.command("status")
@options.FILE
@options.LEDGER
@options.JSON
def command(file: Path, ledger: Path | None, as_json: bool) -> None:
    """Tell how much of each test set is used: that of FILE, begun last, comes first.

    Example: runner ci status .travis.yml
    """
    from runner.ci.ledgers import begun_accounts

    found = options.load(file, None, ledger)
    accounts = begun_accounts(found)
    documents = [_document(found, name, account) for name, account in accounts]
    if as_json:
        steps = found.guarantee.reuse.steps
        unused = {"testset": None, "steps": steps, "used": 0, "begun": 0, "left": steps}
        unused["used_up"] = None
        current = documents[0] if documents else unused
        click.echo(json.dumps({**current, "testsets": documents}))
    elif not documents:
        click.echo(f"no test set was used yet: {found.guarantee.reuse.steps:,} steps are left")
    for document in [] if as_json else documents:
        click.echo(_line(document))


def _document(file: CiFile, name: str, account: Account) -> dict[str, Any]:
    terms = account.terms
    return {
        "testset": account.name,
        "ledger": name,
        "opened_at": account.opened_at,
        "rows": account.opened["rows"],
        "pool": account.opened["pool"],
        "adaptivity": terms.kind,
        "steps": terms.steps,
        "used": account.used,
        "begun": account.begun,
        "left": account.left,
        "first": terms.first,
        "passes": terms.passes,
        "changes_left": account.changes_left,
        "revealed": account.revealed,
        "old_changed": sum(map(account.changes_old, account.steps)),
        "needed": _needed(file, account),
        "used_up": account.ended,
    }


def _needed(file: CiFile, account: Account) -> int:
    """Labels that the next step needs at most, with all that was revealed."""
    from dataclasses import replace

    from runner.ci import make_plan
    from runner.ci.sequential import make_sequential_plan

    reuse = replace(file.guarantee.reuse, revealed=account.in_force(file.method))
    guarantee = replace(file.guarantee, reuse=reuse)
    if file.method == "sequential":
        return make_sequential_plan(guarantee, file.bound).fixed.labels
    return make_plan(guarantee, file.bound).labels


def _line(document: dict[str, Any]) -> str:
    text = (
        f"{document['testset']} ({document['ledger']}): {document['used']:,} of "
        f"{document['steps']:,} steps used, {document['left']:,} left"
    )
    if document["begun"]:
        text += f", {document['begun']:,} begun and waiting for labels"
    if document["changes_left"]:
        which = "passes" if document["first"] == "pass" else "fails"
        text += f", until {document['changes_left']:,} more {which} at most"
    if document["used_up"]:
        text += f"; used up: {document['used_up']}"
    else:
        text += f"; the next needs {document['needed']:,} labels of {document['rows']:,}"
    if document["old_changed"]:
        text += f"; in {document['old_changed']:,} steps the old model was one that never passed"
    if document["revealed"]:
        text += (
            f"; what was revealed and tests that were left added {document['revealed']:.4g} to ln M"
        )
    return text
