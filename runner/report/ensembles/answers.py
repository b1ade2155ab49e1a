"""What the numbers of a study of ensembles say, and what they can't."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from runner.ensemble.closed_gap import LARGE_ROWS
from runner.ensemble.statistics import FEWEST_TASKS, LEVEL, Ranking
from runner.mlbench.comparison import Comparison, least_adjusted
from runner.report.ensembles.gaps import BOUNDS, Gaps
from runner.report.ensembles.outcome import Evaluation, Outcome
from runner.report.ensembles.tables import savings
from runner.report.notes import PACKED
from runner.report.table import seconds_text

_ENOUGH_TASKS = 10
"""From which on Friedman's p-value, an approximation, may be relied on (Demsar 2006, 3.2.2)."""
_MOST_FAILURES = 10
"""That are told one by one."""


def notes(outcome: Outcome) -> list[str]:
    """What a reader of the tables must know."""
    return [
        *_unfinished(outcome),
        *_failures(outcome),
        *_protocol(outcome),
        *_times(outcome),
    ]


def sentences(
    outcome: Outcome,
    gaps: Gaps | None,
    ranking: Ranking | None,
    comparisons: Sequence[Comparison],
) -> list[str]:
    """The answers, each to be read alone.

    Args:
        outcome: What was found.
        gaps: Between the bounds; None where the study has none.
        ranking: Of the techniques that aren't oracles.
        comparisons: Theirs, in pairs.
    """
    return [
        *_closed_gaps(outcome, gaps),
        *_ranks(outcome, ranking),
        *_pairs(ranking, comparisons),
        *_savings(outcome),
    ]


def _unfinished(outcome: Outcome) -> Iterator[str]:
    missing = outcome.planned - len(outcome.evaluations)
    if missing or not outcome.finished:
        state = "ended" if outcome.finished else "was interrupted or is still going"
        yield f"Run {outcome.run_id} {state}; {missing} of its evaluations have no row yet."


def _failures(outcome: Outcome) -> Iterator[str]:
    failed = [one for one in outcome.evaluations if one.outcome != "ok"]
    alike: dict[tuple[str, str, str], list[Evaluation]] = {}
    for one in failed:
        alike.setdefault((one.technique, one.task, one.outcome), []).append(one)
    for (technique, task, found), folds in islice(alike.items(), _MOST_FAILURES):
        why = ": ".join(filter(None, (folds[0].reason, folds[0].error)))
        yield (
            f"{technique} on {task} has no mean: {len(folds)} of {outcome.folds[task]} folds are "
            f"{found}{f' ({why})' if why else ''}."
        )
    if len(alike) > _MOST_FAILURES:
        yield f"So have {len(alike) - _MOST_FAILURES} more: table folds."


def _protocol(outcome: Outcome) -> Iterator[str]:
    if outcome.setting.protocol == "paper":
        yield (
            "Protocol paper repeats what the original program did, with its scores of predicted "
            "classes and its misaligned dynamic selection: for comparing with it, not with other "
            "protocols."
        )
    corrupted = [task.name for task in outcome.tasks if task.corrupted]
    if corrupted:
        yield (
            f"Metatasks {', '.join(corrupted)} hold models with corrupted predictions; "
            "`runner metatask filter` leaves them out."
        )


def _times(outcome: Outcome) -> Iterator[str]:
    if any(one.timing == "packed" for one in outcome.evaluations):
        yield PACKED
    machines = {one.machine for one in outcome.evaluations if one.machine}
    if len(machines) > 1:
        yield f"Times of {len(machines)} kinds of machine: not comparable."


def _closed_gaps(outcome: Outcome, gaps: Gaps | None) -> Iterator[str]:
    if gaps is None:
        lacking = [name for name in BOUNDS if outcome.called(name) is None]
        yield f"No closed gaps: the study has no {' and no '.join(lacking)}, their bounds."
        return
    contenders = set(outcome.contenders)
    for which, spreads in (
        ("all tasks", gaps.all_tasks),
        (f"tasks of n >= {LARGE_ROWS}", gaps.large_tasks),
    ):
        if not spreads:
            continue
        means = {name: found.mean for name, found in spreads.items() if name in contenders}
        ranked = sorted(means, key=lambda name: (-means[name], name))
        number = max(found.tasks for found in spreads.values())
        listed = ", ".join(f"{name} {means[name]:.3f}" for name in ranked)
        yield (
            f"Closed gap, mean over {which} ({number} {'task' if number == 1 else 'tasks'}; 0 is "
            f"the single best model, 1 the best choice for each row): {listed}."
        )
    if gaps.without_gap:
        yield (
            "Left out of the closed gaps, for their single and virtual best are equal: "
            f"{', '.join(gaps.without_gap)}."
        )
    if gaps.unknown:
        yield (
            "Left out of the closed gaps, for the bounds have no mean there: "
            f"{', '.join(gaps.unknown)}."
        )


