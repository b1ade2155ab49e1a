"""Technique classes from outside the package, as the registry lists its own."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from runner.ensemble.registry import SEED, Listing
from runner.errors import InputError
from runner.models.outside import load_class
from runner.models.provenance import provenance

_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def outside_listing(origin: str, folder: Path) -> Listing:
    """A user's technique: its version is its source's digest, its parameters its constructor's.

    Where it has a parameter ``random_state``, that becomes the seed of a task, fold and technique.

    Args:
        origin: ``package.module:Class``.
        folder: Where its module is looked for besides where Python looks.

    Raises:
        InputError: There is no such class, or it is no technique.
    """
    found = load_class(origin, folder)
    oracle = callable(getattr(found, "answer", None))
    learns = all(callable(getattr(found, name, None)) for name in ("fit", "predict"))
    if not (oracle or learns):
        raise InputError(
            f"{found.__name__} is no ensemble technique: it needs fit(confidences, predictions, y, "
            "X) and predict(confidences, predictions, X)"
        )
    module = origin.partition(":")[0]
    code = provenance(found, module)
    taken = _parameters(found)
    return Listing(
        name=found.__name__,
        title=(inspect.getdoc(found) or found.__name__).partition("\n")[0],
        origin=origin,
        version=code.digest,
        parameters={name: value for name, value in taken.items() if name != SEED},
        seeded=SEED in taken,
        oracle=oracle and not learns,
        needs_features=_always,
        libraries=code.distributions,
        preload=(module,),
    )


def _always(parameters: Any) -> bool:
    return True


def _parameters(found: type) -> dict[str, Any]:
    """What its constructor takes, with the defaults; None for what has none."""
    if found.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    signature = inspect.signature(found).parameters.values()
    return {one.name: _plain(one.default) for one in signature if one.kind not in _ANY}


def _plain(default: Any) -> Any:
    """A default as JSON can hold it."""
    if default is inspect.Parameter.empty:
        return None
    return default if isinstance(default, str | int | float | bool | None) else repr(default)
