"""Ensemble techniques beside their peers: ``python -m benchmarks.ensembles``.

Prints tables in Markdown: CPU seconds of ensemble selection, ours and others', of the techniques on
one fold, of opening a large metatask, and how much memory a fold takes. Peers run under their own
interpreters, since what they need doesn't get on with what we need:

    uv venv amltk && uv pip install --python amltk/bin/python amltk scikit-learn
    uv venv tabarena && uv pip install --python tabarena/bin/python tabarena
    python -m benchmarks.ensembles --amltk amltk/bin/python --tabarena tabarena/bin/python

One that isn't named is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.ensemble_rivals import ITERATIONS, REPEATS
from benchmarks.machine import description
from runner.ensemble.protocols import CORRECTED, halves, run
from runner.ensemble.registry import PAPER_TECHNIQUES, TECHNIQUES
from runner.ensemble.selection import EnsembleSelection
from runner.ensemble.technique import Part
from runner.metatask import Metatask, Model, Stored, files, original

RIVALS = Path(__file__).with_name("ensemble_rivals.py")
MODELS = 50
ORIGINAL_FOLD = 4.0
"""CPU seconds of the original's program for a fold of 200 rows and 50 models, where it was measured
(another machine: an AMD EPYC); without reading the metatask."""


@dataclass(frozen=True)
class Shape:
    """What is selected from, and the most CPU seconds it should take."""

    rows: int
    classes: int
    aim: float


SHAPES = (Shape(2_000, 2, 0.03), Shape(20_000, 2, 0.25), Shape(1_800, 10, 0.3))
LARGE_ROWS = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--amltk", type=Path, help="a Python that has amltk and scikit-learn")
    parser.add_argument("--tabarena", type=Path, help="a Python that has tabarena")
    parser.add_argument(
        "--metatask", type=Path, help="whose first fold to run; default: a made one"
    )
    parser.add_argument("--peak", nargs=2, metavar=("FILE", "TECHNIQUE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        print(json.dumps(peak(Path(arguments.peak[0]), arguments.peak[1])))
        return
    print(description(), "\n")
    peers = {name: getattr(arguments, name) for name in ("amltk", "tabarena")}
    _print(selection({name: path for name, path in peers.items() if path is not None}))
    _print(fold(_opened(arguments.metatask)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "large.arrow")
        files.write(made(LARGE_ROWS, 2, seed=2), file)
        _print(opening(file))
        _print(memory(file))


def selection(peers: dict[str, Path]) -> Iterator[Sequence[Any]]:
    """CPU seconds of 50 iterations over 50 models."""
    interpreters = {"loop": Path(sys.executable), **peers}
    yield ("rows x classes", "ours, s", "aim, s", *(f"{name}, s (ratio)" for name in interpreters))
    for shape in SHAPES:
        part = _part(shape.rows, shape.classes)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "predictions.npz")
            np.savez(file, confidences=part.confidences, y=part.y)
            theirs = [_rival(name, path, file) for name, path in interpreters.items()]
        ours, order = _ours(part)
        assert theirs[0]["order"] == order, "the plain loop selects other models"
        yield (
            f"{shape.rows} x {shape.classes}",
            f"{ours:.3f}",
            shape.aim,
            *(f"{one['seconds']:.3f} ({one['seconds'] / ours:.0f})" for one in theirs),
        )


def fold(metatask: Metatask) -> Iterator[Sequence[Any]]:
    """CPU seconds of the paper's techniques on the first fold of a metatask, protocol corrected."""
    yield ("technique", "fit and predict, CPU s")
    parts = halves(metatask, metatask.fold_numbers[0], CORRECTED, features=True)
    total = 0.0
    for name in PAPER_TECHNIQUES:
        seconds = min(_technique(name, parts.fit, parts.score) for _ in range(REPEATS + 1))
        total += seconds
        yield (name, f"{seconds:.4f}")
    start = time.process_time()
    halves(metatask, metatask.fold_numbers[0], CORRECTED, features=True)
    parting = time.process_time() - start
    yield ("halves and features", f"{parting:.4f}")
    rows = len(parts.fit.y) + len(parts.score.y)
    yield (f"all, {rows} rows, {len(metatask.models)} models", f"{total + parting:.3f}")
    yield (
        "the original's 4.0 s, another machine's, are times as much",
        f"{ORIGINAL_FOLD / (total + parting):.0f}",
    )


