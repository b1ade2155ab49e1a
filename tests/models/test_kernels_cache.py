"""Whether kernels' machine code is known to be on disk."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runner.ensemble import kernels as ensembles
from runner.ensemble.registry import TECHNIQUES
from runner.models import FAMILIES, kernels
from runner.models.kernels.cache import compile_ahead, kernel_modules, uncompiled

MODULES = kernel_modules()


def test_what_is_compiled_is_known() -> None:
    compile_ahead(MODULES)
    assert uncompiled(MODULES) == ()


def test_what_has_no_machine_code_is_named() -> None:
    without = f"{kernels.__name__}.cache"
    assert uncompiled([without, "lightgbm"]) == (without,)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module of kernels in a small copy of the package, which ``after`` runs in."""
    folder = tmp_path.joinpath(*kernels.__name__.split("."))
    folder.mkdir(parents=True)
    for parent in (folder.parent, folder.parent.parent):
        (parent / "__init__.py").touch()
    for name in ("__init__", "__main__", "binning", "cache", "compiled"):
        shutil.copy(Path(kernels.__path__[0]) / f"{name}.py", folder)
    return folder / "binning.py"


def after(source: Path, command: str) -> tuple[int, bool]:
    """The exit status of a command, and whether the module counts as compiled afterwards."""
    root, module = source.parents[3], f"{kernels.__name__}.{source.stem}"
    text = f"from {kernels.__name__}.cache import *; "
    ask = f"{text}print(uncompiled([{module!r}]))"
    run = functools.partial(subprocess.run, cwd=root, capture_output=True, text=True, check=False)
    status = run([sys.executable, "-c", text + command.format(f"[{module!r}]")]).returncode
    told = run([sys.executable, "-c", ask]).stdout.strip()
    assert told in ("()", repr((module,)))
    return status, told == "()"


def test_a_changed_source_is_compiled_again(source: Path) -> None:
    assert after(source, "") == (0, False)
    assert after(source, "compile_ahead({})") == (0, True)
    source.touch()
    assert after(source, "") == (0, True)
    source.write_text(source.read_text() + "# changed\n")
    assert after(source, "") == (0, False)
    assert after(source, "compile_ahead({})") == (0, True)


def test_a_module_of_which_some_kernels_are_compiled_is_not(source: Path) -> None:
    whole = source.read_text()
    source.write_text(whole + '@kernel("int64(int64)")\ndef broken(x):\n    return x.nothing\n')
    assert after(source, "compile_ahead({})") == (1, False)
    assert len(list(source.parent.glob("__pycache__/binning.*.nbi"))) == 2
    source.write_text(whole)
    assert after(source, "compile_ahead({})") == (0, True)


def test_families_name_their_kernels() -> None:
    named = {module for family in FAMILIES.values() for module in family.preload}
    theirs = {module for module in MODULES if module.startswith(kernels.__name__)}
    assert {module for module in named if module.startswith(kernels.__name__)} == theirs


def test_ensembles_name_their_kernels() -> None:
    named = {module for listing in TECHNIQUES.values() for module in listing.preload}
    theirs = {module for module in MODULES if not module.startswith(kernels.__name__)}
    assert {module for module in named if module.startswith(ensembles.__name__)} == theirs
