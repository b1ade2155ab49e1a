"""What kernels of ensembles repeat, since numba's cache sees one module, must stay the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from runner.models import kernels

MODULES = ("bagging", "forest", "jungle")
OWN = {"grow"}


def definitions(module: str) -> dict[str, str]:
    """Functions and constants by name, as plain code without docstrings and comments."""
    tree = ast.parse((Path(kernels.__path__[0]) / f"{module}.py").read_text())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            if ast.get_docstring(node):
                node.body = node.body[1:]
            found[node.name] = ast.unparse(node)
        elif isinstance(node, ast.Assign):
            found[ast.unparse(node.targets[0])] = ast.unparse(node)
    return found


@pytest.mark.parametrize(("one", "other"), [MODULES[:2], MODULES[::2], MODULES[1:]])
def test_names_in_common_mean_the_same(one: str, other: str) -> None:
    left, right = definitions(one), definitions(other)
    common = (left.keys() & right.keys()) - OWN
    assert {"mix", "_GAMMA", "(MEMBER, NODE, START, STOP, SEED)"} <= common
    assert {name: left[name] for name in common} == {name: right[name] for name in common}


def test_ensembles_that_grow_share_more() -> None:
    common = definitions("forest").keys() & definitions("jungle").keys()
    assert {"pick", "roomy", "make_leaf"} <= common
