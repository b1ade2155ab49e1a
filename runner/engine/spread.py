"""Calls of plain functions spread over a Ray cluster, for work that is neither timed nor confined.

A study's jobs run in sandboxes and end as rows of results; this is for what goes before, such as
reading what a server sent. A call whose worker is killed is made again.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

from runner.engine.cluster import joined_cluster
from runner.engine.environment import close_to_others, prepare, quiet
from runner.engine.janitor import sweep_node
from runner.engine.local import local_ray
from runner.errors import CannotRunError

_A = TypeVar("_A")
_T = TypeVar("_T")
_RETRIES = 3
_ROOM = 256 * 2**20
"""Bytes for arguments and results under way in a local Ray's store; more goes to its disk."""


class Callers(Protocol):
    """Whoever calls functions for others."""

    def call(self, function: Callable[[_A], _T], argument: _A) -> Callable[[], _T]:
        """Begin a call; what is returned waits for its result. Any thread may do either."""


class InProcess:
    """Calls functions in this very process, once their results are waited for."""

    def call(self, function: Callable[[_A], _T], argument: _A) -> Callable[[], _T]:
        """Begin a call."""
        return lambda: function(argument)


class _OnRay:
    def __init__(self) -> None:
        import ray

        self._remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(_call)
        self._paths = tuple(os.path.abspath(folder) for folder in sys.path)

    def call(self, function: Callable[[_A], _T], argument: _A) -> Callable[[], _T]:
        reference = self._remote.remote(
            self._paths, function.__module__, function.__name__, argument
        )
        return partial(_result, reference)


def _result(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError:
        # The function's own error, with its trace.
        raise
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[:200]
        raise CannotRunError(f"the cluster lost a call {_RETRIES + 1} times: {reason}") from error


def _call(paths: Sequence[str], module: str, function: str, argument: object) -> object:
    """On a worker, call what the driver finds along its own path."""
    sys.path.extend(folder for folder in paths if folder not in sys.path)
    return getattr(importlib.import_module(module), function)(argument)


@contextmanager
def calling(address: str) -> Iterator[Callers]:
    """Calls of module-level functions on a cluster's cores, one core each.

    Args:
        address: ``local``, ``auto`` or ``host:port`` of a Ray cluster.

    Raises:
        InputError: The address can't be reached.
    """
    prepare()
    if address == "local":
        close_to_others()
    sweep_node()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with quiet(), local_ray(_ROOM) if address == "local" else joined_cluster(address):
        if threading.current_thread() is threading.main_thread():
            # Ray, when it starts, puts handlers of its own in their place.
            for number, handler in before.items():
                signal.signal(number, handler)
        yield _OnRay()
