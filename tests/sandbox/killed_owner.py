"""Starts a work that hangs and leaves daemons, tells so, and waits to be killed."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from limiters import limiters
from sandbox_helpers import processes, work

from runner.sandbox import Limits


def announce() -> None:
    """Once the zygote, its child and the five daemons live."""
    while len(processes(os.getpid())) < 6:
        time.sleep(0.01)
    print("running", flush=True)


limiter = next(limiter for limiter in limiters() if limiter.name == sys.argv[2])
with limiter.sandbox(scratch=Path(sys.argv[1])) as sandbox:
    threading.Thread(target=announce, daemon=True).start()
    sandbox.run(work("recorded_then", ("daemonise_and_hang", None), 2), Limits(1, 1 << 30, 60))
