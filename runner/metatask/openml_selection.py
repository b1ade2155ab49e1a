"""Which runs of an OpenML task make a metatask: the best, each configuration once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from runner.openml import Evaluation

_VERSION = re.compile(r"\(\d+\)")
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
_PREDICTOR = re.compile(r"prediction_flow_(\d+)_run_(\d+)")


@dataclass(frozen=True)
class Selection:
    """How runs are selected.

    Attributes:
        metric: The server's name of a measure.
        maximize: Whether higher is better.
        top: How many models a metatask gets at most.
        per_flow: Whether each flow counts once.
    """

    metric: str = "area_under_roc_curve"
    maximize: bool = True
    top: int = 50
    per_flow: bool = False


@dataclass(frozen=True)
class Candidate:
    """A run that a metatask may take.

    Attributes:
        flow: Its number at OpenML, and likewise below.
        flow_name: None where only the run's own description tells.
        setup: The flow with its hyper-parameters; None where only the run tells.
        score: By the server; None where nobody asked it.
    """

    run: int
    flow: int
    flow_name: str | None = None
    setup: int | None = None
    score: float | None = None

    @property
    def name(self) -> str:
        """What the original calls its predictions."""
        return f"prediction_flow_{self.flow}_run_{self.run}"


def named_candidate(name: str) -> Candidate:
    """The run of a name such as ``prediction_flow_6767_run_2902533``.

    Raises:
        ValueError: It is no such name.
    """
    found = _PREDICTOR.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is no name such as 'prediction_flow_6767_run_2902533'")
    return Candidate(run=int(found[2]), flow=int(found[1]))


def ranked(evaluations: Iterable[Evaluation], *, per_flow: bool = False) -> Iterator[Candidate]:
    """The runs that count, best first.

    Of each configuration (the server's setup) the first one counts, and no run twice. Runs that
    the server gives no score are left out.

    Args:
        evaluations: As the server sorts them, best first; its order breaks ties.
        per_flow: Of each flow only its best configuration counts; flows of near-equal names are
            one (:func:`flow_family`).
    """
    setups: set[int] = set()
    runs: set[tuple[int, int]] = set()
    families: set[str] = set()
    for evaluation in evaluations:
        family = flow_family(evaluation.flow_name)
        known = (
            evaluation.setup in setups
            or (evaluation.flow, evaluation.run) in runs
            or (per_flow and family in families)
        )
        if known or evaluation.value is None:
            continue
        setups.add(evaluation.setup)
        runs.add((evaluation.flow, evaluation.run))
        families.add(family)
        yield Candidate(
            evaluation.run,
            evaluation.flow,
            evaluation.flow_name,
            evaluation.setup,
            evaluation.value,
        )


def flow_family(name: str) -> str:
    """What flows of near-equal names have in common.

    Two names are near-equal if they differ only in versions in brackets, in the modules between a
    package and its class, which libraries rename (``sklearn.svm.classes.SVC`` became
    ``sklearn.svm._classes.SVC``), and in upper and lower case. A path is one of a class if its
    last part begins with a capital: of others, such as ``mlr.classif.ranger``, every part counts.
    """
    return _PATH.sub(_class_path, _VERSION.sub("", name)).casefold()


def _class_path(found: re.Match[str]) -> str:
    parts = found[0].split(".")
    return f"{parts[0]}.{parts[-1]}" if parts[-1][:1].isupper() else found[0]
