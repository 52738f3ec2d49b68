"""Pictures of 16 by 16 points: drawn from outlines by a person's camera and hand, or read from directories of files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.recipe import Person, Read, Samples, UnreadableData, divided

Float64 = NDArray[np.float64]
Outlines = Callable[[int, Float64, Float64], Float64]
"""About how far each point, x and y in -1..1, is outside of thing number so-and-so; negative inside."""
SIDE = 16
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm")
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


def draw_person(
    rng: np.random.Generator, outlines: Outlines, *, things: int, pictures: int, concentration: float
) -> Person:
    """A person who takes so many `pictures`; which things, by a Dirichlet distribution of this `concentration`."""
    camera = Camera(
        cast=np.exp(rng.normal(0, 0.25, 3)),
        blur=float(rng.uniform(0, 0.5)),
        noise=float(rng.uniform(0.02, 0.1)),
        tilt=float(rng.normal(0, 0.2)),
        paint=rng.uniform(0.2, 1.0, (things, 3)),
    )
    likes = rng.dirichlet(np.full(things, concentration))
    labels = rng.choice(things, pictures, p=likes)
    x = np.stack([_picture(camera, outlines, int(label), rng) for label in labels])
    return divided(Samples(x.astype(np.float32), labels.astype(np.int64)))


def _picture(camera: Camera, outlines: Outlines, thing: int, rng: np.random.Generator) -> Float64:
    """[3, SIDE, SIDE] in 0..1."""
    angle, size = camera.tilt + rng.normal(0, 0.15), rng.uniform(0.65, 0.95)
    right, down = rng.uniform(-0.2, 0.2, 2)
    across, along = (_ACROSS - right) / size, (_DOWN - down) / size
    turned = np.cos(angle) * across + np.sin(angle) * along, -np.sin(angle) * across + np.cos(angle) * along
    mask = np.clip(0.5 - outlines(thing, *turned) * SIDE / 4, 0, 1)
    ground = rng.uniform(0, 0.5, 3) + rng.normal(0, 0.15) * _DOWN[:, :, None]
    paint = np.clip(camera.paint[thing] + rng.normal(0, 0.12, 3), 0.1, 1)
    light = rng.uniform(0.7, 1.1)
    picture = (ground * (1 - mask[:, :, None]) + paint * mask[:, :, None]) * camera.cast * light
    picture = picture.transpose(2, 0, 1)
    near = sum(np.roll(picture, shift, axis) for axis in (1, 2) for shift in (-1, 1)) / 4
    seen = (1 - camera.blur) * picture + camera.blur * near + rng.normal(0, camera.noise, picture.shape)
    clipped: Float64 = np.clip(seen, 0, 1)
    return clipped


def read_pictures(path: Path, things: Sequence[str]) -> Read:
    """By person, its pictures float32 [n, 3, 16, 16] in 0..1, cut to squares in their middle. Raises UnreadableData.

    They lie in directories PERSON/THING/any name, JPEG, PNG and whatever else Pillow reads; THING is one of `things`.
    """
    found = {}
    for person in sorted(one for one in path.iterdir() if one.is_dir()) if path.is_dir() else ():
        pictures = [file for file in person.glob("*/*") if file.suffix.lower() in SUFFIXES]
        unknown = sorted({file.parent.name for file in pictures} - set(things))
        if unknown:
            raise UnreadableData(f"{person / unknown[0]} is none of {', '.join(things)}")
        pictures.sort(key=lambda file: file.name)
        if pictures:
            x = np.stack([_points(file) for file in pictures])
            labels = np.array([things.index(file.parent.name) for file in pictures], np.int64)
            found[person.name] = divided(Samples(x, labels))
    if not found:
        raise UnreadableData(f"{path} has no pictures in it: PERSON/THING/NAME.jpg")
    return found


def _points(file: Path) -> NDArray[np.float32]:
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ModuleNotFoundError as error:
        raise UnreadableData("pictures are read by Pillow: pip install 'coterie[recipes]'") from error
    try:
        with Image.open(file) as opened:
            square = ImageOps.fit(ImageOps.exif_transpose(opened).convert("RGB"), (SIDE, SIDE))
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise UnreadableData(f"{file}: {error}") from error
    points: NDArray[np.float32] = np.asarray(square, np.float32) / np.float32(255)
    return points.transpose(2, 0, 1)
