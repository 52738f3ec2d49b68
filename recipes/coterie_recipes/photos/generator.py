"""People who take pictures: eight things, drawn at 16 by 16 points, by cameras and hands that are a person's own.

A camera has a colour cast, a blur and noise, a hand holds it at an angle; people like some things more than others, in
colours of their own. Things are drawn from their outlines, so that no picture comes twice.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.recipe import Person, Samples, divided

Float64 = NDArray[np.float64]
THINGS = ("disc", "ring", "square", "triangle", "cross", "bar", "star", "crescent")
SIDE = 16
PICTURES = 100
"""Of one person."""
CONCENTRATION = 0.6
"""Of the Dirichlet distribution of how often a person takes each thing: the smaller, the more one-sided."""
_AXIS = (np.arange(SIDE) + 0.5) / SIDE * 2 - 1
_ACROSS, _DOWN = np.meshgrid(_AXIS, _AXIS)


class Camera(NamedTuple):
    """What stays the same of one person's pictures."""

    cast: Float64
    """[3]: factors of red, green and blue."""
    blur: float
    """Share of a point's light that goes to its neighbours."""
    noise: float
    tilt: float
    """Mean angle, in radians."""
    paint: Float64
    """[things, 3]: the colour in which it usually meets each."""


def draw(seed: int, number: int) -> Person:
    """Person `number` of the population of `seed`."""
    rng = np.random.default_rng([seed, number])
    camera = Camera(
        cast=np.exp(rng.normal(0, 0.25, 3)),
        blur=float(rng.uniform(0, 0.5)),
        noise=float(rng.uniform(0.02, 0.1)),
        tilt=float(rng.normal(0, 0.2)),
        paint=rng.uniform(0.2, 1.0, (len(THINGS), 3)),
    )
    likes = rng.dirichlet(np.full(len(THINGS), CONCENTRATION))
    labels = rng.choice(len(THINGS), PICTURES, p=likes)
    x = np.stack([_picture(camera, int(label), rng) for label in labels])
    return divided(Samples(x.astype(np.float32), labels.astype(np.int64)))


def _picture(camera: Camera, thing: int, rng: np.random.Generator) -> Float64:
    """[3, SIDE, SIDE] in 0..1."""
    angle, size = camera.tilt + rng.normal(0, 0.15), rng.uniform(0.65, 0.95)
    right, down = rng.uniform(-0.2, 0.2, 2)
    across, along = (_ACROSS - right) / size, (_DOWN - down) / size
    turned = np.cos(angle) * across + np.sin(angle) * along, -np.sin(angle) * across + np.cos(angle) * along
    mask = np.clip(0.5 - _outside(thing, *turned) * SIDE / 4, 0, 1)
    ground = rng.uniform(0, 0.5, 3) + rng.normal(0, 0.15) * _DOWN[:, :, None]
    paint = np.clip(camera.paint[thing] + rng.normal(0, 0.12, 3), 0.1, 1)
    light = rng.uniform(0.7, 1.1)
    picture = (ground * (1 - mask[:, :, None]) + paint * mask[:, :, None]) * camera.cast * light
    picture = picture.transpose(2, 0, 1)
    near = sum(np.roll(picture, shift, axis) for axis in (1, 2) for shift in (-1, 1)) / 4
    seen = (1 - camera.blur) * picture + camera.blur * near + rng.normal(0, camera.noise, picture.shape)
    clipped: Float64 = np.clip(seen, 0, 1)
    return clipped


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
