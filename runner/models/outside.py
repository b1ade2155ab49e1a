"""Classifier classes from outside the package: found, checked, and made into families."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, is_classifier

from runner.errors import InputError, suggestion
from runner.models.family import Choice, Family, Free, Parameter, Value, checked_values
from runner.models.provenance import installed, provenance
from runner.models.trial import try_import
from runner.models.whole_fit import Build

SEED = ("random_state",)
THREADS = ("n_jobs", "threads")
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class OutsideClass:
    """A classifier class that a study names.

    Attributes:
        origin: ``package.module:Class``.
        found: The class itself.
    """

    origin: str
    found: type

    @classmethod
    def load(cls, origin: str, folder: Path | None = None) -> OutsideClass:
        """Import the class.

        Args:
            origin: ``package.module:Class``.
            folder: Where modules are looked for besides where Python looks; it stays on
                ``sys.path``, so that the processes that fit find them too.

        Raises:
            InputError: There is no such module or class, its module can't be imported, crashes
                or hangs there, or the class is no classifier.
        """
        found = load_class(origin, folder)
        if not _classifies(found):
            raise InputError(
                f"{found.__name__} is no classifier: it needs fit(X, y) and decision_function(X) "
                "or predict_proba(X)"
            )
        return cls(origin, found)

    @property
    def name(self) -> str:
        """The class's own."""
        return self.found.__name__

    @property
    def parameters(self) -> tuple[str, ...]:
        """What its constructor takes."""
        try:
            return tuple(self.found().get_params(deep=False))
        except Exception:
            # No scikit-learn estimator, or one that isn't made without arguments.
            signature = inspect.signature(self.found).parameters.values()
            return tuple(one.name for one in signature if one.kind not in _ANY)

    def parameter(self, name: str) -> Parameter | Choice | Free:
        """What the class declares of a parameter, as our own families do, or else its default."""
        declared = getattr(self.found, "parameters", None)
        known = declared.get(name) if isinstance(declared, Mapping) else None
        if isinstance(known, Parameter | Choice):
            return known
        return Free(name, (), self._default(name))

    def family(
        self, *, name: str, grid: Mapping[str, Sequence[Value]], linear: bool = False
    ) -> Family:
        """The family of this class.

        Where the class has parameters ``random_state``, ``n_jobs`` or ``threads`` that the grid
        doesn't set, they become the study's seed and threads. A class with ``shared``, ``prepare``
        and ``path`` (``family.PathClassifier``) shares its fits; any other is fitted as a whole.

        Args:
            name: The system's, in the study.
            grid: Values to try by parameter; parameters that it leaves out keep their defaults.
            linear: Whether its decision boundary is linear.

        Raises:
            InputError: The grid names a parameter that there isn't, has none or wrong values for
                one, or the class can't be made.
        """
        known = self.parameters
        for parameter in grid:
            if parameter not in known:
                raise InputError(
                    f"{self.name} has no parameter {parameter!r}: {suggestion(parameter, known)}"
                )
        build = Build(
            self.origin,
            seeded=tuple(one for one in SEED if one in known and one not in grid),
            threaded=tuple(
                (one, self._default(one)) for one in THREADS if one in known and one not in grid
            ),
            passes=_has_path(self.found),
        )
        shared = tuple(self.found.shared) if build.passes else ()  # type: ignore[attr-defined]
        values = dict(grid) | {one: (self._default(one),) for one in shared if one not in grid}
        source = self.origin.partition(":")[0]
        code = provenance(self.found, source)
        family = Family(
            name=name,
            version=code.digest,
            libraries=code.distributions,
            parameters={one: self._swept(one, tuple(values[one])) for one in values},
            shared=shared,
            descending=bool(getattr(self.found, "descending", False)),
            linear=linear,
            estimator=build,
            cost=_cost,
            preload=("runner.models.whole_fit", "threadpoolctl", source),
            origin=self.origin,
        )
        self._try(family)
        return family

    def _try(self, family: Family) -> None:
        _, first = family.configurations()[0]
        try:
            family.estimator(first, seed=0, threads=1)
        except Exception as error:
            raise InputError(f"{self.name} can't be made: {_told(error)}{self._needs()}") from None

    def _needs(self) -> str:
        """What to do about parameters without a default, which a grid of scalars may not hold."""
        signature = inspect.signature(self.found).parameters.values()
        needed = [
            repr(one.name)
            for one in signature
            if one.default is inspect.Parameter.empty and one.kind not in _ANY
        ]
        if not needed:
            return ""
        return (
            f"; {' and '.join(needed)} {'has' if len(needed) == 1 else 'have'} no default: give "
            "values in the grid, or wrap it in a class of your own that sets them "
            "(docs/extending.md)"
        )

    def _swept(self, name: str, values: Sequence[Value]) -> Parameter | Choice | Free:
        known: Any = self.parameter(name)
        plain = checked_values(self.name, known, values)
        if isinstance(known, Free):
            return Free(name, plain, self._default(name, plain[0]))
        declared: Parameter | Choice = replace(known, swept=plain)
        return declared

    def _default(self, name: str, otherwise: Value = None) -> Any:
        signature = inspect.signature(self.found).parameters
        given = signature[name].default if name in signature else inspect.Parameter.empty
        return otherwise if given is inspect.Parameter.empty else given


