"""Machines with four sensors: a daily cycle, slow noise, one sensor that follows another; and what goes wrong.

Each machine has a cycle, levels and couplings of its own, about those of all. Training windows are as they come: a few
are anomalous, and nobody says which. Only the test knows; a spike, a drift, a sensor that is stuck, a step, or two
sensors that no longer go together, which no single sensor shows.
"""

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.recipe import Int64, Person, Samples, divided

Float64 = NDArray[np.float64]
SENSORS, STEPS = 4, 48
"""Values of a window: half an hour each, a day together."""
WINDOWS = 80
TEST_SHARE_ILL, TRAIN_SHARE_ILL = 0.25, 0.02
PERSISTENCE = 0.9
"""Of the noise, an autoregression of first order."""


def draw(seed: int, number: int) -> Person:
    """Machine `number` of the population of `seed`."""
    rng = np.random.default_rng([seed, number])
    healthy = _signals(rng, WINDOWS * STEPS)
    windows = healthy.reshape(SENSORS, WINDOWS, STEPS).transpose(1, 0, 2).copy()
    ill = np.zeros(WINDOWS, np.int64)
    for row in range(WINDOWS):
        share = TRAIN_SHARE_ILL if row < WINDOWS * 3 // 4 else TEST_SHARE_ILL
        if rng.random() < share:
            ill[row] = 1
            _break(windows[row], rng)
    return divided(samples_of(windows), truth=ill)


def samples_of(windows: Float64) -> Samples:
    """Of windows [n, 4, 48], each sensor on a scale where the machine's own first half has mean 0 and deviation 1.

    A window is its own target: float32 [n, 192].
    """
    first = windows[: max(1, len(windows) // 2)]
    mean = first.mean(axis=(0, 2), keepdims=True)
    deviation = np.maximum(first.std(axis=(0, 2), keepdims=True), 1e-6)
    flat = np.clip((windows - mean) / deviation, -5, 5).reshape(len(windows), -1).astype(np.float32)
    return Samples(flat, flat)


def _signals(rng: np.random.Generator, steps: int) -> Float64:
    """[sensors, steps] of a healthy machine."""
    time = 2 * np.pi * np.arange(steps) / STEPS
    amplitude = np.array([1.0, 0.7, 0.9, 0.5]) * np.exp(rng.normal(0, 0.25, SENSORS))
    phase = np.array([0.0, 0.8, 2.0, 4.0]) + rng.normal(0, 0.35, SENSORS)
    second = np.array([0.3, 0.5, 0.2, 0.4]) * np.exp(rng.normal(0, 0.4, SENSORS))
    cycle = np.sin(time + phase[:, None]) + second[:, None] * np.sin(2 * time + 1.3 * phase[:, None])
    signals: Float64 = amplitude[:, None] * cycle + _slow_noise(rng, steps)
    coupling = rng.normal(0.8, 0.15)
    signals[3] = coupling * signals[0] + 0.15 * rng.normal(size=steps)
    return signals


def _slow_noise(rng: np.random.Generator, steps: int) -> Float64:
    pushes = rng.normal(0, 0.3 * np.sqrt(1 - PERSISTENCE**2), (SENSORS, steps))
    noise = np.empty_like(pushes)
    state = np.zeros(SENSORS)
    for step in range(steps):
        state = PERSISTENCE * state + pushes[:, step]
        noise[:, step] = state
    return noise


def _break(window: Float64, rng: np.random.Generator) -> None:
    """One of five faults, in `window` [4, 48] itself."""
    sensor, begins = int(rng.integers(SENSORS)), int(rng.integers(4, STEPS // 2))
    match int(rng.integers(5)):
        case 0:
            window[sensor, begins : begins + 3] += rng.choice([-1, 1]) * rng.uniform(1.2, 2.5)
        case 1:
            window[sensor, begins:] += rng.choice([-1, 1]) * np.linspace(0, rng.uniform(1, 2), STEPS - begins)
        case 2:
            window[sensor, begins:] = window[sensor, begins]
        case 3:
            window[sensor, begins:] += rng.choice([-1, 1]) * rng.uniform(0.7, 1.4)
        case _:
            window[3] = window[3, ::-1].copy()


def truth_of(marks: Int64) -> Int64:
    """Of windows with `marks` [n, 48] at the steps where something was wrong: 1 where a window has any."""
    found: Int64 = (marks.max(axis=1) > 0).astype(np.int64)
    return found
