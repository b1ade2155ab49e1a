"""A competition's leaderboard: which rank a score would have had, and what that says of it."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runner.errors import InputError, suggestion

# Best first: the private leaderboard is the one that decides a competition.
_SCORE = (r"private.*", r".*score.*", r"public.*", r"auc|auroc|roc ?auc")
AUC_BOUNDS = (0.0, 1.0)
"""Between which a leaderboard's scores lie that an AUC is ranked among."""

_TEAM = r"team ?(id|name)?"
_RANK = r"rank"


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """The teams of a competition and their scores.

    Attributes:
        scores: float64 (known teams,), best first.
        teams: How many took part; may exceed the known ones. A team whose score is unknown is
            counted as not better than anybody, so that ranks are lower bounds below it.
        winning: The score of the winning code that systems are set against; None where none is
            given, which stands for the leaderboard's best score.
        higher_is_better: Of two scores.
    """

    scores: NDArray[np.float64]
    teams: int
    winning: float | None = None
    higher_is_better: bool = True

    def rank(self, score: float) -> int:
        """The rank a score would have had: 1 + the teams that are strictly better.

        Equal scores share the best of their ranks.
        """
        if self.higher_is_better:
            return 1 + int(np.count_nonzero(self.scores > score))
        return 1 + int(np.count_nonzero(self.scores < score))

    def tolerance(self, score: float) -> float:
        """The least quality tolerance (percent) that a score meets."""
        return quality_tolerance(self.rank(score), self.teams)

    def score_at(self, tolerance: float) -> float | None:
        """The worst known score that is among the top ``tolerance`` percent of the teams.

        None where the tolerance is so small that no rank meets it.
        """
        # As the decimal that was written: 0.07 * 100 in binary isn't 7.
        last = math.floor(Fraction(str(tolerance)) * self.teams / 100)
        return float(self.scores[min(last, len(self.scores)) - 1]) if last >= 1 else None

    @property
    def winning_score(self) -> float:
        """The winning code's score, else the best one."""
        return float(self.scores[0]) if self.winning is None else self.winning


def quality_tolerance(rank: int, teams: int) -> float:
    """``100 rank / teams``, the least percentage of top teams among which that rank is.

    mlbench, section 2.3, definition 1: a user of quality tolerance tau is satisfied only among the
    top tau %.
    """
    return 100 * rank / teams


def leaderboard(
    scores: Sequence[float] | NDArray[np.float64],
    *,
    teams: int | None = None,
    winning: float | None = None,
    higher_is_better: bool = True,
) -> Leaderboard:
    """A leaderboard of scores in any order.

    Args:
        scores: One for each known team.
        teams: How many took part, where not all are known.
        winning: The winning code's score, where it isn't the best one's.
        higher_is_better: Of two scores.

    Raises:
        InputError: There is no score, one isn't finite, or there are fewer teams than scores.
    """
    ordered = np.sort(np.asarray(scores, dtype=np.float64))
    if higher_is_better:
        ordered = ordered[::-1]
    if not len(ordered):
        raise InputError("a leaderboard needs the score of one team at least")
    if not np.isfinite(ordered).all() or (winning is not None and not math.isfinite(winning)):
        raise InputError("the scores of a leaderboard must be finite numbers")
    if teams is not None and teams < len(ordered):
        raise InputError(
            f"teams must be {len(ordered)} or more, the scores that there are, not {teams}"
        )
    return Leaderboard(ordered, len(ordered) if teams is None else teams, winning, higher_is_better)


