"""The keys of a condition's file and what each may hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from runner.ci.bounds import NAMES
from runner.ci.intervals import MODES
from runner.ci.multiplicity import CHANGES, KINDS
from runner.ci.sealing import check_public
from runner.errors import suggestion

_ADDRESS = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")
TLS = ("none", "starttls", "tls")
METHODS = ("fixed", "sequential")
_ALIASES = {"hybrid": "firstChange"}


def _one_of(choice: Sequence[str]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in choice:
            hint = suggestion(value, choice) if isinstance(value, str) else _listed(choice)
            raise ValueError(f"can't be {value!r}: {hint}")
        return value

    return check


def _listed(choice: Sequence[str]) -> str:
    return suggestion("", choice)


def split_adaptivity(value: str) -> tuple[str, str | None]:
    """``none -> a@b`` as its two halves.

    Raises:
        ValueError: Says what would be right.
    """
    kind, arrow, address = (part.strip() for part in value.partition("->"))
    if kind in _ALIASES:
        raise ValueError(f"{kind!r} is called {_ALIASES[kind]!r}")
    if kind not in KINDS:
        raise ValueError(f"can't be {kind!r}: {suggestion(kind, KINDS)}")
    if not arrow:
        return kind, None
    if kind != "none":
        raise ValueError(f"of {kind!r} tells the developer, so no address can follow it")
    if not _ADDRESS.fullmatch(address):
        raise ValueError(f"needs an address after '->', as in `none -> name@host`, not {address!r}")
    return kind, address


def _adaptivity(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError(f"must be one of {', '.join(KINDS)}, not {value!r}")
    split_adaptivity(value)
    return value


def _address(value: str) -> str:
    if not _ADDRESS.fullmatch(value):
        raise ValueError(f"must be an address such as ci@host, not {value!r}")
    return value


def _whole(value: str) -> str:
    if "\0" in value:
        raise ValueError("can't hold the character 0, which no path and no command can")
    return value


class _Keys(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, populate_by_name=True
    )


# In a file the key is left out; a value of it is checked as one.
_ABSENT: Any = None
Text = Annotated[str, Field(min_length=1), AfterValidator(_whole)]


def _url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]+.*", value):
        raise ValueError("must begin with http:// or https:// and a host")
    return value


def _class_name(value: Any) -> Any:
    """A class as text, as a file of labels has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


def _classes(value: Any) -> Any:
    """How many classes there are, or their names."""
    if isinstance(value, list):
        names = tuple(_class_name(one) for one in value)
        if not all(isinstance(one, str) and one for one in names):
            raise ValueError("must be a number or a list of names, as in [cat, dog, bird]")
        if len(set(names)) < len(names):
            raise ValueError("names a class twice")
        number = len(names)
    else:
        number = value
    if isinstance(number, bool) or not isinstance(number, int) or not 2 <= number <= 10_000:
        raise ValueError("must be a whole number from 2 to 10000, or so many names in a list")
    return names if isinstance(value, list) else number


def _range(value: list[float]) -> list[float]:
    if len(value) != 2 or value[0] >= value[1]:
        raise ValueError("must be the least and the greatest number, as in [0, 100]")
    return value


Address = Annotated[str, AfterValidator(_address)]


class TestSetKeys(_Keys):
    """The test set that is in use."""

    # pytest takes a class of this name for a test.
    __test__ = False

    name: Text
    labels: Text | None = None
    pool: Text | None = None


class MailKeys(_Keys):
    """The server that mail goes through."""

    host: Text
    port: int = Field(default=25, ge=1, le=65535)
    from_: Address = Field(alias="from")
    tls: Annotated[str, BeforeValidator(_one_of(TLS))] = "none"


class AlarmKeys(_Keys):
    """Who is told that a test set is used up."""

    mail: Address | None = None
    webhook: Annotated[str, AfterValidator(_url)] | None = None
    command: Text | None = None


class ConditionKeys(_Keys):
    """The ``ml`` section of a .travis.yml, or a ci.yaml."""

    script: Text | None = None
    condition: Text
    reliability: float = Field(gt=0, lt=1)
    mode: Annotated[str, BeforeValidator(_one_of(MODES))]
    adaptivity: Annotated[str, BeforeValidator(_adaptivity)]
    steps: int = Field(ge=1, le=10**9)
    testset: TestSetKeys = _ABSENT
    ledger: Text | None = None
    smtp: MailKeys = _ABSENT
    alarm: AlarmKeys = _ABSENT
    public_key: Annotated[str, AfterValidator(check_public)] | None = None
    bound: Annotated[str, BeforeValidator(_one_of(NAMES))] = "auto"
    first: Annotated[str, BeforeValidator(_one_of(CHANGES))] | None = None
    passes: int | None = Field(default=None, ge=1)
    difference: float | None = Field(default=None, gt=0, le=1)
    method: Annotated[str, BeforeValidator(_one_of(METHODS))] = "fixed"
    positive: Annotated[str, BeforeValidator(_class_name)] | None = None
    classes: Annotated[int | tuple[str, ...], BeforeValidator(_classes)] = 2
    class_share: float | None = Field(default=None, gt=0, le=0.5)
    range: Annotated[list[float], AfterValidator(_range)] | None = None
    reordered: float | None = Field(default=None, gt=0, le=1)
