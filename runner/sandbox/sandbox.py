"""The sandbox: one slot's warm parent, and the works that run in its children."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from runner.errors import CannotRunError
from runner.sandbox import namespaces
from runner.sandbox.confinement import Confinement
from runner.sandbox.contract import Finding, Limits, Result, Trust, Usage, Work
from runner.sandbox.execution import Execution
from runner.sandbox.means import Means, probe
from runner.sandbox.owner import new_name, sweep_leftovers
from runner.sandbox.warm import Surrounding, Zygote, ZygoteError

VISIBLE = ("PATH", "LANG", "LC_ALL", "TZ")
"""What an archive's code sees of the owner's environment."""


class Sandbox:
    """Runs works one after the other, each in a confined child of a warm parent.

    Start it from a thread that lives as long as the process, such as the main thread: with the
    thread that started it the parent ends.

    Args:
        cores: The particular cores that works may use.
        threads: How many threads libraries may use of them.
        preload: Modules that the parent imports, and functions (``module:function``) that it
            calls, so that no work has to. A function must leave no thread behind.
        scratch: Where works get their working folders; the system's temporary folder by default.
        means: By which means limits are held; what ``probe`` finds by default.
        trust: Whose code the works run. An archive's gets a fresh parent for each work, which
            sees the system, this interpreter and this package, and writes to the work's folder.
        readable: Files and folders that an archive's code may read beside those.

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
        readable: Sequence[Path] = (),
    ):
        self._cores = tuple(cores)
        self._threads = threads
        self._preload = tuple(preload)
        self._scratch = scratch or Path(tempfile.gettempdir())
        self._trust = trust
        self._readable = [os.path.abspath(path) for path in readable]
        self._means = probe(trust) if means is None else means
        if trust == "archive" and self._means.jail is None:
            raise CannotRunError(
                "somebody else's code can't be confined here: it needs bubblewrap (bwrap), or the "
                "right to make user namespaces or, as root, others; `runner doctor` tells more"
            )
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
        """What each limit rests on here, by its name; ``none``: it isn't held."""
        return self._means.enforced(self._trust)

    def start(self) -> None:
        """Clear what dead owners left, and start the warm parent; ``run`` does so where needed.

        Raises:
            ZygoteError: It can't start, as where a module to preload can't be imported.
        """
        if self._zygote is not None and self._zygote.alive():
            return
        self.close()
        sweep_leftovers(self._scratch)
        if self._trust == "fits":
            self._zygote = self._warmed(new_name(), Surrounding(self._own_memory()))

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
        name = new_name()
        folder = self._scratch / name
        folder.mkdir(mode=0o700)
        try:
            if self._trust == "archive":
                self._zygote = self._warmed(name, self._jailed(folder, limits))
            assert self._zygote is not None
            view = self._zygote.view
            confinement = Confinement(
                self._means,
                name,
                limits,
                self._cores,
                self._zygote.pid,
                own_user=view.get("user", view["kind"] != "none"),
                own_files=view["kind"] != "none",
            )
            try:
                execution = Execution(
                    self._zygote,
                    confinement,
                    work,
                    limits,
                    os.fspath(folder),
                    trusted=self._trust == "fits",
                )
                return execution.run(self.enforced)
            finally:
                confinement.close()
        finally:
            if self._trust == "archive":
                self.close()
            _remove(folder)

    def _warmed(self, name: str, surrounding: Surrounding) -> Zygote:
        return Zygote(name, self._cores, self._threads, self._preload, surrounding)

    def _own_memory(self) -> dict[str, Any]:
        """The view in which shared memory is this sandbox's own, unless works live there."""
        hidden = Path(namespaces.SHARED_MEMORY) in self._scratch.resolve().parents
        if self._means.private is None or hidden:
            return {"kind": "none"}
        return self._means.private.view()

    def _jailed(self, folder: Path, limits: Limits) -> Surrounding:
        jail = self._means.jail
        assert jail is not None
        jail.hand_over(folder)
        place = (os.fspath(folder), self._readable, limits.memory)
        environment = {name: os.environ[name] for name in VISIBLE if name in os.environ}
        environment |= {"HOME": place[0], "TMPDIR": place[0]}
        return Surrounding(jail.view(*place), tuple(jail.command(*place)), environment)

    def _failed(self, work: Work, error: Exception) -> Result:
        reason = "zygote" if isinstance(error, ZygoteError) else "setup"
        finding = Finding("infra", 0.0, reason=reason, error=" ".join(str(error).split()))
        return Result((finding,) * work.evaluations, Usage(0.0), "", self.enforced)


def _remove(folder: Path) -> None:
    try:
        folder.rmdir()  # Most are empty, and this takes a tenth of the time.
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
