"""Conditions on models: their language, the labels they need, and their verdicts.

From a file (:func:`load_ci_file`) comes a :class:`Guarantee`, from that a :class:`Plan`
(:func:`make_plan`), and from plan and predictions a judgement (:func:`judge`). What is listed here
is mathematics on plain data.

Around it, with files and a clock: ``held_out`` and ``predictions`` read and join rows, ``step``
judges and records one model in a ``ledger``, which ``account`` adds up, ``delivery`` and ``alarm``
tell who is to know, ``rotation`` ends a test set.
"""

from runner.ci.condition import Clause, Condition, Variable
from runner.ci.estimates import Rows, rows_to_label
from runner.ci.file import CiFile, load_ci_file
from runner.ci.grammar import parse_condition
from runner.ci.guarantee import Guarantee
from runner.ci.intervals import Mode, Truth
from runner.ci.metrics import Facts
from runner.ci.multiplicity import Reuse
from runner.ci.plan import Plan, make_plan
from runner.ci.verdict import ClauseJudgement, Judgement, check_rows, judge

__all__ = [
    "CiFile",
    "Clause",
    "ClauseJudgement",
    "Condition",
    "Facts",
    "Guarantee",
    "Judgement",
    "Mode",
    "Plan",
    "Reuse",
    "Rows",
    "Truth",
    "Variable",
    "check_rows",
    "judge",
    "load_ci_file",
    "make_plan",
    "parse_condition",
    "rows_to_label",
]
