"""``runner ci open``: what was sealed, for who has the private key."""

from __future__ import annotations

from pathlib import Path

import click

from runner.cli.ci import options
from runner.errors import InputError


@click.command("open")
@click.argument("sealed", type=click.Path(path_type=Path))
@options.KEY
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where to write it, for the owner only.  [default: the standard output]",
)
def command(sealed: Path, key: Path | None, output: Path | None) -> None:
    """Open SEALED: a result as it was mailed, labels, or a ledger with all its sealed results.

    Example: runner ci open result.txt --key team.key
    """
    from runner.ci.columns import read_file
    from runner.ci.ledger import SUFFIX
    from runner.ci.sealing import KEY_VARIABLE, is_sealed, private_key, unseal

    secret = private_key(key)
    if secret is None:
        raise InputError(f"give the private key by --key, or in the environment ({KEY_VARIABLE})")
    if sealed.suffix == SUFFIX:
        opened = _results(sealed, secret)
    else:
        content = read_file(sealed)
        if not is_sealed(content):
            raise InputError("is not sealed", file=sealed)
        opened = unseal(content, secret, sealed)
    if output is not None:
        options.write(output, opened)
    else:
        click.echo(opened.rstrip(b" \n"))


def _results(ledger: Path, secret: str) -> bytes:
    """The results in a ledger, one JSON document a line."""
    from runner.ci.account import Account
    from runner.ci.ledger import read
    from runner.ci.sealing import unseal

    steps = Account.of(read(ledger)).steps
    found = [
        unseal(step.sealed.encode("ascii"), secret, ledger).strip()
        for step in steps
        if step.sealed is not None
    ]
    return b"\n".join(found) + b"\n"
