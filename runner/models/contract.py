"""What every family promises, as checks that can be run on any, also on one from outside.

    from runner.models import OutsideClass
    from runner.models.contract import CHECKS

    family = OutsideClass.load("package.module:Class").family(name="mine", grid={"alpha": [1, 2]})
    for check in CHECKS:
        check(family)

A check says nothing, or raises: an AssertionError, or whatever the family's estimator raised.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone

from runner.metrics import auc
from runner.models.family import Configuration, Family, Free, Value
from runner.models.whole_fit import WholeFit

Check = Callable[[Family], None]

GROUPS = 9
"""About so many of a grid's fits are compared with separate ones."""
SCALES = (1e-30, 1e-10, 1e10, 1e30)
LEAST_AUC = 0.9
EQUAL_ROWS = range(1, 40)
"""Libraries multiply rows in blocks of a few, and those left over in another way."""


def is_a_scikit_learn_classifier(family: Family) -> None:
    """scikit-learn's own checks pass, none skipped."""
    from sklearn.utils.estimator_checks import check_estimator

    assert len(check_estimator(_default(family), on_skip=None)) > 40


def one_fit_passes_through_the_models_of_separate_fits(family: Family) -> None:
    """At each stop the model is the separate fit's, bit for bit, and scoring disturbs nothing."""
    X, y = _real()
    groups = family.fits(family.configurations())
    for group in groups[:: max(1, len(groups) // GROUPS)]:
        shared = family.estimator(group[-1][1], seed=5, threads=1)
        path = shared.path(shared.prepare(X, y), [family.stop(values) for _, values in group])
        for (_, values), _seconds in zip(group, path, strict=True):
            with _named(f"configuration {values}"):
                alone = family.estimator(values, seed=5, threads=1).fit(X, y)
                _assert_same_bits(shared, alone, X)
                shared.predict_proba(X[:7])


def the_grid_holds_a_good_model(family: Family) -> None:
    """The last configuration learns what nearly any classifier can."""
    X, y = _real()
    *_, (_, values) = family.fits(family.configurations())[-1]
    fitted = family.estimator(values, seed=5, threads=1).fit(X, y)
    score = auc(y.astype(np.uint8), fitted.decision_function(X))
    assert score > LEAST_AUC, f"AUC {score} on its own training rows"


def prepared_rows_serve_other_configurations(family: Family) -> None:
    """What one estimator prepares, those of all configurations train on."""
    X, y = _real()
    grid = [values for _, values in family.configurations()]
    prepared = _default(family).prepare(X, y)
    for values in (grid[0], grid[-1], grid[0]):
        served = family.estimator(values, seed=0, threads=1)
        for _ in served.path(prepared, [family.stop(values)]):
            pass
        _assert_same_bits(served, family.estimator(values, seed=0, threads=1).fit(X, y), X)


def a_path_goes_one_way(family: Family) -> None:
    """Stops in the wrong order are refused by a ValueError that says what they must be."""
    if not family.shared:
        return
    estimator = _default(family)
    prepared = estimator.prepare(*_toy())
    values: dict[str, Sequence[Value]] = {
        name: [parameter.default] for name, parameter in family.parameters.items()
    }
    for name in family.shared:
        swept: Any = family.parameters[name].swept
        values[name] = [*swept, 2 * swept[0]] if len(swept) == 1 else list(swept)
    (group,) = family.fits(family.configurations(values))
    backwards = [family.stop(configuration) for _, configuration in reversed(group)]
    with _refused("must"):
        list(estimator.path(prepared, backwards))


def a_path_may_stay_at_a_stop(family: Family) -> None:
    """One stop given twice is two pauses at one model."""
    X, y = _toy()
    estimator = _default(family)
    stop = {name: family.parameters[name].default for name in family.shared}
    assert len(list(estimator.path(estimator.prepare(X, y), [stop, stop]))) == 2
    _assert_same_bits(estimator, _default(family).fit(X, y), X)


def a_seed_gives_equal_bits_with_any_number_of_threads(family: Family) -> None:
    """Neither another fit nor another thread changes a bit."""
    X, y = _toy(5000, 8)
    values = _defaults(family)
    first = family.estimator(values, seed=1, threads=1).fit(X, y)
    for threads in (1, 2):
        again = family.estimator(values, seed=1, threads=threads).fit(X, y)
        with _named(f"{threads} threads"):
            _assert_same_bits(first, again, X)


def another_seed_gives_another_model(family: Family) -> None:
    """Where a family says that it draws, and the same bits where it says that it doesn't."""
    if family.seeded is None:
        return
    X, y = _real()
    first, other = (
        family.estimator(_defaults(family), seed=seed, threads=1).fit(X, y).decision_function(X)
        for seed in (1, 2)
    )
    assert (first.tobytes() != other.tobytes()) == family.seeded


def the_order_of_rows_does_not_matter(family: Family) -> None:
    """Where a family says so: rows given backwards give the same margins, nearly."""
    if not family.order_free:
        return
    for X, y in (_toy(), _real()):
        margin = _default(family).fit(X, y).decision_function(X)
        backwards = _default(family).fit(X[::-1], y[::-1]).decision_function(X)
        np.testing.assert_allclose(backwards, margin, rtol=1e-5, atol=1e-5)


def equal_rows_have_equal_margins(family: Family) -> None:
    """Bit for bit, wherever they stand among others: half a pair each counts in the AUC."""
    X, y = _real()
    fitted = _default(family).fit(X, y)
    for count in EQUAL_ROWS:
        margin = fitted.decision_function(np.tile(X[count], (count, 1)))
        assert len(set(margin)) == 1, f"{count} equal rows have {sorted(set(margin))}"


def a_row_alone_has_the_margin_of_a_batch(family: Family) -> None:
    """Bit for bit: a score is the row's own, whatever it is predicted with."""
    X, y = _real()
    fitted = _default(family).fit(X, y)
    margin = fitted.decision_function(X)
    for row in range(0, len(X), 20):
        alone = fitted.decision_function(X[row : row + 1])
        assert alone[0] == margin[row], f"{alone[0]} for {margin[row]} in row {row}"


def data_are_left_as_they_were(family: Family) -> None:
    """Arrays given are not written to, and may be such as can't be."""
    X, y = _toy()
    before = X.copy(), y.copy()
    _default(family).fit(X, y).predict(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    X.setflags(write=False)
    y.setflags(write=False)
    _default(family).fit(X, y).predict(X)


def scales_do_not_matter(family: Family) -> None:
    """All features times one factor give the same margins, nearly."""
    X, y = _toy()
    expected = _default(family).fit(X, y).decision_function(X)
    for scale in SCALES:
        margin = _default(family).fit(X * scale, y).decision_function(X * scale)
        np.testing.assert_allclose(margin, expected, rtol=1e-4, err_msg=f"scale {scale}")


def degenerate_data_give_finite_scores(family: Family) -> None:
    """Two rows, constant columns, a class of one row, ...: finite scores without a warning."""
    grid = [values for _, values in family.configurations()]
    for case, (X, y) in _degenerate().items():
        for values in (grid[0], grid[len(grid) // 2], grid[-1]):
            with _named(f"{case}, configuration {values}"), warnings.catch_warnings():
                warnings.simplefilter("error")
                fitted = family.estimator(values, seed=0, threads=1).fit(X, y)
                assert np.isfinite(fitted.decision_function(X)).all()
                assert np.isfinite(fitted.predict_proba(X[:1])).all()


def many_duplicated_rows_give_finite_scores(family: Family) -> None:
    """A hundred thousand rows, few of them distinct: the grid's cheapest model and the default."""
    X, y = (np.repeat(array, 834, axis=0) for array in _toy())
    grid = [values for _, values in family.configurations()]
    cheapest = min(grid, key=lambda values: family.cost(values, *X.shape))
    for values in (cheapest, _defaults(family)):
        with _named(f"configuration {values}"), warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = family.estimator(values, seed=0, threads=1).fit(X, y)
            assert np.isfinite(fitted.decision_function(X)).all()


def predictions_agree_with_the_margin(family: Family) -> None:
    """Probabilities rise with the margin, and labels are those of the likelier class.

    Above 0 the margin is the second class; a whole fit that scores by probabilities has no 0.
    """
    X, y = _toy()
    labels = np.array(["None", "yes"])[y]
    fitted = _default(family).fit(X, labels)
    margin, chances = fitted.decision_function(X), fitted.predict_proba(X)
    assert margin.shape == (120,)
    assert margin.dtype == np.float64
    assert list(fitted.classes_) == ["None", "yes"]
    assert (np.diff(chances[np.argsort(margin), 1]) >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)
    least = 0.5 if isinstance(fitted, WholeFit) and not fitted.has_margin else 0.0
    np.testing.assert_array_equal(fitted.predict(X), np.where(margin > least, "yes", "None"))


def a_pickled_model_gives_equal_bits(family: Family) -> None:
    """A fitted estimator survives pickling."""
    X, y = _toy()
    fitted = _default(family).fit(X, y)
    _assert_same_bits(pickle.loads(pickle.dumps(fitted)), fitted, X)


def gaps_are_refused(family: Family) -> None:
    """NaN and infinities are refused by name, in training and in prediction."""
    X, y = _toy()
    fitted = _default(family).fit(X, y)
    for gap in (np.nan, np.inf, -np.inf):
        X[3, 1] = gap
        name = "NaN" if np.isnan(gap) else "infinity"
        with _refused(name):
            _default(family).prepare(X, y)
        with _refused(name):
            fitted.decision_function(X)


def other_than_two_classes_are_refused(family: Family) -> None:
    """One class or three are told apart and refused."""
    X, _ = _toy()
    with _refused("one class"):
        _default(family).fit(X, np.zeros(120))
    with _refused("Only binary classification is supported"):
        _default(family).fit(X, np.arange(120) % 3)


def wrong_parameters_are_refused_in_fit(family: Family) -> None:
    """A value out of a parameter's range is refused, with the range; where one is declared."""
    for name, parameter in family.parameters.items():
        if isinstance(parameter, Free):
            continue
        wrong = clone(_default(family)).set_params(**{name: -1})
        with _refused(f"{name} is -1: it must be "):
            wrong.fit(*_toy())


def warm_up_fits_with_any_configuration(family: Family) -> None:
    """The toy fit before the clock works from one end of the grid to the other."""
    grid = family.configurations()
    for _, values in (grid[0], grid[-1]):
        family.warm_up(values, threads=1)


def it_travels_by_pickle(family: Family) -> None:
    """The family reaches the processes that fit, and makes the same estimators there."""
    X, y = _toy()
    travelled: Family = pickle.loads(pickle.dumps(family))
    assert travelled == family
    _assert_same_bits(_default(travelled).fit(X, y), _default(family).fit(X, y), X)


CHECKS: tuple[Check, ...] = (
    is_a_scikit_learn_classifier,
    one_fit_passes_through_the_models_of_separate_fits,
    the_grid_holds_a_good_model,
    prepared_rows_serve_other_configurations,
    a_path_goes_one_way,
    a_path_may_stay_at_a_stop,
    a_seed_gives_equal_bits_with_any_number_of_threads,
    another_seed_gives_another_model,
    the_order_of_rows_does_not_matter,
    equal_rows_have_equal_margins,
    a_row_alone_has_the_margin_of_a_batch,
    data_are_left_as_they_were,
    scales_do_not_matter,
    degenerate_data_give_finite_scores,
    many_duplicated_rows_give_finite_scores,
    predictions_agree_with_the_margin,
    a_pickled_model_gives_equal_bits,
    gaps_are_refused,
    other_than_two_classes_are_refused,
    wrong_parameters_are_refused_in_fit,
    warm_up_fits_with_any_configuration,
    it_travels_by_pickle,
)


def _defaults(family: Family) -> Configuration:
    return {name: parameter.default for name, parameter in family.parameters.items()}


def _default(family: Family) -> Any:
    return family.estimator(_defaults(family), seed=0, threads=1)


def _real() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return X, y


def _toy(rows: int = 120, columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, columns))
    return X, (X[:, 0] + 0.5 * rng.normal(size=rows) > 0).astype(int)


def _degenerate() -> Mapping[str, tuple[np.ndarray, Any]]:
    X, y = _toy()
    return {
        "two rows": (X[:2], [0, 1]),
        "two equal rows": (np.ones((2, 1)), [0, 1]),
        "all features equal": (np.full((50, 3), 0.1), [0, 1] * 25),
        "a constant column": (np.column_stack([X, np.full(120, 1e30)]), y),
        "one column": (X[:, :1], y),
        "a class of one row": (X, [1] + [0] * 119),
        "duplicated rows": (np.repeat(X, 50, axis=0), np.repeat(y, 50)),
        "separable": (X, (X[:, 0] > 0).astype(int)),
        "mixed scales": (X * [1e30, 1e-30, 1] + [1e30, 0, 1e15], y),
        "more columns than rows": (_toy(10, 40)[0], [0, 1] * 5),
    }


def _assert_same_bits(left: Any, right: Any, X: np.ndarray) -> None:
    assert left.decision_function(X).tobytes() == right.decision_function(X).tobytes()
    assert left.predict_proba(X).tobytes() == right.predict_proba(X).tobytes()


@contextmanager
def _named(case: str) -> Iterator[None]:
    """Whatever is raised says in which case."""
    try:
        yield
    except Exception as error:
        error.add_note(f"with {case}")
        raise


@contextmanager
def _refused(words: str) -> Iterator[None]:
    """A ValueError with these words must be raised."""
    said = None
    try:
        yield
    except ValueError as error:
        said = str(error)
    assert said is not None, f"no ValueError says {words!r}"
    assert words in said, f"a ValueError says {said!r} and not {words!r}"
