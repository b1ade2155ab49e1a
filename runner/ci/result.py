"""A step's whole result, as a document for those who may see it."""

from __future__ import annotations

import json
from typing import Any

from runner.ci.file import CiFile
from runner.ci.sealing import seal
from runner.ci.verdict import ClauseJudgement, Judgement

# A sealed text's length must not tell what is in it.
_PADDED_TO = 4096


def result_document(
    file: CiFile, judgement: Judgement, step: int, commit: str | None
) -> dict[str, Any]:
    """All that led to a verdict, as plain values."""
    return {
        "verdict": verdict_word(judgement.passed),
        "condition": file.guarantee.condition.text,
        "mode": file.guarantee.mode,
        "truth": judgement.truth.value,
        "clauses": [clause_document(clause) for clause in judgement.clauses],
        "step": step,
        "steps": file.guarantee.reuse.steps,
        "testset": None if file.testset is None else file.testset.name,
        "commit": commit,
    }


def clause_document(found: ClauseJudgement) -> dict[str, Any]:
    """What became of a clause, as plain values."""
    return {
        "clause": found.clause.text,
        "truth": found.truth.value,
        "estimate": float(found.estimate),
    }


def verdict_word(passed: bool) -> str:
    """``pass`` or ``fail``."""
    return "pass" if passed else "fail"


def sealed_result(
    public_key: str, file: CiFile, judgement: Judgement, step: int, commit: str | None
) -> str:
    """The result document, sealed."""
    text = json.dumps(result_document(file, judgement, step, commit))
    padded = text.encode().ljust(-(-len(text) // _PADDED_TO) * _PADDED_TO)
    return seal(padded, public_key).decode("ascii")
