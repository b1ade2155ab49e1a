"""``runner ci keys``: the integration team's pair of keys."""

from __future__ import annotations

from pathlib import Path

import click

from runner.cli.ci import options


@click.command("keys")
@click.argument("private", type=click.Path(path_type=Path))
def command(private: Path) -> None:
    """Make a pair of keys: the private one goes to the new file PRIVATE, the public one is printed.

    The public key is `public_key` of a condition's file. The private key goes into the CI's secret
    store, as RUNNER_CI_PRIVATE_KEY, and nowhere else.

    Example: runner ci keys team.key
    """
    from runner.ci.sealing import make_pair

    pair = make_pair()
    options.write(private, pair.private.encode("ascii") + b"\n")
    click.echo(pair.public)
