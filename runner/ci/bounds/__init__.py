"""How many rows an estimate needs, by one theorem a module; pure functions of numbers.

Each takes ln(1/delta) in place of delta, since a delta shared among 2^10000 histories is no float,
and answers a real number of rows, to be rounded up; ``binomial`` is exact and answers whole rows.
"""

from __future__ import annotations

NAMES = ("auto", "hoeffding", "bennett", "binomial")
"""What a file or an option may call for; ``auto`` takes the smallest plan that is valid."""
