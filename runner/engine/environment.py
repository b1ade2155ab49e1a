"""Ray's and Tune's settings that are read from the environment, most of them at import."""

from __future__ import annotations

import logging
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # The memory monitor kills workers for what their children use; limits are the sandbox's.
    "RAY_memory_monitor_refresh_ms": "0",
    # A cut link is noticed in seconds instead of a minute (reference, "A node that goes away").
    "RAY_grpc_client_keepalive_time_ms": "1000",
    "RAY_grpc_client_keepalive_timeout_ms": "2000",
    "RAY_grpc_keepalive_time_ms": "1000",
    "RAY_grpc_keepalive_timeout_ms": "2000",
    # Ray's own is 15: whatever else ran on the machine would come before the fits that are timed.
    "RAY_worker_niceness": "0",
    # A thread that outlives the run's Ray would start another by its next call.
    "RAY_ENABLE_AUTO_CONNECT": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    # Tune's own state would let it resume; the store is what a run resumes from.
    "TUNE_GLOBAL_CHECKPOINT_S": "1e9",
    "TUNE_WARN_THRESHOLD_S": "10",
    # The newer output prints a table whatever the verbosity.
    "RAY_AIR_NEW_OUTPUT": "0",
}


def prepare() -> None:
    """Set what isn't set yet; to be called before ray is imported."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)


def close_to_others() -> None:
    """Let none but this process and its children use the Ray that it is about to start.

    Ray listens on all interfaces, and whoever it lets in can run code. It asks for a token unless
    RAY_AUTH_MODE says otherwise; without one given here it would leave one in the home folder,
    which other Rays of the user would then take up, or not.
    """
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    # Said here Ray takes it without a word, but once imported it no longer looks.
    if "ray" not in sys.modules:
        os.environ.setdefault("RAY_AUTH_MODE", "token")


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Ray and Tune from printing: standard output is for results, and we tell what was lost.

    Ray prints a paragraph for each dead worker whatever ``log_to_driver`` says.
    """
    from ray._private import worker

    tune = logging.getLogger("ray.tune")
    level, emit = tune.level, worker.print_to_stdstream
    tune.setLevel(logging.CRITICAL)
    worker.print_to_stdstream = lambda *args, **options: None
    try:
        yield
    finally:
        tune.setLevel(level)
        worker.print_to_stdstream = emit


@contextmanager
def own_sigterm() -> Iterator[None]:
    """Keep Ray from taking SIGTERM over while it starts: its own way ends this process at once."""
    from ray._private import utils

    install = utils.set_sigterm_handler
    utils.set_sigterm_handler = lambda handler: None
    try:
        yield
    finally:
        utils.set_sigterm_handler = install
