"""Words of texts, and the vocabulary that a model knows."""

import re
from collections.abc import Sequence
from pathlib import Path

from coterie_recipes.recipe import UnreadableData

VOCABULARY = "vocabulary.txt"
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def words_of(text: str) -> Sequence[str]:
    """In small letters."""
    return [word.lower() for word in _WORD.findall(text)]


def read_vocabulary(path: Path, *, most: int) -> Sequence[str]:
    """The words in the directory `path`, in small letters, 1 to `most`. Raises UnreadableData."""
    words = read_text(path / VOCABULARY).split()
    if not 1 <= len(words) <= most:
        raise UnreadableData(f"{path / VOCABULARY} has {len(words)} words; the model takes 1 to {most}")
    return [word.lower() for word in words]


def read_text(path: Path) -> str:
    """Raises UnreadableData."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UnreadableData(f"{path} is not UTF-8 text: {error.reason}") from error
