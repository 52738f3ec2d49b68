"""People who take pictures: eight things, drawn at 16 by 16 points, by cameras and hands that are a person's own.

A camera has a colour cast, a blur and noise, a hand holds it at an angle; people like some things more than others, in
colours of their own. Things are drawn from their outlines, so that no picture comes twice.
"""

import numpy as np

from coterie_recipes.pictures import Float64, draw_person
from coterie_recipes.recipe import Person

THINGS = ("disc", "ring", "square", "triangle", "cross", "bar", "star", "crescent")
PICTURES = 100
"""Of one person."""
CONCENTRATION = 0.6
"""Of the Dirichlet distribution of how often a person takes each thing: the smaller, the more one-sided."""


def draw(seed: int, number: int) -> Person:
    """Person `number` of the population of `seed`."""
    rng = np.random.default_rng([seed, number])
    return draw_person(rng, _outside, things=len(THINGS), pictures=PICTURES, concentration=CONCENTRATION)


def _outside(thing: int, x: Float64, y: Float64) -> Float64:
    """About how far each point is outside the thing's outline; negative inside."""
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    outlines: tuple[Float64, ...] = (
        radius - 0.8,
        np.abs(radius - 0.65) - 0.2,
        np.maximum(np.abs(x), np.abs(y)) - 0.7,
        np.maximum(np.abs(x) * 0.87 + y * 0.5, -y) - 0.45,
        np.minimum(np.maximum(np.abs(x) - 0.22, np.abs(y) - 0.85), np.maximum(np.abs(y) - 0.22, np.abs(x) - 0.85)),
        np.maximum(np.abs(x) - 0.25, np.abs(y) - 0.9),
        radius - (0.55 + 0.3 * np.cos(5 * angle)),
        np.maximum(radius - 0.85, 0.6 - np.hypot(x - 0.4, y)),
    )
    return outlines[thing]