def read_leaderboard(
    path: str | Path,
    *,
    column: str | None = None,
    teams: int | None = None,
    winning: float | None = None,
    higher_is_better: bool = True,
    bounds: tuple[float, float] | None = None,
) -> Leaderboard:
    """Reads a CSV file with a header line and one score a team.

    The scores are taken from the column that is named so (private before public); a column of
    ranks, if there is one, must agree with them. Where a column names the teams and a team stands
    in several lines, as in Kaggle's exports of public leaderboards, its best score counts.

    Args:
        path: The file.
        column: The scores' column; by default the one whose name says so.
        teams: How many took part, where the file lacks some.
        winning: The winning code's score, where it isn't the best one's.
        higher_is_better: Of two scores.
        bounds: The least and the greatest score that the measure can have; None for any.

    Raises:
        InputError: With file and line, for a file that isn't so.
    """
    path = Path(path)
    names, rows = _read(path)
    index = _score_column(path, names, column)
    found = [(line, _score(path, line, row, index, names[index])) for line, row in rows]
    if bounds is not None:
        _check_bounds(path, found, bounds)
    rank = _find(names, _RANK)
    if rank is not None:
        ranks = [row[rank] for _, row in rows]
        _check_order(path, ranks, found, higher_is_better)
    team = _find(names, _TEAM)
    scores = [score for _, score in found]
    if team is not None:
        scores = _best_by_team([row[team] for _, row in rows], scores, higher_is_better)
    try:
        return leaderboard(scores, teams=teams, winning=winning, higher_is_better=higher_is_better)
    except InputError as error:
        raise InputError(error.message, file=path) from None


_Rows = list[tuple[int, list[str]]]


def _read(path: Path) -> tuple[list[str], _Rows]:
    """The names of the columns, and the cells of each line with its number."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(_rows(path, file))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't UTF-8 text"
        raise InputError(f"can't be read: {reason}", file=path) from None
    if len(rows) < 2:
        raise InputError("a leaderboard needs a header line and a line for each team", file=path)
    (line, names), *rest = rows
    if any(_number(name) is not None for name in names):
        raise InputError(
            "the first line must name the columns, such as `score`, not hold numbers",
            file=path,
            line=line,
        )
    for line, row in rest:
        if len(row) != len(names):
            raise InputError(
                f"the line has {len(row)} cells where the header has {len(names)}",
                file=path,
                line=line,
            )
    return names, rest


def _rows(path: Path, file: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(file)
    try:
        for row in reader:
            if row:
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise InputError(f"isn't CSV: {error}", file=path, line=reader.line_num) from None


def _score_column(path: Path, names: list[str], wanted: str | None) -> int:
    if wanted is not None:
        if wanted not in names:
            raise InputError(
                f"there is no column {wanted!r}: {suggestion(wanted, names)}", file=path, line=1
            )
        return names.index(wanted)
    found = next(
        (index for pattern in _SCORE if (index := _find(names, pattern)) is not None), None
    )
    if found is None:
        raise InputError(
            f"no column is named `score`; there are {', '.join(map(repr, names))}",
            file=path,
            line=1,
        )
    return found


def _find(names: list[str], pattern: str) -> int | None:
    """The first column whose name, in plain words, is of that pattern."""
    plain = [" ".join(re.findall(r"[a-z0-9]+", name.casefold())) for name in names]
    return next((index for index, name in enumerate(plain) if re.fullmatch(pattern, name)), None)


def _score(path: Path, line: int, row: list[str], index: int, name: str) -> float:
    score = _number(row[index])
    if score is None or not math.isfinite(score):
        raise InputError(f"{name} must be a number, not {row[index]!r}", file=path, line=line)
    return score


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _check_bounds(
    path: Path, scores: Sequence[tuple[int, float]], bounds: tuple[float, float]
) -> None:
    least, greatest = bounds
    for line, score in scores:
        if not least <= score <= greatest:
            raise InputError(
                f"the score {score:g} isn't from {least:g} to {greatest:g}", file=path, line=line
            )


def _check_order(
    path: Path, ranks: Sequence[str], scores: Sequence[tuple[int, float]], higher_is_better: bool
) -> None:
    ranked: list[tuple[float, int, float]] = []
    for text, (line, score) in zip(ranks, scores, strict=True):
        rank = _number(text)
        if rank is None or not rank >= 1:
            raise InputError(f"rank must be a number from 1 on, not {text!r}", file=path, line=line)
        ranked.append((rank, line, score))
    for (_, _, before), (rank, line, score) in pairwise(sorted(ranked, key=lambda item: item[0])):
        if (score > before) if higher_is_better else (score < before):
            raise InputError(
                f"rank {rank:g} has a better score than the rank before it: "
                "ranks and scores contradict each other",
                file=path,
                line=line,
            )


def _best_by_team(
    teams: Sequence[str], scores: Sequence[float], higher_is_better: bool
) -> list[float]:
    better = max if higher_is_better else min
    best: dict[str, float] = {}
    for team, score in zip(teams, scores, strict=True):
        best[team] = better(best.get(team, score), score)
    return list(best.values())
