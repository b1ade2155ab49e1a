"""How good systems are beside human experts: mlbench's measures, tables and rules.

Pure functions of plain data. ``study`` is what a study found; ``published`` fills it from printed
tables, runner.report from a store.
"""

from __future__ import annotations
