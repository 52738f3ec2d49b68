"""People with a phone on them: windows of 128 accelerations at 50 Hz, as in UCI HAR (Anguita et al. 2013, ESANN).

Each person walks at a pace and with a vigour of its own, carries the phone in one way for good (a quarter of them in
any position), and does few of the six activities often. Activities come in bouts: neighbouring windows are alike.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.recipe import Person, Samples, divided

Float64 = NDArray[np.float64]
HERTZ, STEPS = 50, 128
WINDOWS = 160
"""Of one person."""
BOUT = 6
"""Windows that one activity lasts, on average."""
PACE_HZ, PACE_SPREAD = 1.9, 0.18
VIGOUR_SPREAD = 0.25
"""Standard deviation of the logarithm of all amplitudes of a person."""
CONCENTRATION = 0.7
"""Of the Dirichlet distribution of how often a person does each activity: the smaller, the more one-sided."""
ANYHOW = 0.25
"""Share of people who carry the phone in any position; the others turn it a little."""
TURNED_DEGREES = 15.0
NOISE_G = 0.06


class _Motion(NamedTuple):
    name: str
    gravity: tuple[float, float, float]
    """Which way up is for a phone at the waist."""
    tempo: float
    """Repetitions for each step of the person's walk; 0: it does not repeat."""
    amplitude: tuple[float, float, float]
    """Of the first harmonic along each axis, in g."""
    sharpness: float
    """Amplitude of the second harmonic for each unit of the first."""


MOTIONS = (
    _Motion("walking", (0.1, 0.0, 1.0), 1.0, (0.14, 0.10, 0.30), 0.4),
    _Motion("walking upstairs", (0.3, 0.0, 0.95), 0.82, (0.18, 0.10, 0.24), 0.25),
    _Motion("walking downstairs", (-0.1, 0.0, 1.0), 1.08, (0.16, 0.12, 0.38), 0.85),
    _Motion("sitting", (0.75, 0.1, 0.65), 0.0, (0.0, 0.0, 0.0), 0.0),
    _Motion("standing", (0.1, 0.05, 1.0), 0.0, (0.0, 0.0, 0.0), 0.0),
    _Motion("lying", (0.05, 1.0, 0.1), 0.0, (0.0, 0.0, 0.0), 0.0),
)
ACTIVITIES = tuple(motion.name for motion in MOTIONS)
"""In the order of UCI HAR's numbers, which begin with 1."""
_PHASES = np.random.default_rng(50).uniform(0, 2 * np.pi, (len(MOTIONS), 3, 2))
"""Of the harmonics on each axis: how bodies move, which people share."""


class Body(NamedTuple):
    """What stays the same of one person."""

    pace_hz: float
    vigour: float
    turned: Float64
    """[3, 3]: how the phone lies."""
    ways: Float64
    """[activities, 3]: factors of the amplitudes, the person's own way of doing each."""
    phases: Float64
    """[activities, 3, 2]"""
    does: Float64
    """[activities]: how often it begins each."""


def draw(seed: int, number: int) -> Person:
    """Person `number` of the population of `seed`."""
    rng = np.random.default_rng([seed, number])
    body = _body(rng)
    labels = np.empty(WINDOWS, np.int64)
    present = int(rng.choice(len(MOTIONS), p=body.does))
    for row in range(WINDOWS):
        if rng.random() < 1 / BOUT:
            present = int(rng.choice(len(MOTIONS), p=body.does))
        labels[row] = present
    x = np.stack([_window(body, int(label), rng) for label in labels])
    x += rng.normal(0, NOISE_G, x.shape)
    return divided(Samples(x.astype(np.float32), labels), gap=1)


def _body(rng: np.random.Generator) -> Body:
    angle = rng.uniform(0, np.pi) if rng.random() < ANYHOW else np.radians(rng.normal(0, TURNED_DEGREES))
    return Body(
        pace_hz=float(rng.normal(PACE_HZ, PACE_SPREAD)),
        vigour=float(np.exp(rng.normal(0, VIGOUR_SPREAD))),
        turned=_rotation(rng.normal(size=3), float(angle)),
        ways=np.exp(rng.normal(0, VIGOUR_SPREAD, (len(MOTIONS), 3))),
        phases=_PHASES + rng.normal(0, 0.25, _PHASES.shape),
        does=rng.dirichlet(np.full(len(MOTIONS), CONCENTRATION)),
    )


def _window(body: Body, activity: int, rng: np.random.Generator) -> Float64:
    """[3, STEPS] in g, gravity included, without the sensor's noise."""
    motion, time_s = MOTIONS[activity], np.arange(STEPS) / HERTZ
    hertz = body.pace_hz * motion.tempo * (1 + rng.normal(0, 0.03))
    turns = 2 * np.pi * (hertz * time_s + rng.random())
    amplitude = np.array(motion.amplitude) * body.ways[activity] * body.vigour * np.exp(rng.normal(0, 0.1))
    first, second = (np.sin(order * turns + body.phases[activity, :, order - 1, None]) for order in (1, 2))
    moving = amplitude[:, None] * (first + motion.sharpness * second)
    up = np.array(motion.gravity) / np.linalg.norm(motion.gravity) + rng.normal(0, 0.06, 3)
    felt: Float64 = body.turned @ (moving + (up / np.linalg.norm(up))[:, None])
    return felt


def _rotation(axis: Float64, angle: float) -> Float64:
    """About `axis`, by `angle` radians (Rodrigues' formula)."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    rotation: Float64 = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return rotation
