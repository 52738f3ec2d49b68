"""Pictures in directories, PERSON/SIGN/any name, as those of ``photos``; bursts are the same trap here."""

from pathlib import Path

from coterie_recipes.pictures import read_pictures
from coterie_recipes.recipe import Read
from coterie_recipes.transfer.generator import SIGNS


def read(path: Path) -> Read:
    """By person, its pictures float32 [n, 3, 16, 16] in 0..1. Raises UnreadableData."""
    return read_pictures(path, SIGNS)
