"""The keys of the file of a study of ensembles and what each may hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from runner.config.schema import Name, SandboxKeys, known_timing
from runner.errors import suggestion


def _ensembles(value: Any) -> Any:
    if value != "ensembles":
        hint = f": {suggestion(value, ['ensembles'])}" if isinstance(value, str) else ""
        raise ValueError(f"must be 'ensembles', not {value!r}{hint}")
    return value


class TechniqueKeys(BaseModel):
    """A technique with a name of its own, or a user's class."""

    model_config = SandboxKeys.model_config

    technique: str = Field(min_length=1)
    name: Name | None = None
    parameters: dict[str, Any] = {}


class EnsembleKeys(BaseModel):
    """The file. Metatasks and techniques come in several forms and are checked one by one."""

    model_config = SandboxKeys.model_config

    kind: Annotated[Literal["ensembles"], BeforeValidator(_ensembles)]
    name: Name
    metatasks: list[Any] = Field(min_length=1)
    techniques: list[Any] = Field(default=[], min_length=1)
    protocol: str = "corrected"
    metric: str | None = None
    seed: int = Field(default=0, ge=0, lt=2**32)
    sandbox: SandboxKeys = SandboxKeys()
    threads: int = Field(default=1, ge=1)
    timing: Annotated[Literal["packed", "exclusive"], BeforeValidator(known_timing)] = "packed"
    predictions: bool = True
