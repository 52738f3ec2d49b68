"""People who photograph eight signs, few times each: pictures as in ``photos``, of things that are not there."""

import numpy as np

from coterie_recipes.pictures import Float64, draw_person
from coterie_recipes.recipe import Person

SIGNS = ("arrow", "heart", "drop", "house", "tee", "hourglass", "target", "stairs")
PICTURES = 48
"""Of one person: too few to learn outlines from."""
CONCENTRATION = 0.6
"""Of the Dirichlet distribution of how often a person takes each sign: the smaller, the more one-sided."""
_APART = 7_000_000
"""Added to seeds, so that nobody here is a person of ``photos``."""


def draw(seed: int, number: int) -> Person:
    """Person `number` of the population of `seed`."""
    rng = np.random.default_rng([_APART + seed, number])
    return draw_person(rng, _outside, things=len(SIGNS), pictures=PICTURES, concentration=CONCENTRATION)


def _outside(sign: int, x: Float64, y: Float64) -> Float64:
    """About how far each point is outside the sign's outline; negative inside. y grows downwards."""
    radius, side = np.hypot(x, y), np.abs(x)
    shaft = np.maximum(np.abs(y) - 0.2, np.abs(x + 0.25) - 0.6)
    point = np.maximum(np.abs(y) * 0.8 + x * 0.6 - 0.5, -x + 0.2)
    heart = np.minimum(np.hypot(side - 0.38, y + 0.3) - 0.42, np.maximum(side * 0.75 + y * 0.66 - 0.42, -y - 0.3))
    drop = np.minimum(np.hypot(x, y - 0.3) - 0.5, np.maximum(side * 0.88 - y * 0.47 - 0.38, y - 0.3))
    roof = np.maximum(side * 0.7 - y * 0.7 - 0.58, y + 0.05)
    walls = np.maximum(side - 0.5, np.abs(y - 0.4) - 0.45)
    bar, stem = np.maximum(side - 0.75, np.abs(y + 0.55) - 0.22), np.maximum(side - 0.22, np.abs(y - 0.1) - 0.75)
    steps = np.minimum(
        np.maximum(np.abs(x - 0.5) - 0.3, np.abs(y) - 0.8),
        np.minimum(
            np.maximum(np.abs(x + 0.05) - 0.3, np.abs(y - 0.25) - 0.55),
            np.maximum(np.abs(x + 0.55) - 0.3, np.abs(y - 0.55) - 0.25),
        ),
    )
    outlines: tuple[Float64, ...] = (
        np.minimum(shaft, point),
        heart,
        drop,
        np.minimum(roof, walls),
        np.minimum(bar, stem),
        np.maximum(side - np.abs(y) * 0.9 - 0.08, np.abs(y) - 0.75),
        np.minimum(np.abs(radius - 0.75) - 0.14, radius - 0.3),
        steps,
    )
    return outlines[sign]
