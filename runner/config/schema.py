"""The keys of a sweep's file and what each may hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from runner.errors import suggestion

_UNITS = {"b": 1}
_UNITS |= {f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)}
_UNITS |= {f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
# A forked child holds 7 MiB when its work begins (docs/sandbox.md, baseline_mib).
_LEAST_MEMORY = 10_000_000
_MOST_MEMORY = 2**62
# In a file the key is left out; a value of it is checked as one.
_UNLIMITED: Any = None
TIMINGS = ("packed", "exclusive")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST_NAME = 100
"""Names become files' names, two of them in one, of which 255 bytes are allowed."""


def memory_bytes(value: Any) -> int:
    """As :func:`size_bytes`, of no less than a process needs.

    Raises:
        ValueError: Says what would be right.
    """
    size = size_bytes(value)
    if size < _LEAST_MEMORY:
        raise ValueError(
            f"of {size:,} bytes holds no process, which has 7 MiB before its work begins; write "
            "2GB, say (a number without a unit is bytes)"
        )
    return size


def size_bytes(value: Any) -> int:
    """Bytes from a size such as ``12GB`` (10^9) or ``12GiB`` (2^30); a whole number is bytes.

    Raises:
        ValueError: Says what would be right.
    """
    size = _size(value)
    if size is None or size < 1:
        raise ValueError(f"must be a size such as 2GB, 500MB or 2GiB, not {value!r}")
    return size


def _size(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2].lower() not in _UNITS:
        return None
    size = float(match[1]) * _UNITS[match[2].lower()]
    return round(size) if size < _MOST_MEMORY else None


def safe_name(value: str) -> str:
    """A name that can be a file's name everywhere.

    Raises:
        ValueError: Says what would be right.
    """
    if not _NAME.fullmatch(value):
        raise ValueError(
            f"may hold letters, digits, '.', '_' and '-' and starts with a letter or digit, "
            f"unlike {value!r}"
        )
    if len(value) > _LONGEST_NAME:
        raise ValueError(f"has {len(value)} characters; {_LONGEST_NAME} are the most")
    return value


def known_timing(value: Any) -> Any:
    if value not in TIMINGS:
        raise ValueError(f"must be 'packed' or 'exclusive', not {value!r}{_near(value, TIMINGS)}")
    return value


def _near(value: Any, valid: Sequence[str]) -> str:
    """The nearest of valid names, which a message has listed already; nothing where none is."""
    hint = suggestion(value, valid) if isinstance(value, str) else ""
    return f": {hint}" if hint.startswith("did you mean") else ""


def _sweep(value: Any) -> Any:
    if value == "ensembles":
        raise ValueError("must be 'sweep': `runner metatask simulate` runs studies of ensembles")
    if value != "sweep":
        raise ValueError(f"must be 'sweep', not {value!r}{_near(value, ['sweep'])}")
    return value


Name = Annotated[str, AfterValidator(safe_name)]


def _refits(value: Any) -> Any:
    if value == "all" or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise ValueError(
        "must be how many of each system's configurations are fitted again, at least 1, or all, "
        f"not {value!r}"
    )


def _two_columns(value: Any) -> Any:
    names = value if isinstance(value, list) else []
    if len(names) != 2 or names[0] == names[1] or not all(names):
        raise ValueError(
            "must be two different names, of the column of rows and that of probabilities, such "
            f"as [id, target], not {value!r}"
        )
    return value


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class SandboxKeys(_Keys):
    """What one evaluation may use."""

    cpus: int = Field(default=1, ge=1)
    memory: Annotated[int, BeforeValidator(memory_bytes)] = 2_000_000_000
    seconds: float = Field(default=3600.0, gt=0)
    cpu_seconds: float = Field(default=_UNLIMITED, gt=0)
    processes: int = Field(default=_UNLIMITED, ge=1, lt=2**22)
    file_size: Annotated[int, BeforeValidator(size_bytes)] = _UNLIMITED


class _TaskKeys(_Keys):
    """What every task may have."""

    name: Name | None = None
    positive: str | None = None
    leaderboard: str | None = Field(default=None, min_length=1)
    teams: int | None = Field(default=None, ge=1)
    winning: float | None = Field(default=None, gt=0, le=1)


class FileTaskKeys(_TaskKeys):
    """A task in a file."""

    file: str = Field(min_length=1)
    target: str
    test: str | None = Field(default=None, min_length=1)
    categorical: list[str] = []
    id: str | None = Field(default=None, min_length=1)
    submission: Annotated[list[str], BeforeValidator(_two_columns)] | None = None


class BundledTaskKeys(_TaskKeys):
    """A data set that scikit-learn brings along."""

    sklearn: str


class OpenmlTaskKeys(_TaskKeys):
    """A task of OpenML."""

    openml: int = Field(ge=1)


class EstimatorKeys(_Keys):
    """A system that is a user's own class."""

    estimator: str = Field(min_length=1)
    name: Name | None = None
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    linear: bool = False


class SweepKeys(_Keys):
    """A sweep's file. Tasks and systems come in several forms and are checked one by one."""

    kind: Annotated[Literal["sweep"], BeforeValidator(_sweep)]
    name: Name
    tasks: list[Any] = Field(min_length=1)
    holdout: float = Field(default=0.2, gt=0, lt=0.9)
    folds: int = Field(default=5, ge=2, le=127)
    seed: int = Field(default=0, ge=0, lt=2**32)
    systems: list[Any] = Field(min_length=1)
    platforms: dict[Name, Annotated[list[str], Field(min_length=1)]] | None = Field(
        default=None, min_length=1
    )
    sandbox: SandboxKeys = SandboxKeys()
    threads: int = Field(default=1, ge=1)
    timing: Annotated[Literal["packed", "exclusive"], BeforeValidator(known_timing)] = "packed"
    repeats: int = Field(default=1, ge=1, le=1000)
    share_fits: bool = True
    predictions: bool = False
    refit: Annotated[int | Literal["all"], BeforeValidator(_refits)] = 1
