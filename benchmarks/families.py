"""What each family's fits cost, beside its peers, and what sharing them saves.

``python -m benchmarks.families`` prints two tables in Markdown for each of three shapes: every
family's whole grid with shared and separate fits, and its cheapest and dearest configuration; below
them, which costs are above the aims. All fits are run on the smaller two shapes. On the largest,
where they would take 40 minutes, and of the families outside mlbench a tenth is run, evenly drawn
by predicted cost and scaled by it. One process, one thread; together about a quarter of an hour on
a quiet machine.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from statistics import median
from time import perf_counter, process_time
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.expected import EXPECTED, FACTORS, FOREST_SHARE, TOO_LITTLE, WITHIN, Cost, ratio
from benchmarks.folds import SHAPES, Fold
from benchmarks.machine import description
from benchmarks.peers import peer
from runner.config import PLATFORMS
from runner.models import FAMILIES, Configuration, Family

MLBENCH = PLATFORMS["Azure"]
SAMPLES = {"small": 1.0, "medium": 1.0, "large": 0.1}
EXTRA_SAMPLE = 0.1
FEWEST_SAMPLED = 2
SHORT_SECONDS = 0.2
MOST_REPEATS = 101

Group = tuple[tuple[int, Configuration], ...]
Timed = TypeVar("Timed")


@dataclass(frozen=True)
class Passing:
    """One fit through the configurations of a group.

    Attributes:
        cpu: CPU seconds of the whole.
        fit_seconds: For each configuration, as a sweep records it.
    """

    cpu: float
    fit_seconds: tuple[float, ...]


@dataclass(frozen=True)
class Grid:
    """A family's grid.

    Attributes:
        run: How many of its fits were run.
        fits: How many there are.
        separate: CPU seconds of all configurations fitted by themselves; extrapolated where not
            all fits were run, as ``shared``.
        shared: CPU seconds of all shared fits.
        alone: CPU seconds of each configuration that was run, by configuration_id.
        ratios: fit_seconds shared / separate of each.
    """

    run: int
    fits: int
    separate: float
    shared: float
    alone: Mapping[int, float]
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class Extreme:
    """A family's cheapest or dearest configuration.

    Attributes:
        cpu: CPU seconds.
        expected: What they were expected to be; None where nothing was.
        peer: The peer's name; empty where there is none.
        peer_cpu: The peer's CPU seconds.
    """

    family: str
    which: str
    values: Configuration
    cpu: float
    expected: float | None
    peer: str
    peer_cpu: float | None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--sample", type=float, help="share of the fits to run on every shape")
    arguments = parser.parse_args()
    # A peer that is stopped after an epoch says so.
    warnings.filterwarnings("ignore", module="sklearn")
    print(description())
    with threadpool_limits(1):
        for shape in arguments.shapes:
            fold = SHAPES[shape]()
            families = [FAMILIES[name] for name in arguments.families]
            print(f"\n## {fold.shape}, one 80 % fold: {fold.training}\n")
            grids = print_grids(shape, fold, families, arguments.sample or SAMPLES[shape])
            print()
            extremes = print_extremes(shape, fold, families, grids)
            print()
            print_aims(shape, grids, extremes)


def print_grids(
    shape: str, fold: Fold, families: Sequence[Family], share: float
) -> Mapping[str, Grid]:
    """A table of each family's grid, and of all eight of mlbench; what it shows, by family."""
    print(
        "| family | fits run | separate, CPU s | shared, CPU s | factor | expected, CPU s | "
        "found / expected | fit_seconds shared / separate, median |"
    )
    print("|---|---|---|---|---|---|---|---|")
    grids: dict[str, Grid] = {}
    for model in families:
        part = share if model.name in MLBENCH else min(share, EXTRA_SAMPLE)
        grids[model.name] = found = grid(model, fold, part)
        told = _expected_grid(EXPECTED[shape].get(model.name), found)
        _print_grid(model.name, found, *told, f"{median(found.ratios):.2f}")
    of_mlbench = [found for name, found in grids.items() if name in MLBENCH]
    if len(of_mlbench) == len(MLBENCH):
        _print_grid("all eight", _total(of_mlbench), f"at least {FACTORS[shape]:g} times", "", "")
        print(
            f"\nIf every family cost what was expected: {_expected_factor(shape, grids):.2f} times."
        )
    if any(found.run < found.fits for found in grids.values()):
        print("\nWhere not all fits were run, sums are scaled by the predicted costs.")
    return grids


