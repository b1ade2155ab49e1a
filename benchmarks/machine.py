"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from runner.engine import machine


def description() -> str:
    """Machine, Python, Ray and how busy the machine was, in one line."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{machine()}; Python {platform.python_version()}, ray {version('ray')}; load {load}"