def opening(file: Path) -> Iterator[Sequence[Any]]:
    """Wall seconds until a large metatask is open."""
    yield (f"metatask of {LARGE_ROWS} rows x {MODELS} models x 2 classes", "s", "aim, s")
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        files.read(file)
        seconds.append(time.perf_counter() - start)
    yield ("open", f"{min(seconds):.4f}", 0.1)


def memory(file: Path) -> Iterator[Sequence[Any]]:
    """The peak of resident memory over that of the imports, a process a technique."""
    stored = files.read(file).tested
    size = stored.confidences.nbytes + stored.predictions.nbytes
    yield (f"technique, one fold of {LARGE_ROWS // 10} rows", "peak over predictions' size", "aim")
    for name in PAPER_TECHNIQUES:
        command = [sys.executable, "-m", "benchmarks.ensembles", "--peak", str(file), name]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        yield (name, f"{json.loads(told) / size:.2f}", 1.2)


def peak(file: Path, name: str) -> float:
    """Bytes that a technique's fit and prediction on a fold add to the resident memory."""
    _technique(name, *_small())
    before = _most_resident()
    metatask = files.read(file)
    listing = TECHNIQUES[name]
    parts = halves(metatask, 0, CORRECTED, features=listing.needs_features({}))
    run(listing.make({}), parts.fit, parts.score)
    return _most_resident() - before


def _most_resident() -> float:
    """Bytes; what ``getrusage`` tells would count the parent's from before the program began."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def made(rows: int, classes: int, seed: int) -> Metatask:
    """A metatask of 50 models of unlike skill, ten folds, and 18 numeric and 2 other columns."""
    rng = np.random.default_rng(seed)
    part = _part(rows, classes, seed)
    features = {f"f{column}": rng.normal(size=rows) for column in range(18)}
    features |= {f"c{column}": rng.choice(list("abcde"), rows) for column in range(2)}
    return Metatask(
        name=f"made-{rows}",
        dataset="made",
        target="class",
        classes=tuple("abcdefghij"[:classes]),
        features=pa.table(features),
        categorical=("c0", "c1"),
        labels=part.y,
        folds=(np.arange(rows) % 10).astype(np.int16),
        models=tuple(Model(f"model {one}") for one in range(MODELS)),
        tested=Stored(np.arange(rows, dtype=np.int32), part.predictions, part.confidences),
    )


def _part(rows: int, classes: int, seed: int = 0) -> Part:
    """Half of the models' confidences have two decimals, as forests' have: they tie."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows).astype(np.int16)
    shared = 0.8 * rng.normal(size=(rows, classes))
    confidences = np.empty((MODELS, rows, classes), dtype=np.float32)
    for model in range(MODELS):
        noise = rng.uniform(0.3, 1.2) * rng.normal(size=(rows, classes))
        scores = np.exp(1.2 * np.eye(classes)[y] + shared + noise)
        confidences[model] = scores / scores.sum(axis=1, keepdims=True)
    confidences[MODELS // 2 :] = confidences[MODELS // 2 :].round(2)
    return Part(confidences, confidences.argmax(axis=2).astype(np.int16), y)


def _small() -> tuple[Part, Part]:
    parts = halves(made(200, 2, seed=3), 0, CORRECTED, features=True)
    return parts.fit, parts.score


def _ours(part: Part) -> tuple[float, list[int]]:
    EnsembleSelection(2).fit(part.confidences[:, :50], part.predictions[:, :50], part.y[:50])
    seconds = []
    selection = EnsembleSelection(ITERATIONS)
    for _ in range(REPEATS):
        start = time.process_time()
        selection.fit(part.confidences, part.predictions, part.y)
        seconds.append(time.process_time() - start)
    return min(seconds), selection.order_[0].tolist()


def _rival(name: str, python: Path, file: Path) -> dict[str, Any]:
    command = [str(python), str(RIVALS), name, str(file)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=_ONE_THREAD)
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return found


_ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _technique(name: str, fit: Part, score: Part) -> float:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    technique = TECHNIQUES[name].make({})
    with threadpool_limits(1):
        start = time.process_time()
        run(technique, fit, score)
        return time.process_time() - start


def _opened(file: Path | None) -> Metatask:
    if file is None:
        return made(2_000, 2, seed=1)
    return original.read(file) if file.suffix in (".csv", ".json") else files.read(file)


def _print(rows: Iterator[Sequence[Any]]) -> None:
    for number, row in enumerate(rows):
        print("|", " | ".join(str(cell) for cell in row), "|", flush=True)
        if number == 0:
            print("|" + "---|" * len(row))
    print()


if __name__ == "__main__":
    main()
