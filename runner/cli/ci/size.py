"""``runner ci size``: how many labels a condition needs, and what else would cost how much."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.ci import options

if TYPE_CHECKING:
    from runner.ci import CiFile, Plan

_ACTIVE = (
    "{reused:,} a commit, of {pool:,} rows that serve all steps; or {fresh:,} a commit, of "
    "{fresh_pool:,} new rows each time, then with the promise for each commit by itself"
)


@click.command("size")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--bound", metavar="NAME", help="auto, hoeffding, bennett or binomial.  [default: the file's]"
)
@click.option(
    "--people",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Who share the labelling.",
)
@click.option(
    "--seconds-per-label",
    type=options.FiniteRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="What one label takes.",
)
@click.option(
    "--effect",
    type=options.FiniteRange(min=0, min_open=True),
    help="With method sequential: how far beyond its threshold each left side truly is.  "
    "[default: twice its tolerance]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(
    file: Path,
    bound: str | None,
    people: int,
    seconds_per_label: float,
    effect: float | None,
    as_json: bool,
) -> None:
    """Say how many labels the condition in FILE needs: a .travis.yml or a ci.yaml.

    Example: runner ci size .travis.yml --people 4
    """
    from runner.ci import load_ci_file, make_plan

    found = load_ci_file(file)
    plan = make_plan(found.guarantee, bound or found.bound)
    if found.method == "fixed":
        if effect is not None:
            raise click.UsageError("--effect is for `method: sequential`, which the file lacks")
        sequential = None
    else:
        sequential = _sequential(plan, effect)
    document = _document(plan, people, seconds_per_label, sequential)
    if as_json:
        click.echo(json.dumps(document))
    else:
        _print(found, plan, document)


def _sequential(plan: Plan, effect: float | None) -> dict[str, Any]:
    from runner.ci.expectation import expect, likely_effect
    from runner.ci.sequential import make_sequential_plan

    found = make_sequential_plan(plan.guarantee, plan.asked)
    told = expect(found, likely_effect(found, effect), plan.labels)
    return {
        "most": found.fixed.labels,
        "batch": found.batch,
        "effect": list(told.effect.values),
        "difference": told.effect.difference,
        "median": told.median,
        "mean": told.mean,
        "ninth_decile": told.ninth_decile,
        "early": told.early,
        "draws": told.draws,
    }


def _document(
    plan: Plan, people: int, seconds: float, sequential: dict[str, Any] | None
) -> dict[str, Any]:
    import dataclasses

    from runner.ci.alternatives import alternatives, warnings
    from runner.ci.difference import measurement

    guarantee, reuse = plan.guarantee, plan.guarantee.reuse
    measured = measurement(guarantee)
    labels = plan.labels if sequential is None else sequential["most"]
    return {
        "labels": labels,
        "method": "fixed" if sequential is None else "sequential",
        "sequential": sequential,
        "positives": plan.positives,
        "negatives": plan.negatives,
        "classes": guarantee.facts.classes,
        "labelled": plan.labelled,
        "unlabelled": plan.unlabelled,
        "bound": plan.bound,
        "asked": plan.asked,
        "condition": guarantee.condition.text,
        "delta": guarantee.delta,
        "mode": guarantee.mode,
        "adaptivity": reuse.kind,
        "steps": reuse.steps,
        "first": reuse.first,
        "passes": reuse.budget,
        "histories": reuse.formula,
        "ln_histories": reuse.ln_count,
        "deciding": plan.deciding,
        "clauses": [_clause(requirement) for requirement in plan.requirements],
        "assumptions": list(plan.assumptions),
        "warnings": list(warnings(guarantee.condition, guarantee.mode)),
        "active": None if plan.active is None else dataclasses.asdict(plan.active),
        "measured": None
        if measured is None
        else {
            "rows": measured.rows,
            "half_width": measured.half_width,
            "labels": [{"difference": p, "labels": n} for p, n in measured.labels],
        },
        "alternatives": [dataclasses.asdict(other) for other in alternatives(plan)],
        "people": people,
        "seconds_per_label": seconds,
        "hours": labels * plan.labelled * seconds / 3600 / people,
    }


def _clause(requirement: Any) -> dict[str, Any]:
    from runner.ci.metric_requirement import PAIRED

    clause = requirement.clause
    return {
        "text": clause.text,
        "bound": requirement.bound,
        "rows": requirement.rows,
        "labelled": requirement.labelled,
        "tolerance": clause.tolerance,
        "half_widths": {"auc(n) - auc(o)": requirement.half_width}
        if requirement.bound == PAIRED
        else dict.fromkeys(clause.coefficients, clause.half_width),
        "ln_inverse_delta": requirement.ln_inverse_delta,
        "second_moment": requirement.second_moment,
        "coarse_rows": None if requirement.coarse is None else requirement.coarse.rows,
        "assumption": requirement.assumption,
    }


def _print(file: CiFile, plan: Plan, document: Mapping[str, Any]) -> None:
    click.echo(f"{plan.guarantee.condition.text}  ({file.path})")
    lines = {
        "provide": _provide(document),
        "promise": _promise(plan),
        "histories": f"{document['histories']} (ln {document['ln_histories']:.4g})",
        "of each class": _by_class(document),
        "sequential": _stops(document["sequential"], plan.labels),
        "labelling": _labelling(document),
        "only where the models differ": ""
        if plan.active is None
        else _ACTIVE.format(**document["active"]),
        "measured first": _measured(document["measured"]),
    }
    for name, text in lines.items():
        if text:
            _line(name, text)
    _print_clauses(document)
    for text in document["warnings"]:
        _line("warning", text)
    _print_alternatives(document["alternatives"], plan.labels)


def _provide(document: Mapping[str, Any]) -> str:
    rows = f"{document['labels']:,} labels"
    if not document["labelled"]:
        rows = f"{document['labels']:,} rows; they need no labels, since predictions tell d"
    elif document["unlabelled"]:
        rows += f", and {document['unlabelled']:,} rows without labels"
    return rows


def _by_class(document: Mapping[str, Any]) -> str:
    positives, negatives = document["positives"], document["negatives"]
    if not positives:
        return ""
    if document["classes"] > 2:
        return f"at least {positives:,} of each of {document['classes']:,} classes"
    others = f" and {negatives:,} of the others" if negatives else ""
    return f"at least {positives:,} of the positive class{others}"


def _stops(found: Mapping[str, Any] | None, fixed: int) -> str:
    if found is None:
        return ""
    effect = ", ".join(f"{value:.4g}" for value in found["effect"])
    return (
        f"at most {found['most']:,} labels, in batches of {found['batch']:,}; where the left side "
        f"is {effect} in truth, {found['median']:,} in the median, {found['mean']:,.0f} on average "
        f"and {found['ninth_decile']:,} in nine of ten ({found['draws']:,} simulations, models "
        f"that differ on {found['difference']:g} of the rows); method fixed takes {fixed:,}"
    )


def _promise(plan: Plan) -> str:
    guarantee, reuse = plan.guarantee, plan.guarantee.reuse
    wrong = "accepted" if guarantee.mode == "fp-free" else "rejected"
    return (
        f"with probability {1 - guarantee.delta:.12g} no model of {reuse.steps:,} steps is wrongly "
        f"{wrong} ({guarantee.mode}, adaptivity {reuse.kind})"
    )


def _labelling(document: Mapping[str, Any]) -> str:
    if not document["labelled"]:
        return ""
    people = "one person" if document["people"] == 1 else f"each of {document['people']} people"
    return (
        f"{document['hours']:,.1f} hours for {people}, {document['seconds_per_label']:g} s a label"
    )


def _measured(measured: Mapping[str, Any] | None) -> str:
    if measured is None:
        return ""
    labels = "; ".join(f"{one['difference']:g}: {one['labels']:,}" for one in measured["labels"])
    return (
        f"with {measured['rows']:,} rows without labels d is known to {measured['half_width']:g}; "
        f"labels by its upper limit: {labels}"
    )


def _print_clauses(document: Mapping[str, Any]) -> None:
    click.echo("  clauses")
    for index, clause in enumerate(document["clauses"]):
        widths = ", ".join(f"{v} +/- {w:.4g}" for v, w in clause["half_widths"].items())
        decides = " (decides)" if index == document["deciding"] else ""
        click.echo(
            f"    {clause['text']}: {clause['rows']:,} rows by {clause['bound']}, {widths}{decides}"
        )
        if clause["assumption"]:
            click.echo(f"      {clause['assumption']}")


def _print_alternatives(found: Iterable[Mapping[str, Any]], labels: int) -> None:
    headings = {
        "bound": "by another bound",
        "reuse": "used otherwise",
        "tolerance": "with looser clauses",
    }
    by_heading: dict[str, list[Mapping[str, Any]]] = {heading: [] for heading in headings}
    for other in found:
        by_heading[other["what"]].append(other)
    for what, heading in headings.items():
        if by_heading[what]:
            click.echo(f"  {heading}")
        for other in by_heading[what]:
            note = f"  {other['note']}" if other["note"] else ""
            share = f"{other['labels'] / labels:.2g}x"
            click.echo(f"    {other['name']:28}{other['labels']:>14,}  {share:>8}{note}")


def _line(name: str, text: str) -> None:
    click.echo(f"  {name}: {text}")