def load_class(origin: str, folder: Path | None = None) -> type:
    """Import a class, whatever it is.

    Args:
        origin: ``package.module:Class``.
        folder: As ``OutsideClass.load`` has it.

    Raises:
        InputError: There is no such module or class, or its module can't be imported, crashes or
            hangs there.
    """
    name, _, attribute = origin.partition(":")
    if not all(part.isidentifier() for part in (*name.split("."), attribute)):
        raise InputError(f"a class is named package.module:Class{_respelt(origin)}, not {origin!r}")
    module = _module(name, folder)
    found = getattr(module, attribute, None)
    if not isinstance(found, type):
        raise InputError(_no_class(name, attribute, module))
    return found


def _module(name: str, folder: Path | None) -> Any:
    if folder is not None and (place := str(folder.resolve())) not in sys.path:
        # Last: a study's neighbours hide no installed package.
        sys.path.append(place)
    importlib.invalidate_caches()
    try_import(name)
    try:
        # What a module prints isn't a command's result.
        with contextlib.redirect_stdout(sys.stderr):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise InputError(f"module {name!r} can't be imported: {_told(error)}") from None
        raise InputError(_missing(error.name, folder)) from None
    except (Exception, SystemExit) as error:
        raise InputError(f"module {name!r} can't be imported: {_told(error)}") from None


def _no_class(name: str, attribute: str, module: Any) -> str:
    if callable(getattr(module, attribute, None)):
        return (
            f"{name}:{attribute} is a function, not a class: an estimator is a class with "
            "fit(X, y) and decision_function(X) or predict_proba(X)"
        )
    public = {key: value for key, value in vars(module).items() if key[0] != "_"}
    classes = [key for key, value in public.items() if isinstance(value, type)]
    return f"module {name!r} has no class {attribute!r}: {suggestion(attribute, classes)}"


def _missing(name: str, folder: Path | None) -> str:
    """What to say of a module that isn't there; ``name`` is it or a package around it."""
    parent, _, last = name.rpartition(".")
    if parent:
        places = list(getattr(sys.modules[parent], "__path__", []))
        valid = [f"{parent}.{module.name}" for module in pkgutil.iter_modules(places)]
        return f"package {parent!r} has no module {last!r}: {suggestion(name, valid)}"
    places = [] if folder is None else [str(folder.resolve())]
    valid = [module.name for module in pkgutil.iter_modules(places)]
    near = difflib.get_close_matches(name, [*valid, *installed()], n=1)
    where = "where Python looks" if folder is None else "where Python looks or beside the study"
    hint = f"did you mean {near[0]!r}?" if near else "is it installed here?"
    return f"there is no module {name!r} {where}: {hint}"


def _respelt(origin: str) -> str:
    module, _, name = origin.rpartition(".")
    return f", such as {f'{module}:{name}'!r}" if module and ":" not in origin else ""


def _classifies(found: type) -> bool:
    if not callable(getattr(found, "fit", None)):
        return False
    if not (hasattr(found, "decision_function") or hasattr(found, "predict_proba")):
        return False
    if not issubclass(found, BaseEstimator):
        return True
    try:
        return bool(is_classifier(found()))
    except TypeError:
        # It isn't made without arguments.
        return True


def _has_path(found: type) -> bool:
    return all(hasattr(found, name) for name in ("shared", "prepare", "path"))


def _told(error: BaseException) -> str:
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _cost(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    # Nothing is known until the store has seen some: middling, so that neither end of a run
    # waits for it.
    return 0.05 + 1e-6 * rows * columns
