"""A Ray cluster that runs already."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.engine.capacity import Node
from runner.errors import InputError

CONNECT_SECONDS = 5.0


@contextmanager
def joined_cluster(address: str) -> Iterator[None]:
    """Be a driver of the cluster at this address.

    Args:
        address: ``auto`` or ``host:port``.

    Raises:
        InputError: There is none, or this machine isn't one of its nodes.
    """
    place = _resolve(address)
    _check_reachable(place)
    import ray

    try:
        ray.init(
            address=place,
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=False,
        )
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"can't use the Ray at {place}: {reason} (is this machine a node of it, with the same "
            "versions of Ray and Python, and the same RAY_AUTH_MODE?)"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def ray_nodes() -> list[Node]:
    """The living nodes of the Ray that this process is connected to."""
    import ray

    return [
        Node(
            cores=int(node["Resources"].get("CPU", 0)),
            memory=int(node["Resources"].get("memory", 0)),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]


def _resolve(address: str) -> str:
    """The host and port that an address means."""
    if address != "auto":
        return address
    if named := os.environ.get("RAY_ADDRESS"):
        return named
    # Where `ray start` leaves the address of the cluster that it started or joined last.
    note = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")
    try:
        return note.read_text().strip()
    except OSError:
        raise InputError(
            "no Ray cluster runs on this machine: start one with `ray start --head`, give "
            "host:port, or use --address local"
        ) from None


def _check_reachable(place: str) -> None:
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise InputError(f"{place!r} is no Ray address: give local, auto or host:port")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS) as line:
            speaks = os.environ.get("RAY_USE_TLS") == "1" or _speaks_http2(line)
    except (OSError, OverflowError) as error:
        raise InputError(f"can't reach a Ray cluster at {place}: {error}") from None
    if not speaks:
        raise InputError(f"what listens at {place} isn't a Ray cluster")


def _speaks_http2(line: socket.socket) -> bool:
    """Whether the other side answers as a gRPC server does, and Ray's head is one.

    On a port of anything else Ray would try for two minutes, and then end this process.
    """
    greeting, no_settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0\0\0\4\0\0\0\0\0"
    line.sendall(greeting + no_settings)
    answer = b""
    try:
        while len(answer) < 4 and (more := line.recv(4 - len(answer))):
            answer += more
    except TimeoutError:
        return False
    return answer[3:] == b"\4"
