"""A technique that was chosen, with its parameters, as it travels to a sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.ensemble.registry import Listing


@dataclass(frozen=True)
class Choice:
    """A technique of a study.

    Attributes:
        name: What it is called in rows and tables.
        listing: What it is.
        given: The parameters that differ from its defaults.
    """

    name: str
    listing: Listing
    given: Mapping[str, Any]

    @property
    def parameters(self) -> dict[str, Any]:
        """All of them, as rows and keys have them."""
        return {**self.listing.parameters, **self.given}

    @property
    def needs_features(self) -> bool:
        """Whether it reads the task's features."""
        return self.listing.needs_features(self.parameters)
