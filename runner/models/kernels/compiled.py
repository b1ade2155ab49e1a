"""How a kernel is compiled: ahead of its first call, cached on disk, without Python objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(*signatures: str) -> Callable[[Function], Function]:
    """Compile a function for argument types such as ``"float64(float64[::1], int64)"``.

    No reassociation of sums (numba's ``fastmath``): results have the same bits on every
    processor. Calls release the interpreter's lock, so that threads can share the work.

    The cache knows the function's own module only: a kernel and those it calls belong in one
    module, or a change of the callee goes unnoticed.
    """

    def compiled(function: Function) -> Function:
        try:
            return _compiled(function, list(signatures), cache=True)
        except RuntimeError as error:
            # Neither the package's folder nor the user's cache can be written: compile each time.
            if "no locator available" not in str(error):
                raise
            return _compiled(function, list(signatures), cache=False)

    return compiled


def _compiled(function: Function, signatures: list[str], *, cache: bool) -> Function:
    options = {"cache": cache, "nogil": True, "error_model": "numpy", "boundscheck": False}
    result: Function = numba.njit(signatures, **options)(function)
    return result