def print_extremes(
    shape: str, fold: Fold, families: Sequence[Family], grids: Mapping[str, Grid]
) -> tuple[Extreme, ...]:
    """A table of each family's cheapest and dearest configuration, and what it shows."""
    print(
        "| family | configuration | CPU s | expected | found / expected | "
        "peer | CPU s | family / peer |"
    )
    print("|---|---|---|---|---|---|---|---|")
    found: list[Extreme] = []
    for model in families:
        expected = EXPECTED[shape].get(model.name)
        wanted = (None, None) if expected is None else (expected.cheapest, expected.dearest)
        extremes = _extremes(model, fold, grids[model.name])
        for which, (values, cpu), seconds in zip(
            ("cheapest", "dearest"), extremes, wanted, strict=False
        ):
            beside = _beside(model.name, values, fold)
            found.append(Extreme(model.name, which, values, cpu, seconds, *beside))
            _print_extreme(found[-1])
    return tuple(found)


def print_aims(shape: str, grids: Mapping[str, Grid], extremes: Sequence[Extreme]) -> None:
    """Which costs are further above what was expected than they may be, and C-DF's share."""
    ratios: dict[str, float | None] = {}
    for name, found in grids.items():
        if cost := EXPECTED[shape].get(name):
            ratios[f"{name}'s separate grid"] = ratio(found.separate, cost.separate)
            ratios[f"{name}'s shared grid"] = ratio(found.shared, cost.shared)
    for one in extremes:
        ratios[f"{one.family}'s {one.which}"] = ratio(one.cpu, one.expected)
    known = {name: value for name, value in ratios.items() if value is not None}
    above = [f"{name} ({value:.2f})" for name, value in known.items() if value > WITHIN]
    print(
        f"At most {WITHIN:g} times what was expected: {len(known) - len(above)} of {len(known)} "
        f"costs. Above: {', '.join(above) or 'none'}. The peers' times tell the machine's speed; "
        f"what was expected at {TOO_LITTLE:g} s or less isn't compared."
    )
    for one in extremes:
        if (shape, one.family, one.values.get("splits")) == ("large", "C-DF", 1024):
            share = one.cpu / one.peer_cpu if one.peer_cpu else float("nan")
            verdict = "met" if share <= FOREST_SHARE else "missed"
            print(
                f"\nC-DF with 1,024 candidates takes {share:.3f} of {one.peer}; "
                f"aim: at most {FOREST_SHARE:g}: {verdict}."
            )


def passing(model: Family, group: Group, prepared: Any) -> Passing:
    """Fit once through the configurations of a group, as a sweep's job does."""
    estimator = model.estimator(group[-1][1], seed=0, threads=1)
    path = estimator.path(prepared, [model.stop(values) for _, values in group])
    spent = cpu = 0.0
    fit_seconds = []
    for _ in group:
        wall, processor = perf_counter(), process_time()
        own = next(path)
        cpu += process_time() - processor
        spent += perf_counter() - wall
        fit_seconds.append(spent if own is None else own.own)
    return Passing(cpu, tuple(fit_seconds))


def grid(model: Family, fold: Fold, share: float) -> Grid:
    """Run a share of a family's fits, each shared and then separately."""
    prepared = _prepared(model, fold)
    groups = model.fits(model.configurations())
    drawn = _drawn(groups, lambda group: _cost(model, group, fold), share)
    shared = 0.0
    alone: dict[int, float] = {}
    ratios: list[float] = []
    for group in drawn:
        together, separate = _side_by_side(model, group, prepared)
        shared += together.cpu
        for (number, _), seconds, fit in zip(group, together.fit_seconds, separate, strict=True):
            alone[number] = fit.cpu
            ratios.append(seconds / fit.fit_seconds[0])
    scale = sum(_cost(model, group, fold) for group in groups)
    scale /= sum(_cost(model, group, fold) for group in drawn)
    total = sum(alone.values())
    return Grid(len(drawn), len(groups), total * scale, shared * scale, alone, tuple(ratios))


def _prepared(model: Family, fold: Fold) -> Any:
    _, values = model.configurations()[0]
    model.warm_up(values, threads=1)
    return model.estimator(values, seed=0, threads=1).prepare(fold.X, fold.y)


def _extremes(model: Family, fold: Fold, found: Grid) -> list[tuple[Configuration, float]]:
    """The cheapest and the dearest configuration and their CPU seconds.

    By what was measured where all were; else by their predicted costs, and measured here.
    """
    configurations = model.configurations()
    complete = found.run == found.fits
    rows, columns = fold.X.shape

    def cost(one: tuple[int, Configuration]) -> float:
        return found.alone[one[0]] if complete else model.cost(one[1], rows, columns)

    ends = dict([min(configurations, key=cost), max(configurations, key=cost)]).items()
    if complete:
        return [(values, found.alone[number]) for number, values in ends]
    prepared = _prepared(model, fold)
    return [(values, _cpu_alone(model, values, prepared)) for _, values in ends]


