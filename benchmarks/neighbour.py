"""A neighbour that keeps a core and the machine's memory busy until it is ended."""

from __future__ import annotations

import numpy as np


def main() -> None:
    rows = np.random.default_rng(0).normal(size=(2000, 2000))
    print("busy", flush=True)
    while True:
        rows.T.copy() @ rows[:, :50]


if __name__ == "__main__":
    main()
