"""What every family promises, run against each of them."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from runner.metrics import auc
from runner.models import FAMILIES, Choice, Family, Parameter

Data = tuple[np.ndarray, np.ndarray]


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES)
def one(request: pytest.FixtureRequest) -> Family:
    return request.param


def default(one: Family, **changed: Any) -> Any:
    values = {name: parameter.default for name, parameter in one.parameters.items()}
    return one.estimator(values | changed, seed=0, threads=1)


def toy(rows: int = 120, columns: int = 3) -> Data:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, columns))
    return X, (X[:, 0] + 0.5 * rng.normal(size=rows) > 0).astype(int)


def test_is_a_scikit_learn_classifier(one: Family) -> None:
    checks = check_estimator(default(one), on_skip=None)
    assert len(checks) > 40


def test_one_fit_passes_through_the_models_of_separate_fits(
    one: Family, breast_cancer: Data
) -> None:
    X, y = breast_cancer
    groups = one.fits(one.configurations())
    for group in groups[:: max(1, len(groups) // 9)]:
        shared = one.estimator(group[-1][1], seed=5, threads=1)
        path = shared.path(shared.prepare(X, y), [one.stop(values) for _, values in group])
        for (_, values), _seconds in zip(group, path, strict=True):
            alone = one.estimator(values, seed=5, threads=1).fit(X, y)
            assert_same_bits(shared, alone, X)
            # Scoring in between must not disturb what follows.
            shared.predict_proba(X[:7])


def test_the_grid_holds_a_good_model(one: Family, breast_cancer: Data) -> None:
    X, y = breast_cancer
    *_, (_, values) = one.fits(one.configurations())[-1]
    fitted = one.estimator(values, seed=5, threads=1).fit(X, y)
    assert auc(y.astype(np.uint8), fitted.decision_function(X)) > 0.97


def test_prepared_rows_serve_other_configurations(one: Family, breast_cancer: Data) -> None:
    X, y = breast_cancer
    grid = [values for _, values in one.configurations()]
    prepared = default(one).prepare(X, y)
    for values in (grid[0], grid[-1], grid[0]):
        served = one.estimator(values, seed=0, threads=1)
        for _ in served.path(prepared, [one.stop(values)]):
            pass
        assert_same_bits(served, one.estimator(values, seed=0, threads=1).fit(X, y), X)


def test_a_path_goes_one_way(one: Family) -> None:
    if not one.shared:
        return
    estimator = default(one)
    prepared = estimator.prepare(*toy())
    values = {n: [p.default] for n, p in own(one).items()}
    for name in one.shared:
        swept = one.parameters[name].swept
        values[name] = [*swept, 2 * swept[0]] if len(swept) == 1 else list(swept)
    [group] = one.fits(one.configurations(values))
    backwards = [one.stop(values) for _, values in reversed(group)]
    with pytest.raises(ValueError, match="must"):
        list(estimator.path(prepared, backwards))


def test_a_path_may_stay_at_a_stop(one: Family) -> None:
    X, y = toy()
    estimator = default(one)
    stop = {name: one.parameters[name].default for name in one.shared}
    assert len(list(estimator.path(estimator.prepare(X, y), [stop, stop]))) == 2
    assert_same_bits(estimator, default(one).fit(X, y), X)


def own(one: Family) -> dict[str, Parameter | Choice]:
    """The parameters that a fit keeps."""
    return {n: parameter for n, parameter in one.parameters.items() if n not in one.shared}


def test_a_seed_gives_equal_bits_with_any_number_of_threads(one: Family) -> None:
    X, y = toy(5000, 8)
    values = {name: parameter.default for name, parameter in one.parameters.items()}
    first = one.estimator(values, seed=1, threads=1).fit(X, y)
    again = one.estimator(values, seed=1, threads=1).fit(X, y)
    threaded = one.estimator(values, seed=1, threads=2).fit(X, y)
    assert_same_bits(first, again, X)
    assert_same_bits(first, threaded, X)


def test_data_are_left_as_they_were(one: Family) -> None:
    X, y = toy()
    before = X.copy(), y.copy()
    default(one).fit(X, y).predict(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    X.setflags(write=False)
    y.setflags(write=False)
    default(one).fit(X, y).predict(X)


@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1e10, 1e30])
def test_scales_do_not_matter(one: Family, scale: float) -> None:
    X, y = toy()
    expected = default(one).fit(X, y).decision_function(X)
    margin = default(one).fit(X * scale, y).decision_function(X * scale)
    np.testing.assert_allclose(margin, expected, rtol=1e-4)


DEGENERATE = {
    "two rows": (toy()[0][:2], [0, 1]),
    "two equal rows": (np.ones((2, 1)), [0, 1]),
    "all features equal": (np.full((50, 3), 0.1), [0, 1] * 25),
    "a constant column": (np.column_stack([toy()[0], np.full(120, 1e30)]), toy()[1]),
    "one column": (toy()[0][:, :1], toy()[1]),
    "a class of one row": (toy()[0], [1] + [0] * 119),
    "duplicated rows": (np.repeat(toy()[0], 50, axis=0), np.repeat(toy()[1], 50)),
    "separable": (toy()[0], (toy()[0][:, 0] > 0).astype(int)),
    "mixed scales": (toy()[0] * [1e30, 1e-30, 1] + [1e30, 0, 1e15], toy()[1]),
    "more columns than rows": (toy(10, 40)[0], [0, 1] * 5),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_give_finite_scores(one: Family, case: str) -> None:
    X, y = DEGENERATE[case]
    grid = [values for _, values in one.configurations()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (grid[0], grid[len(grid) // 2], grid[-1]):
            fitted = one.estimator(values, seed=0, threads=1).fit(X, y)
            assert np.isfinite(fitted.decision_function(X)).all()
            assert np.isfinite(fitted.predict_proba(X[:1])).all()


def test_predictions_agree_with_the_margin(one: Family) -> None:
    X, y = toy()
    labels = np.array(["None", "yes"])[y]
    fitted = default(one).fit(X, labels)
    margin, chances = fitted.decision_function(X), fitted.predict_proba(X)
    assert margin.shape == (120,)
    assert margin.dtype == np.float64
    assert list(fitted.classes_) == ["None", "yes"]
    order = np.argsort(margin)
    assert (np.diff(chances[order, 1]) >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X), np.where(margin > 0, "yes", "None"))


def test_a_pickled_model_gives_equal_bits(one: Family) -> None:
    X, y = toy()
    fitted = default(one).fit(X, y)
    assert_same_bits(pickle.loads(pickle.dumps(fitted)), fitted, X)


@pytest.mark.parametrize("gap", [np.nan, np.inf, -np.inf])
def test_gaps_are_refused(one: Family, gap: float) -> None:
    X, y = toy()
    fitted = default(one).fit(X, y)
    X[3, 1] = gap
    name = "NaN" if np.isnan(gap) else "infinity"
    with pytest.raises(ValueError, match=name):
        default(one).prepare(X, y)
    with pytest.raises(ValueError, match=name):
        fitted.decision_function(X)


def test_other_than_two_classes_are_refused(one: Family) -> None:
    X, _ = toy()
    with pytest.raises(ValueError, match="one class"):
        default(one).fit(X, np.zeros(120))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        default(one).fit(X, np.arange(120) % 3)


def test_wrong_parameters_are_refused_in_fit(one: Family) -> None:
    for name in one.parameters:
        wrong = clone(default(one)).set_params(**{name: -1})
        with pytest.raises(ValueError, match=f"{name} is -1: it must be "):
            wrong.fit(*toy())


def test_warm_up_fits_with_any_configuration(one: Family) -> None:
    grid = one.configurations()
    for _, values in (grid[0], grid[-1]):
        one.warm_up(values, threads=1)


def assert_same_bits(left: Any, right: Any, X: np.ndarray) -> None:
    assert left.decision_function(X).tobytes() == right.decision_function(X).tobytes()
    assert left.predict_proba(X).tobytes() == right.predict_proba(X).tobytes()
