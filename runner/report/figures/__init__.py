"""mlbench's figures 1 to 6, of any study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runner.mlbench.regimes import Thresholds
from runner.mlbench.study import Study
from runner.report.figures.capacity import capacity_map, models_needed_chart
from runner.report.figures.quality import auc_by_size, gap_to_best_linear
from runner.report.figures.tradeoff import auc_against_time

if TYPE_CHECKING:
    import altair as alt

__all__ = ["FIGURES", "figures"]

FIGURES = ("figure1", "figure2", "figure3", "figure4", "figure5", "figure6")


def figures(
    study: Study,
    *,
    thresholds: Thresholds | None = None,
    without: Sequence[str] | None = None,
    reference: str | None = "A-LR",
) -> dict[str, alt.TopLevelMixin]:
    """The figures that a study's numbers allow, by the name of their file without its suffix.

    Args:
        study: What was found.
        thresholds: Of the regimes in figure 6.
        without: The tasks that figure 1 leaves out one after the other; by default the two that
            the first platform finds hardest.
        reference: The system whose AUC is a line in figures 4 and 5; none where it has no result.
    """
    found = {
        "figure1": models_needed_chart(study, without),
        "figure2": auc_by_size(study),
        "figure3": gap_to_best_linear(study),
        "figure4": auc_against_time(study, "total", reference),
        "figure5": auc_against_time(study, "average", reference),
        "figure6": capacity_map(study, thresholds or Thresholds()),
    }
    return {name: chart for name, chart in found.items() if chart is not None}
