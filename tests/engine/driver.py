"""A driver for the tests that kill one: prints the keys of committed rows, one a line."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))

from engine_helpers import Jobs, Quiet, Table, job, settings

from runner.engine import run
from runner.errors import RunnerError


def tell(rows: pa.Table) -> None:
    print(*rows["key"].to_pylist(), sep="\n", flush=True)


if __name__ == "__main__":
    sleep = float(sys.argv[1])
    jobs = [job(f"job{i}", sleep, "arrays", sleep=sleep) for i in range(1000)]
    arrays = {"arrays": {"numbers": np.arange(1e6)}}
    try:
        done = run(settings(arrays=arrays), Jobs(jobs), Table(tell), Quiet())
        print("interrupted" if done.interrupted else "finished", flush=True)
    except RunnerError as error:
        print(error, flush=True)