def _ranks(outcome: Outcome, ranking: Ranking | None) -> Iterator[str]:
    if ranking is None:
        yield (
            "Techniques can't be ranked: that takes two of them with scores on two tasks in common."
        )
        return
    listed = ", ".join(
        f"{name} {rank:.2f}" for name, rank in zip(ranking.techniques, ranking.ranks, strict=True)
    )
    yield f"Mean ranks over {ranking.tasks} tasks, 1 is the best: {listed}."
    left_out = [
        task.name
        for task in outcome.tasks
        if any(task.name not in by_task for by_task in outcome.contenders.values())
    ]
    if left_out:
        yield f"Left out of the ranks, for some technique has no mean there: {', '.join(left_out)}."
    if ranking.p_value is not None:
        verdict = "differ" if ranking.differs else "can't be told apart"
        yield (
            f"Over these tasks the techniques {verdict} (Friedman's test, p = "
            f"{ranking.p_value:.2g}); mean ranks less than {ranking.critical_difference:.2f} apart "
            "don't differ (Nemenyi's test at 5 %)."
        )
    if ranking.tasks < _ENOUGH_TASKS:
        yield (
            f"{ranking.tasks} tasks are few: Friedman's p-value is an approximation that wants "
            f"{_ENOUGH_TASKS} or more, and what isn't found to differ may well do."
        )


def _pairs(ranking: Ranking | None, comparisons: Sequence[Comparison]) -> Iterator[str]:
    if not comparisons:
        return
    if ranking is not None and ranking.tasks < FEWEST_TASKS:
        yield (
            f"With {ranking.tasks} tasks no two techniques can be told apart at 5 %: a signed-rank "
            f"test takes {FEWEST_TASKS}, more where many are made."
        )
        return
    clear = [one for one in comparisons if one.adjusted < LEVEL]
    number = len(comparisons)
    if not clear:
        least = least_adjusted(comparisons)
        why = (
            f"; had every difference one sign, the least adjusted p-value would be {least:.2g}"
            if least >= LEVEL
            else ""
        )
        yield (
            f"Of {number} pairs of techniques none differs at 5 % (signed-rank tests, adjusted for "
            f"their number after Benjamini and Yekutieli){why}."
        )
        return
    listed = "; ".join(_told(one) for one in clear)
    yield (
        f"Of {number} pairs of techniques {len(clear)} differ at 5 % (signed-rank tests, adjusted "
        f"for their number after Benjamini and Yekutieli): {listed}."
    )


def _told(one: Comparison) -> str:
    better = one.difference.value >= 0
    first, second = (one.one, one.other) if better else (one.other, one.one)
    wins, losses = (one.wins, one.losses) if better else (one.losses, one.wins)
    return f"{first} beats {second} ({wins} wins, {one.ties} ties, {losses} losses)"


def _savings(outcome: Outcome) -> Iterator[str]:
    found = list(savings(outcome))
    simulated = sum(row["simulation_seconds"] for row in found)
    known = [row for row in found if row["training_seconds"] is not None]
    if not known:
        yield (
            f"The simulation took {seconds_text(simulated)} s. What training the base models took "
            "isn't recorded, so that what stored predictions save is unknown."
        )
        return
    trained = sum(row["training_seconds"] for row in known)
    own = sum(row["simulation_seconds"] for row in known)
    where = "" if len(known) == len(found) else f" of the {len(known)} tasks where it is recorded"
    ratio = f", {trained / own:,.1f} times as long as" if own else ", against"
    yield (
        f"Training the base models{where} took {seconds_text(trained)} s{ratio} the "
        f"{seconds_text(own)} s in which all techniques were simulated on their stored predictions."
    )
    if len(known) < len(found):
        others = ", ".join(row["task"] for row in found if row["training_seconds"] is None)
        yield f"The training time of some model is unknown, and no saving told, of: {others}."
