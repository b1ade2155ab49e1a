"""Whether kernels' machine code is known to be on disk."""

from __future__ import annotations

import pkgutil

from runner.models import FAMILIES, kernels
from runner.models.kernels.cache import compile_ahead, uncompiled

OWN = {"cache", "compiled", "__main__"}
MODULES = [
    f"{kernels.__name__}.{module.name}"
    for module in pkgutil.iter_modules(kernels.__path__)
    if module.name not in OWN
]


def test_what_is_compiled_is_known() -> None:
    compile_ahead(MODULES)
    assert uncompiled(MODULES) == ()


def test_what_has_no_machine_code_is_named() -> None:
    without = f"{kernels.__name__}.cache"
    assert uncompiled([without, "lightgbm"]) == (without,)


def test_families_name_their_kernels() -> None:
    named = {module for family in FAMILIES.values() for module in family.preload}
    assert {module for module in named if module.startswith(kernels.__name__)} == set(MODULES)
