"""C-NN against finite differences, scikit-learn's network and plain float64."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
from scipy.special import expit
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import MinMaxScaler

from runner.models.kernels import network
from runner.models.neural_network import NeuralNetwork

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)) * [1, 10, 0.1, 1e6, 1] + [0, 3, 0, 0, 1]
Y = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(int)
LOSSES = pytest.mark.parametrize("loss", ["cross_entropy", "squared_error"])


@numba.njit("void(float32[::1], float32[::1])")
def sigmoids(x: np.ndarray, out: np.ndarray) -> None:
    for i in range(x.size):
        out[i] = network.sigmoid(x[i])


def test_the_sigmoid_is_float32_exact() -> None:
    x = np.concatenate([np.linspace(-86, 86, 1_000_003), np.linspace(-1, 1, 100_003)])
    x = x.astype(np.float32)
    computed = np.empty_like(x)
    sigmoids(x, computed)
    np.testing.assert_allclose(computed, expit(x.astype(np.float64)), atol=1.2e-7, rtol=2.4e-7)
    np.testing.assert_array_equal(computed[x > 20], 1)


def test_the_sigmoid_ends_within_its_range() -> None:
    far = np.array([-np.inf, -3e38, -88, 88, 3e38, np.inf], np.float32)
    computed = np.empty_like(far)
    sigmoids(far, computed)
    assert ((computed[:3] > 0) & (computed[:3] < 2e-38)).all()
    assert (computed[3:] == 1).all()


def weights(seed: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The generator's state after the first weights, and these, in float32."""
    state = np.array([seed], np.uint64)
    hidden = np.empty((columns + 1, network.UNITS), np.float32)
    top = np.empty((1, network.UNITS + 1), np.float32)
    network.initialise(state, 0.1, hidden)
    network.initialise(state, 0.1, top)
    return state, hidden, top[0]


def orders(state: np.ndarray, rows: int) -> itertools.chain[int]:
    """The rows' numbers in each epoch's order, one epoch after the other."""
    order = np.arange(rows, dtype=np.int32)

    def epochs() -> object:
        while True:
            network.shuffle(state, order)
            yield order.tolist()

    return itertools.chain.from_iterable(epochs())


def example_loss(hidden: np.ndarray, top: np.ndarray, x: np.ndarray, y: int, loss: str) -> float:
    margin = expit(np.append(x, 1) @ hidden) @ top[:-1] + top[-1]
    if loss == "squared_error":
        return float((expit(margin) - y) ** 2 / 2)
    return float(np.logaddexp(0, margin) - y * margin)


@LOSSES
@pytest.mark.parametrize("y", [0, 1])
def test_a_step_is_the_gradient_of_the_loss(loss: str, y: int) -> None:
    x = RNG.random(3)
    hidden = RNG.normal(size=(4, network.UNITS)).astype(np.float32)
    top = RNG.normal(size=network.UNITS + 1).astype(np.float32)
    padded = np.zeros((4, network.WIDTH), np.float32)
    padded[:, : network.UNITS] = hidden
    trained = top.copy()
    inputs = np.append(x, 1).astype(np.float32)[None]
    network.train(
        inputs,
        np.array([y], np.float32),
        padded,
        trained,
        np.zeros(1, np.uint64),
        np.zeros(1, np.int32),
        np.float32(1),
        loss == "squared_error",
        1,
    )
    steps = [hidden - padded[:, : network.UNITS], top - trained]
    assert (padded[:, network.UNITS :] == 0).all()
    start = [hidden.astype(np.float64), top.astype(np.float64)]
    for which, step in enumerate(steps):
        for index in np.ndindex(step.shape):
            ends = []
            for change in (1e-5, -1e-5):
                moved = [part.copy() for part in start]
                moved[which][index] += change
                ends.append(example_loss(*moved, inputs[0, :3].astype(np.float64), y, loss))
            assert step[index] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=2e-6)


@LOSSES
def test_epochs_are_those_of_plain_float64(loss: str) -> None:
    model = NeuralNetwork(learning_rate=0.3, iterations=4, loss=loss, random_state=9).fit(X, Y)
    state, hidden, top = weights(9, X.shape[1])
    hidden, top = hidden.astype(np.float64), top.astype(np.float64)
    unit = np.column_stack([MinMaxScaler().fit_transform(X), np.ones(len(X))])
    for example in itertools.islice(orders(state, len(X)), 4 * len(X)):
        activation = expit(unit[example] @ hidden)
        chance = expit(activation @ top[:-1] + top[-1])
        slope = chance - Y[example]
        if loss == "squared_error":
            slope *= chance * (1 - chance)
        back = slope * top[:-1] * activation * (1 - activation)
        top -= 0.3 * slope * np.append(activation, 1)
        hidden -= 0.3 * np.outer(unit[example], back)
    np.testing.assert_allclose(model.hidden_weights_, hidden, atol=2e-5)
    np.testing.assert_allclose(model.output_weights_, top, atol=2e-5)
    margin = expit(unit @ hidden) @ top[:-1] + top[-1]
    np.testing.assert_allclose(model.decision_function(X), margin, atol=2e-4)


def test_agrees_with_scikit_learn_step_by_step() -> None:
    model = NeuralNetwork(learning_rate=0.2, iterations=3, random_state=4).fit(X, Y)
    state, hidden, top = weights(4, X.shape[1])
    peer = MLPClassifier(
        hidden_layer_sizes=(network.UNITS,),
        activation="logistic",
        solver="sgd",
        batch_size=1,
        momentum=0,
        alpha=0,
        learning_rate_init=0.2,
    )
    unit = MinMaxScaler().fit_transform(X)
    peer.partial_fit(unit[:1], Y[:1], classes=[0, 1])
    # The optimiser holds on to these arrays: their contents are replaced.
    peer.coefs_[0][...] = hidden[:-1]
    peer.intercepts_[0][...] = hidden[-1]
    peer.coefs_[1][...] = top[:-1, None]
    peer.intercepts_[1][...] = top[-1]
    for example in itertools.islice(orders(state, len(X)), 3 * len(X)):
        peer.partial_fit(unit[[example]], Y[[example]])
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(unit), atol=1e-4)


def test_first_weights_fill_the_diameter() -> None:
    _, hidden, top = weights(0, 50)
    together = np.append(hidden, top)
    assert together.min() == pytest.approx(-0.05, abs=1e-4)
    assert together.max() == pytest.approx(0.05, abs=1e-4)
    assert abs(together.mean()) < 4 * 0.1 / np.sqrt(12 * together.size)


def test_every_order_of_rows_is_as_likely() -> None:
    state = np.array([1], np.uint64)
    order = np.arange(4, dtype=np.int32)
    counts = dict.fromkeys(itertools.permutations(range(4)), 0)
    for _ in range(24_000):
        network.shuffle(state, order)
        counts[tuple(order.tolist())] += 1
    # 23 degrees of freedom: chi-squared exceeds 49.7 once in a thousand.
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 49.7


def test_far_rows_and_constant_columns_give_finite_scores() -> None:
    data = np.column_stack([X, np.full(len(X), 7.0)])
    model = NeuralNetwork(iterations=2).fit(data, Y)
    later = data.copy()
    later[:, 5] = RNG.normal(size=len(X)) * 1e300
    np.testing.assert_array_equal(model.decision_function(later), model.decision_function(data))
    assert np.isfinite(model.decision_function(np.copysign(1e300, data))).all()
