"""The alarm: a test set is used up. By mail, to a webhook, or by a command."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from runner.ci import account as lines
from runner.ci.account import Account
from runner.ci.environment import without_secrets
from runner.ci.file import CiFile
from runner.ci.ledger import locked, read
from runner.ci.ledgers import used_up
from runner.ci.mail import SECONDS, send_mail
from runner.errors import CannotRunError, RunnerError

TEXT_VARIABLE = "RUNNER_CI_ALARM"


def raise_alarm(file: CiFile, ledger: Path) -> None:
    """Tell that a test set is used up, once: to all that the file names, or whom results go to.

    What fails is tried again at the next call, and so is what a kill kept from being noted: it is
    told at least once. The ledger isn't locked meanwhile, since a command may read it.

    Args:
        ledger: The test set's.

    Raises:
        CannotRunError: If any way failed, after all were tried.
    """
    ways = _ways_left(file, ledger)
    if not ways:
        return
    with _alone(ledger) as alone:
        # Whoever was before us may have told by now.
        if not alone or not _ways_left(file, ledger):
            return
        failures = [told for told in (_tried(way) for way in ways) if told]
        if failures:
            raise CannotRunError("the alarm was not raised: " + "; ".join(failures))
        with locked(ledger) as held:
            held.append(lines.ALARMED, ways=len(ways))


def _ways_left(file: CiFile, ledger: Path) -> list[Callable[[], None]]:
    account = Account.of(read(ledger))
    if not account.opened or account.ended is None or account.alarmed:
        return []
    return _ways(file, account)


@contextmanager
def _alone(ledger: Path) -> Iterator[bool]:
    """Whether nobody else is raising the alarm, who is waited for by none: it may be our parent."""
    path = ledger.with_suffix(".alarm")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CannotRunError(f"can't be written: {error.strerror}", file=path) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = True
    except BlockingIOError:
        alone = False
    try:
        yield alone
    finally:
        os.close(descriptor)


def _ways(file: CiFile, account: Account) -> list[Callable[[], None]]:
    text = used_up(account)
    identity = str(account.opened["identity"])
    ways: list[Callable[[], None]] = []
    recipient = file.alarm.mail or file.recipient
    if recipient is not None:
        subject = f"Test set {account.name} is used up"
        ways.append(
            lambda: send_mail(file.mail, recipient, subject, text + "\n", f"{identity[:32]}.alarm")
        )
    if file.alarm.webhook is not None:
        url, document = file.alarm.webhook, alarm_document(account)
        ways.append(lambda: _post(url, document))
    if file.alarm.command is not None:
        command, folder = file.alarm.command, file.path.parent
        ways.append(lambda: _run(command, folder, text))
    return ways


def alarm_document(account: Account) -> dict[str, object]:
    """What a webhook is sent."""
    return {
        "text": used_up(account),
        "testset": account.name,
        "reason": account.ended,
        "used": account.used,
        "steps": account.terms.steps,
    }


def _tried(way: Callable[[], None]) -> str | None:
    try:
        way()
    except RunnerError as error:
        return error.message
    return None


def _post(url: str, document: Mapping[str, object]) -> None:
    request = urllib.request.Request(
        url,
        data=json.dumps(document).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "runner-ci"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS):
            pass
    except (OSError, ValueError) as error:
        # Its path may be what lets one in, so it isn't shown.
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise CannotRunError(f"the webhook didn't answer as it should: {reason}") from None


def _run(command: str, folder: Path, text: str) -> None:
    environment = {**without_secrets(os.environ), TEXT_VARIABLE: text}
    try:
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            # A pipe would be waited for as long as anything that it started lives.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=3 * SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CannotRunError(f"`{command}` took more than {3 * SECONDS:g} s") from None
    if done.returncode:
        raise CannotRunError(f"`{command}` ended with status {done.returncode}")
