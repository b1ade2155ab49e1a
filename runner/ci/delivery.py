"""Results that the developer isn't told, on their way to the integration team."""

from __future__ import annotations

import json

from runner.ci import account as lines
from runner.ci.account import Account
from runner.ci.file import CiFile
from runner.ci.ledger import locked
from runner.ci.mail import send_mail
from runner.ci.result import result_document
from runner.ci.step import Taken
from runner.errors import InputError


def check_destination(file: CiFile) -> None:
    """Refuse a file whose results would reach nobody.

    Raises:
        InputError: With the line of its adaptivity.
    """
    if file.guarantee.reuse.kind == "none" and file.recipient is None and file.public_key is None:
        raise InputError(
            "with adaptivity none the developer isn't told, and nobody else would be: name an "
            "address (`none -> name@host`) or a `public_key` that results are sealed to",
            file=file.path,
            line=file.line("adaptivity"),
        )


def deliver(file: CiFile, taken: Taken, commit: str | None) -> None:
    """Send a step's result to whom it is for, unless it was sent before.

    A kill between sending and noting it has it sent twice, under the same identity; never not at
    all, if the command is given again.

    Raises:
        CannotRunError: If it can't be sent.
    """
    if file.recipient is None or taken.passed is not None:
        return
    with locked(taken.ledger) as ledger:
        step = Account.of(ledger.records).step_of(taken.step.inputs)
        assert step is not None
        if step.sent:
            return
        name = taken.account.name
        subject = f"Result of step {step.number} on test set {name}"
        send_mail(file.mail, file.recipient, subject, _body(file, taken, commit), step.inputs[:32])
        ledger.append(lines.SENT, inputs=step.inputs)


def _body(file: CiFile, taken: Taken, commit: str | None) -> str:
    if taken.step.sealed is not None:
        return taken.step.sealed
    assert taken.judgement is not None
    document = result_document(file, taken.judgement, taken.step.number, commit)
    clauses = "\n".join(
        f"  {found['clause']}: {found['truth']}, left side estimated as {found['estimate']:.6g}"
        for found in document["clauses"]
    )
    return (
        f"{document['verdict']}: {document['condition']} ({document['mode']}) "
        f"is {document['truth']}\n{clauses}\n"
        f"commit: {commit or 'unknown'}\n"
        f"step {document['step']} of {document['steps']}\n\n{json.dumps(document)}\n"
    )