def _beside(family: str, values: Configuration, fold: Fold) -> tuple[str, float | None]:
    """The peer's name and its CPU seconds."""
    other = peer(family, values, fold)
    if other is None:
        return "", None
    seconds = other.times * median(_several(lambda: _cpu(other.fit), float))
    return f"{other.name} ({other.note})" if other.note else other.name, seconds


def _drawn(groups: Sequence[Group], cost: Callable[[Group], float], share: float) -> list[Group]:
    """A share of the groups, at even distances in the order of their cost."""
    by_cost = sorted(groups, key=cost)
    count = max(min(FEWEST_SAMPLED, len(groups)), round(share * len(groups)))
    return [by_cost[int((i + 0.5) * len(groups) / count)] for i in range(count)]


def _cost(model: Family, group: Group, fold: Fold) -> float:
    rows, columns = fold.X.shape
    return sum(model.cost(values, rows, columns) for _, values in group)


def _side_by_side(model: Family, group: Group, prepared: Any) -> tuple[Passing, list[Passing]]:
    """The shared fit of a group and the separate ones of its configurations, in turns.

    Short fits are so repeated, and medians taken. Repeated on its own, a fit would find the
    processor's caches as it left them, and be faster than any fit in a sweep. Each turn begins with
    another of them, since the first one after a pause is the slowest.
    """
    parts = [group, *((one,) for one in group)]
    starts = cycle(range(len(parts)))

    def turn() -> list[Passing]:
        start = next(starts)
        order = [*range(start, len(parts)), *range(start)]
        found = {index: passing(model, parts[index], prepared) for index in order}
        return [found[index] for index in range(len(parts))]

    rounds = _several(turn, lambda one: sum(part.cpu for part in one))
    together, *separate = map(_medians, zip(*rounds, strict=True))
    return together, separate


def _cpu_alone(model: Family, values: Configuration, prepared: Any) -> float:
    return median(_several(lambda: passing(model, ((0, values),), prepared).cpu, float))


def _medians(found: Sequence[Passing]) -> Passing:
    columns = zip(*(one.fit_seconds for one in found), strict=True)
    return Passing(median(one.cpu for one in found), tuple(map(median, columns)))


def _several(measure: Callable[[], Timed], seconds: Callable[[Timed], float]) -> list[Timed]:
    """Measure again until the seconds add up to something."""
    found = [measure()]
    while len(found) < MOST_REPEATS and sum(map(seconds, found)) < SHORT_SECONDS:
        found.append(measure())
    return found


def _cpu(call: Callable[[], object]) -> float:
    started = process_time()
    call()
    return process_time() - started


def _total(grids: Sequence[Grid]) -> Grid:
    return Grid(
        run=sum(one.run for one in grids),
        fits=sum(one.fits for one in grids),
        separate=sum(one.separate for one in grids),
        shared=sum(one.shared for one in grids),
        alone={},
        ratios=(),
    )


def _expected_factor(shape: str, grids: Mapping[str, Grid]) -> float:
    """What sharing would save of the whole with the expected costs and the factors found here.

    The whole's factor is that of the families on which most of the time is spent: a family that
    has become fast weighs little in it, however much is shared.
    """
    separate = shared = 0.0
    for name, cost in EXPECTED[shape].items():
        if cost.separate is not None:
            separate += cost.separate
            shared += cost.separate * grids[name].shared / grids[name].separate
    return separate / shared


def _expected_grid(cost: Cost | None, found: Grid) -> tuple[str, str]:
    """What was expected of the separate and the shared grid, and how many times that they took."""
    if cost is None or cost.separate is None or cost.shared is None:
        return "", ""
    ratios = ratio(found.separate, cost.separate), ratio(found.shared, cost.shared)
    return f"{cost.separate:g} / {cost.shared:g}", " / ".join(map(_times, ratios))


def _print_grid(name: str, found: Grid, expected: str, times: str, fits: str) -> None:
    print(
        f"| {name} | {found.run} of {found.fits} | {_short(found.separate)} | "
        f"{_short(found.shared)} | {found.separate / found.shared:.2f} | {expected} | {times} | "
        f"{fits} |",
        flush=True,
    )


def _print_extreme(one: Extreme) -> None:
    row = (
        one.family,
        ", ".join(f"{name} {value}" for name, value in one.values.items()),
        _short(one.cpu),
        "" if one.expected is None else _short(one.expected),
        _times(ratio(one.cpu, one.expected)),
        one.peer or "none",
        "" if one.peer_cpu is None else _short(one.peer_cpu),
        "" if one.peer_cpu is None else f"{one.cpu / one.peer_cpu:.2g}",
    )
    print(f"| {' | '.join(row)} |", flush=True)


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _short(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 100 else f"{seconds:.2g}"


if __name__ == "__main__":
    main()
