"""The sandbox: one slot's warm parent, and the works that run in its children."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from runner.errors import CannotRunError
from runner.sandbox.confinement import Confinement
from runner.sandbox.contract import Finding, Limits, Result, Trust, Usage, Work
from runner.sandbox.execution import Execution
from runner.sandbox.means import Means, probe
from runner.sandbox.owner import new_name, sweep_leftovers
from runner.sandbox.warm import Zygote, ZygoteError


class Sandbox:
    """Runs works one after the other, each in a confined child of a warm parent.

    Start it from a thread that lives as long as the process, such as the main thread: with the
    thread that started it the parent ends.

    Args:
        cores: The particular cores that works may use.
        threads: How many threads libraries may use of them.
        preload: Modules that the parent imports, so that no work has to.
        scratch: Where works get their working folders; the system's temporary folder by default.
        means: By which means limits are held; what ``probe`` finds by default.
        trust: Whose code the works run.

    Raises:
        CannotRunError: An archive's code can't be confined here.
    """

    def __init__(
        self,
        cores: Sequence[int],
        *,
        threads: int = 1,
        preload: Sequence[str] = (),
        scratch: Path | None = None,
        means: Means | None = None,
        trust: Trust = "fits",
    ):
        if trust == "archive":
            raise CannotRunError("somebody else's code can't be confined here")
        self._cores = tuple(cores)
        self._threads = threads
        self._preload = tuple(preload)
        self._scratch = scratch or Path(tempfile.gettempdir())
        self._means = means
        self._zygote: Zygote | None = None

    def __enter__(self) -> Sandbox:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def enforced(self) -> Mapping[str, str]:
        """What each limit rests on here: ``memory``, ``cpu`` and ``kill``."""
        return self._found_means().enforced()

    def start(self) -> None:
        """Clear what dead owners left, and start the warm parent; ``run`` does so where needed.

        Raises:
            ZygoteError: It can't start, as where a module to preload can't be imported.
        """
        if self._zygote is not None and self._zygote.alive():
            return
        self.close()
        sweep_leftovers(self._scratch)
        self._zygote = Zygote(new_name(), self._cores, self._threads, self._preload)

    def run(self, work: Work, limits: Limits) -> Result:
        """Run one work and say what became of each of its evaluations.

        Never raises for what the work does. What goes wrong on this side, such as a parent that
        was killed, has outcome ``infra``; the next run starts a new one.
        """
        try:
            self.start()
            return self._run(work, limits)
        except (ZygoteError, OSError) as error:
            self.close()
            return self._failed(work, error)
        except BaseException:
            # Interrupted: the child may run on, and ends with its parent.
            self.close()
            raise

    def close(self) -> None:
        """End the warm parent; ``run`` starts a new one."""
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None

    def _run(self, work: Work, limits: Limits) -> Result:
        assert self._zygote is not None
        means = self._found_means()
        name = new_name()
        folder = self._scratch / name
        folder.mkdir(mode=0o700)
        try:
            confinement = Confinement(means, name, limits, self._cores, self._zygote.pid)
            try:
                execution = Execution(self._zygote, confinement, work, limits, os.fspath(folder))
                return execution.run(means.enforced())
            finally:
                confinement.close()
        finally:
            _remove(folder)

    def _failed(self, work: Work, error: Exception) -> Result:
        reason = "zygote" if isinstance(error, ZygoteError) else "setup"
        finding = Finding("infra", 0.0, reason=reason, error=" ".join(str(error).split()))
        return Result((finding,) * work.evaluations, Usage(0.0), "", self.enforced)

    def _found_means(self) -> Means:
        if self._means is None:
            self._means = probe()
        return self._means


def _remove(folder: Path) -> None:
    try:
        folder.rmdir()  # Most are empty, and this takes a tenth of the time.
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
