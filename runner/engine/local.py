"""A Ray of this run's own on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from runner.engine.capacity import Node
from runner.engine.janitor import driver_folder, sweep_node
from runner.engine.node import total_memory
from runner.engine.reaper import reap, start_reaper
from runner.engine.vitals import Vitals

MIB = 2**20

_RESERVE = 512 * MIB
"""Memory that Ray, the driver and the machine itself need."""

_OBJECT_STORE = 128 * MIB


def local_node() -> Node:
    """This machine as the one node of a local Ray."""
    memory = total_memory()
    return Node(cores=len(os.sched_getaffinity(0)), memory=memory - max(_RESERVE, memory // 20))


@contextmanager
def local_ray(array_bytes: int) -> Iterator[Vitals]:
    """Start a Ray that nothing else uses, and end it without a trace; gives its processes.

    Args:
        array_bytes: Size of the arrays that its object store is to hold.
    """
    import ray

    folder = driver_folder()
    reaper = start_reaper(folder.path)
    try:
        ray.init(
            # The word keeps it from joining a Ray named by RAY_ADDRESS.
            address="local",
            num_cpus=local_node().cores,
            num_gpus=0,
            object_store_memory=_OBJECT_STORE + array_bytes + array_bytes // 4,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=False,
            _memory=local_node().memory,
            _temp_dir=str(folder.path),
        )
        with Vitals.of_own_ray() as vitals:
            yield vitals
    finally:
        ray.shutdown()
        reap(folder.path)
        folder.release()
        sweep_node()
        assert reaper.stdin is not None
        reaper.stdin.close()
        reaper.wait()
