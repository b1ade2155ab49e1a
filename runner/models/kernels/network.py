"""C-NN's training: per-example SGD of one hidden layer of sigmoid units, in float32.

Weights lie as inputs x units, so that the inner loops run over the units: each sum is taken over
the inputs in their order, whatever the width of the processor's vectors. The units are padded to
``WIDTH``, inputs to a multiple of ``BLOCK``; what is added stays at zero.
"""

from __future__ import annotations

import numpy as np

from runner.models.kernels.compiled import kernel

UNITS = 100
WIDTH = 112
BLOCK = 4

ZERO = np.float32(0.0)
ONE = np.float32(1.0)

# exp(x) = 2^n exp(r) with |r| <= ln(2)/2: ln(2) in two parts keeps r exact, Taylor's terms up to
# the seventh leave a relative error of 6e-9. Adding 1.5 * 2^23 rounds to a whole number, whose
# bits end up at the low end of the float's. Beyond +-LARGEST the scale's exponent runs over.
LOG2_E = np.float32(1.4426950408889634)
LN2_HIGH = np.float32(0.693359375)
LN2_LOW = np.float32(-2.12194440054690583e-4)
ROUNDING = np.float32(12582912.0)
LARGEST = np.float32(87.0)
C2, C3, C4 = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
C5, C6, C7 = np.float32(1 / 120), np.float32(1 / 720), np.float32(1 / 5040)
EXPONENT_BITS = np.int32(23)
BIAS_BITS = np.int32(127 << 23)

# SplitMix64 (Steele, Lea & Flood 2014).
INCREMENT = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
S40 = np.uint64(40)
PER_24_BITS = 2.0**-24


@kernel("float32(float32)")
def sigmoid(x: np.float32) -> np.float32:
    """1 / (1 + exp(-x)) to within 1.2e-7, by arithmetic whose bits no library decides."""
    x = -x
    x = x if x < LARGEST else LARGEST
    x = x if x > -LARGEST else -LARGEST
    shifted = np.float32(x * LOG2_E + ROUNDING)
    whole = shifted - ROUNDING
    r = (x - whole * LN2_HIGH) - whole * LN2_LOW
    series = ONE + r * (ONE + r * (C2 + r * (C3 + r * (C4 + r * (C5 + r * (C6 + r * C7))))))
    bits = np.int32(np.float32(shifted).view(np.int32) << EXPONENT_BITS)
    scale = np.int32(bits + BIAS_BITS).view(np.float32)
    return ONE / (ONE + series * scale)


@kernel("uint64(uint64[::1])")
def draw(state: np.ndarray) -> np.uint64:
    """The next 64 random bits; ``state`` (1,) advances."""
    state[0] += INCREMENT
    z: np.uint64 = state[0]
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@kernel("void(uint64[::1], int32[::1])")
def shuffle(state: np.ndarray, order: np.ndarray) -> None:
    """Fisher and Yates' shuffle of fewer than 2^31 rows."""
    for last in range(order.size - 1, 0, -1):
        other = np.int64(((draw(state) >> S32) * np.uint64(last + 1)) >> S32)
        order[last], order[other] = order[other], order[last]


@kernel("void(uint64[::1], float64, float32[:, ::1])")
def initialise(state: np.ndarray, diameter: float, weights: np.ndarray) -> None:
    """Uniform weights within diameter / 2 of 0, row by row."""
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[i, j] = np.float32(
                diameter * (np.int64(draw(state) >> S40) * PER_24_BITS - 0.5)
            )


