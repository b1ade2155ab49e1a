"""The language of conditions: from text to clauses, or to a message with the column.

The paper's grammar (appendix A.1) over n, o and d. Sums are left-associative; a constant may stand
on either side of its variable and may be negative. Beyond the paper: metrics of a model in place of
n and o, the ratio of two variables, and the rank among earlier models.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from runner.ci.condition import Clause, Comparison, Condition, Term, Variable
from runner.ci.metrics import METRICS, RANK
from runner.errors import InputError

if TYPE_CHECKING:
    from lark import Lark, Token

_GRAMMAR = r"""
condition: clause (_AND clause)*
clause: (sum | ratio) COMPARISON constant _TOLERANCE constant
      | RANK _AT_MOST constant (_TOLERANCE constant)?
ratio: VARIABLE _OVER VARIABLE
sum: term (SIGN term)*
term: (constant _TIMES)* VARIABLE (_TIMES constant)*
constant: SIGN? NUMBER

VARIABLE: /(f1|precision|recall|auc|rmse)\s*\(\s*[no]\s*\)|[nod](?![A-Za-z0-9_.])/
RANK: /rank\s*\(\s*n\s*\)/
COMPARISON: ">" | "<"
SIGN: "+" | "-"
NUMBER: /([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?(?![A-Za-z0-9_.])/
_TIMES: "*"
_OVER: "/"
_AT_MOST: "<="
_TOLERANCE: "+/-"
_AND: "/\\"
%ignore /[ \t\r\n]+/
"""

MOST_CHARACTERS = 10_000
_LARGEST = 1e9
_SMALLEST_TOLERANCE = 1e-9

# What a token is called in a message; the order is that of the message.
_NAMES = {
    "VARIABLE": "n, o or d, or a metric such as f1(n)",
    "NUMBER": "a number",
    "SIGN": "'+' or '-'",
    "_TIMES": "'*'",
    "_OVER": "'/'",
    "_AT_MOST": "'<='",
    "COMPARISON": "'>' or '<'",
    "_TOLERANCE": "'+/-' and a tolerance",
    "_AND": "'/\\'",
    "$END": "the end",
}
# What people write who don't know that the language lacks it.
_MISSING = {
    "/": "there is no division but of one variable by another, alone: `n / o > 1.02 +/- 0.01`",
    ">=": "there is no '>=': '>' with a tolerance says as much",
    "<=": "there is no '<=': '<' with a tolerance says as much",
    "=": "only '>' and '<' compare",
    "(": "there are no parentheses: write the sum out",
    "|": "there is no 'or': clauses are joined by '/\\'",
    "\\/": "there is no 'or': clauses are joined by '/\\'",
    "&": "clauses are joined by '/\\'",
    "and": "clauses are joined by '/\\'",
    "or": "there is no 'or': clauses are joined by '/\\'",
    "±": "a tolerance is written '+/-'",
    **{name: f"a metric is one of a model: `{name}(n)` or `{name}(o)`" for name in METRICS},
    "rank": "a rank is compared alone and by '<=': `rank(n) <= 5 +/- 0.01`",
    "accuracy": "the accuracy is `n` of the new model and `o` of the old one",
}


def parse_condition(text: str) -> Condition:
    """The condition that a text says.

    Raises:
        InputError: Without a file; the message has the column.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    if not text.strip():
        raise InputError("the condition is empty; write one such as `n - o > 0.02 +/- 0.01`")
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"the condition is longer than {MOST_CHARACTERS:,} characters")
    try:
        tree = _parser().parse(text)
    except UnexpectedToken as error:
        found = "" if error.token.type == "$END" else str(error.token)
        at = len(text.rstrip()) if not found else error.pos_in_stream or 0
        raise _unexpected(text, at, error.accepts or error.expected) from None
    except UnexpectedCharacters as error:
        raise _unexpected(text, error.pos_in_stream or 0, error.allowed) from None
    except UnexpectedInput as error:
        raise _unexpected(text, error.pos_in_stream or 0, set()) from None
    return Condition(tuple(_clause(text, node) for node in tree.children), text)


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", start="condition", propagate_positions=True)


def _clause(text: str, node: Any) -> Clause:
    start, end = node.meta.start_pos, node.meta.end_pos
    written = " ".join(text[start:end].split())
    if not hasattr(node.children[0], "children"):
        return _rank(node.children, written, start + 1)
    total, comparison, threshold, tolerance = node.children
    limit = _constant(threshold)
    if total.data == "ratio":
        terms, limit = _linear(total.children, limit, threshold.meta.start_pos), 0.0
    else:
        terms = _terms(total)
    clause = Clause(
        terms,
        cast(Comparison, str(comparison)),
        limit,
        _tolerance(tolerance),
        written,
        start + 1,
    )
    if not clause.coefficients:
        raise InputError(
            f"column {clause.column} of the condition: the variables of `{clause.text}` cancel, "
            "so there is nothing to estimate"
        )
    return clause


def _tolerance(node: Any) -> float:
    tolerance = _constant(node)
    if not tolerance >= _SMALLEST_TOLERANCE:
        raise InputError(
            f"column {node.meta.start_pos + 1} of the condition: the tolerance after '+/-' "
            f"must be at least {_SMALLEST_TOLERANCE:g}, not {tolerance:g}"
        )
    return tolerance


def _linear(variables: list[Any], limit: float, position: int) -> tuple[Term, ...]:
    """``a / b`` compared with r, as the sum a - r b compared with 0."""
    if limit <= 0:
        raise InputError(
            f"column {position + 1} of the condition: a ratio is compared with a number above 0, "
            f"not {limit:g}"
        )
    above, below = (_variable(one) for one in variables)
    if above == below:
        raise InputError(
            f"column {variables[0].start_pos + 1} of the condition: `{above} / {below}` is 1, "
            "so there is nothing to estimate"
        )
    return Term(1.0, above), Term(-limit, below)


def _rank(children: list[Any], written: str, column: int) -> Clause:
    """``rank(n) <= k``, as a comparison with k + 1/2, which no rank is."""
    _, most, *tolerance = children
    limit = _constant(most)
    if limit < 1 or limit != int(limit):
        raise InputError(
            f"column {most.meta.start_pos + 1} of the condition: a rank is at most a whole number "
            f"from 1 on, not {limit:g}"
        )
    # Accuracies differ by 1 at most, so without a tolerance any number of rows is enough.
    width = _tolerance(tolerance[0]) if tolerance else 1.0
    return Clause((Term(1.0, RANK),), "<", limit + 0.5, width, written, column)


def _variable(token: Any) -> Variable:
    return "".join(str(token).split())


def _terms(node: Any) -> tuple[Term, ...]:
    terms = []
    sign = 1.0
    for child in node.children:
        if not hasattr(child, "children"):
            sign = -1.0 if child == "-" else 1.0
            continue
        terms.append(_term(child, sign))
    return tuple(terms)


def _term(node: Any, coefficient: float) -> Term:
    variable: Variable = "n"
    for child in node.children:
        if hasattr(child, "children"):
            coefficient = _checked(coefficient * _constant(child), child.meta.start_pos)
        else:
            variable = _variable(child)
    return Term(coefficient, variable)


def _constant(node: Any) -> float:
    *sign, number = node.children
    value = -float(number) if sign and sign[0] == "-" else float(number)
    if value == 0 and any(digit in "123456789" for digit in _mantissa(number)):
        raise InputError(
            f"column {node.meta.start_pos + 1} of the condition: {number} is too near 0"
        )
    return _checked(value, node.meta.start_pos)


def _mantissa(number: Token) -> str:
    return str(number).lower().partition("e")[0]


def _checked(value: float, position: int) -> float:
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise InputError(
            f"column {position + 1} of the condition: constants and their products may be at most "
            f"{_LARGEST:g}"
        )
    return value


def _unexpected(text: str, position: int, expected: set[str]) -> InputError:
    rest = text[position:]
    column = position + 1
    if not rest.strip():
        end = f"column {column} of the condition: it ends where"
        return InputError(f"{end} {_choice(expected)} is expected")
    found = _word(rest)
    hint = _hint(rest, found) or f"{_choice(expected)} is expected"
    return InputError(f"column {column} of the condition: unexpected {found!r}: {hint}")


def _hint(rest: str, word: str) -> str | None:
    if rest.startswith("/\\"):
        return None
    written = sorted((w for w in _MISSING if rest.startswith(w)), key=len)
    if written and not written[-1].isalpha():
        return _MISSING[written[-1]]
    return _MISSING.get(word.casefold())


def _word(rest: str) -> str:
    """What stands at a place: a word or number whole, else one sign."""
    length = 0
    while length < len(rest) and (rest[length].isalnum() or rest[length] in "_."):
        length += 1
    return rest[: max(1, min(length, 20))]


def _choice(expected: set[str]) -> str:
    names = [name for token, name in _NAMES.items() if token in expected]
    if not names:
        return "a clause such as `n - o > 0.02 +/- 0.01`"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
