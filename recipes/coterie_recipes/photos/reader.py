"""Pictures in directories, PERSON/THING/any name: JPEG, PNG and whatever else Pillow reads.

Photos are read in the order of their names, which cameras number by time. Bursts are nearly the same picture many
times: divided at random, they are on both sides.
"""

from pathlib import Path

from coterie_recipes.photos.generator import THINGS
from coterie_recipes.pictures import read_pictures
from coterie_recipes.recipe import Read


def read(path: Path) -> Read:
    """By person, its pictures float32 [n, 3, 16, 16] in 0..1; THING is one of the names of the classes.

    Raises UnreadableData.
    """
    return read_pictures(path, THINGS)