@kernel("void(float32[::1], float32[:, ::1], float32[::1])")
def collect(x: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> None:
    """The units' sums (WIDTH,) of inputs x weighted."""
    for j in range(WIDTH):
        sums[j] = ZERO
    for i in range(0, x.size, BLOCK):
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(WIDTH):
            s = sums[j] + x0 * weights[i, j]
            s += x1 * weights[i + 1, j]
            s += x2 * weights[i + 2, j]
            sums[j] = s + x3 * weights[i + 3, j]


@kernel("void(float32[::1], float32[::1], float32[::1], float32[:, ::1], float32[::1])")
def descend_and_collect(
    x: np.ndarray, slopes: np.ndarray, following: np.ndarray, weights: np.ndarray, sums: np.ndarray
) -> None:
    """Add x slopes' to the weights and collect the following example's sums, in one pass."""
    for j in range(WIDTH):
        sums[j] = ZERO
    for i in range(0, x.size, BLOCK):
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        f0, f1, f2, f3 = following[i], following[i + 1], following[i + 2], following[i + 3]
        for j in range(WIDTH):
            slope = slopes[j]
            w0 = weights[i, j] + x0 * slope
            w1 = weights[i + 1, j] + x1 * slope
            w2 = weights[i + 2, j] + x2 * slope
            w3 = weights[i + 3, j] + x3 * slope
            weights[i, j] = w0
            weights[i + 1, j] = w1
            weights[i + 2, j] = w2
            weights[i + 3, j] = w3
            s = sums[j] + f0 * w0
            s += f1 * w1
            s += f2 * w2
            sums[j] = s + f3 * w3


@kernel("float32(float32[::1], float32[::1], float32[::1])")
def output(sums: np.ndarray, weights: np.ndarray, hidden: np.ndarray) -> np.float32:
    """Fill ``hidden`` (UNITS + 1,) with the activations and a 1, and sum them weighted."""
    for j in range(UNITS):
        hidden[j] = sigmoid(sums[j])
    margin: np.float32 = weights[UNITS]
    # Four sums side by side: the processor needn't wait for one addition after the other.
    s0 = s1 = s2 = s3 = ZERO
    for j in range(0, UNITS, 4):
        s0 += hidden[j] * weights[j]
        s1 += hidden[j + 1] * weights[j + 1]
        s2 += hidden[j + 2] * weights[j + 2]
        s3 += hidden[j + 3] * weights[j + 3]
    return margin + ((s0 + s1) + (s2 + s3))


@kernel(
    "void(float32[:, ::1], float32[::1], float32[:, ::1], float32[::1], uint64[::1], int32[::1],"
    " float32, boolean, int64)"
)
def train(
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    top: np.ndarray,
    state: np.ndarray,
    order: np.ndarray,
    rate: np.float32,
    squared: bool,
    epochs: int,
) -> None:
    """Further epochs of SGD, each over all rows in a new order.

    Args:
        rows: (examples, inputs) the inputs, a 1 for the bias among them.
        targets: (examples,) 0 or 1.
        weights: (inputs, WIDTH) of the hidden units; changed, as all that follows.
        top: (UNITS + 1,) of the output unit, its bias last.
        state: (1,) the generator's.
        order: (examples,) the rows' numbers in the last epoch's order.
        rate: The learning rate.
        squared: Half the squared error of the output instead of cross-entropy.
        epochs: How many.
    """
    hidden = np.ones(UNITS + 1, np.float32)
    slopes = np.zeros(WIDTH, np.float32)
    sums = np.empty(WIDTH, np.float32)
    for _ in range(epochs):
        shuffle(state, order)
        collect(rows[order[0]], weights, sums)
        for place in range(order.size):
            example = order[place]
            chance = sigmoid(output(sums, top, hidden))
            error = targets[example] - chance
            if squared:
                error *= chance * (ONE - chance)
            step = np.float32(rate * error)
            for j in range(UNITS):
                h = hidden[j]
                slopes[j] = step * top[j] * h * (ONE - h)
                top[j] += step * h
            top[UNITS] += step
            # The last example's successor is a mere place holder: the next epoch starts anew.
            following = order[place + 1] if place + 1 < order.size else example
            descend_and_collect(rows[example], slopes, rows[following], weights, sums)


@kernel("void(float32[:, ::1], float32[:, ::1], float32[::1], float64[::1])")
def margins(rows: np.ndarray, weights: np.ndarray, top: np.ndarray, out: np.ndarray) -> None:
    """The output unit's sum, before its sigmoid, for each row."""
    hidden = np.ones(UNITS + 1, np.float32)
    sums = np.empty(WIDTH, np.float32)
    for i in range(rows.shape[0]):
        collect(rows[i], weights, sums)
        out[i] = output(sums, top, hidden)
