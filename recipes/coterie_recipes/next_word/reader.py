"""Text: a directory with a file NAME.txt for each person and the words that the model knows in ``vocabulary.txt``.

The vocabulary is brought from public text. One that is gathered from what people write gives their words away.
"""

import re
from pathlib import Path

from coterie_recipes.next_word.generator import WORDS, samples_of
from coterie_recipes.recipe import Read, UnreadableData, divided

VOCABULARY = "vocabulary.txt"
_SENTENCE_ENDS = re.compile(r"[.!?\n]+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def read(path: Path) -> Read:
    """By name of the file, a sample for each word that is known. Raises UnreadableData."""
    words = _text(path / VOCABULARY).split()
    if not words or len(words) >= len(WORDS):
        raise UnreadableData(f"{path / VOCABULARY} has {len(words)} words; the model takes 1 to {len(WORDS) - 1}")
    number = {word.lower(): place for place, word in enumerate(words, 1)}
    files = sorted(file for file in path.glob("*.txt") if file.name != VOCABULARY)
    if not files:
        raise UnreadableData(f"{path} has no text in it: a file NAME.txt for each person")
    return {file.stem: divided(samples_of(_sentences(_text(file), number))) for file in files}


def _sentences(text: str, number: dict[str, int]) -> list[list[int]]:
    return [
        [number.get(word.lower(), 0) for word in _WORD.findall(sentence)] for sentence in _SENTENCE_ENDS.split(text)
    ]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UnreadableData(f"{path} is not UTF-8 text: {error.reason}") from error
