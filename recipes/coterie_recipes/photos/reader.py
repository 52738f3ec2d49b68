"""Pictures in directories, PERSON/THING/any name: JPEG, PNG and whatever else Pillow reads.

Photos are read in the order of their names, which cameras number by time. Bursts are nearly the same picture many
times: divided at random, they are on both sides.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.photos.generator import SIDE, THINGS
from coterie_recipes.recipe import Read, Samples, UnreadableData, divided

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm")


def read(path: Path) -> Read:
    """By person, its pictures float32 [n, 3, 16, 16] in 0..1, cut to squares in their middle. Raises UnreadableData.

    THING is one of the names of the classes.
    """
    found = {}
    for person in sorted(one for one in path.iterdir() if one.is_dir()) if path.is_dir() else ():
        pictures = [file for file in person.glob("*/*") if file.suffix.lower() in SUFFIXES]
        unknown = sorted({file.parent.name for file in pictures} - set(THINGS))
        if unknown:
            raise UnreadableData(f"{person / unknown[0]} is none of {', '.join(THINGS)}")
        pictures.sort(key=lambda file: file.name)
        if pictures:
            x = np.stack([_picture(file) for file in pictures])
            labels = np.array([THINGS.index(file.parent.name) for file in pictures], np.int64)
            found[person.name] = divided(Samples(x, labels))
    if not found:
        raise UnreadableData(f"{path} has no pictures in it: PERSON/THING/NAME.jpg")
    return found


def _picture(file: Path) -> NDArray[np.float32]:
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
