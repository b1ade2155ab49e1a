"""What can be wrong with stored rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runner.store.damage import Damage, find_damage
from runner.store.schema import OUTCOMES
from runner.store.tables import DamageError, Table
from runner.store.views import Views


@dataclass(frozen=True)
class Problem:
    """Something wrong in the store.

    Attributes:
        text: What, in one sentence.
        rows: How many rows (or keys) it concerns.
        example: The key, run_id or file of one of them.
    """

    text: str
    rows: int
    example: str

    def __str__(self) -> str:
        return f"{self.rows} {self.text}, such as {self.example}"


LOST = "planned keys of finished runs without an attempt"
"""What a loss of rows leaves; the study's next run computes them."""

# Each query gives the offending keys, at most once each. Predictions are committed before their
# row, so a run that was interrupted in between leaves predictions of a planned key without a row:
# no fault, since the next run computes it.
_RULES = {
    "attempts without a key": "select run_id from attempts where key is null",
    "attempts doubled: same key, run and number": """
        select key from attempts where key is not null
        group by key, run_id, attempt having count(*) > 1
    """,
    "attempts of an unknown outcome": """
        select key from attempts where outcome is null or outcome not in (select unnest($outcomes))
    """,
    "attempts that are ok but have neither score nor predictions": """
        select key from attempts where outcome = 'ok'
            and (isnan(score) or (score is null and key not in (select key from predictions)))
    """,
    "attempts with a score that are not ok": """
        select key from attempts
        where outcome <> 'ok' and score is not null and not coalesce(imputed, false)
    """,
    "attempts of a run that the table of runs doesn't have": """
        select distinct run_id from attempts where run_id not in (select run_id from runs)
    """,
    "predictions whose confidences are not rows times classes": """
        select key from predictions
        where len(confidences) <> len(row_ids) * len(classes)
    """,
    "predictions of keys that have no attempt and that no run planned": """
        select key from predictions anti join attempts using (key)
        anti join (select unnest(planned_keys) as key from runs) using (key)
    """,
    LOST: """
        select distinct key from (
            select unnest(planned_keys) as key from runs where ended_at is not null
        ) anti join attempts using (key)
    """,
    "runs without a start": "select run_id from runs where started_at is null",
}


def problems(tables: Mapping[str, Table]) -> list[Problem]:
    """What is wrong in the tables: files that can't be read, then by the order of the rules.

    Rows in unreadable files are left out of the rules; where a table can't be read at all there is
    nothing to look at.
    """
    damage = [fault for table in tables.values() for fault in find_damage(table)]
    found = [Problem(_told(fault), 1, fault.file) for fault in damage]
    unreadable = {fault.file for fault in damage}
    try:
        readable = {
            name: [file for file in table.files() if file not in unreadable]
            for name, table in tables.items()
        }
    except DamageError:
        return found
    parameters = {"outcomes": list(OUTCOMES)}
    with Views(tables, files=readable) as views:
        for text, sql in _RULES.items():
            used = {name: value for name, value in parameters.items() if f"${name}" in sql}
            offenders = views.select(sql, used)
            if len(offenders):
                found.append(Problem(text, len(offenders), str(offenders.column(0)[0].as_py())))
    return found


def _told(fault: Damage) -> str:
    return fault.text if fault.rows is None else f"{fault.text} of {fault.rows} rows"
