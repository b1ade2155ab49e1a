"""Machine code of the families' inner loops: one module a family, imported where it trains.

Importing a module compiles its kernels, or loads them from the cache on disk: seconds the first
time, milliseconds afterwards, and never within a timed fit. ``python -m runner.models.kernels``
fills the cache.
"""
