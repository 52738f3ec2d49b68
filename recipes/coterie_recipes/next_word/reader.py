"""Text: a directory with a file NAME.txt for each person and the words that the model knows in ``vocabulary.txt``.

The vocabulary is brought from public text. One that is gathered from what people write gives their words away.
"""

import re
from pathlib import Path

from coterie_recipes.next_word.generator import WORDS, samples_of
from coterie_recipes.recipe import Read, UnreadableData, divided
from coterie_recipes.words import VOCABULARY, read_text, read_vocabulary, words_of

_SENTENCE_ENDS = re.compile(r"[.!?\n]+")


def read(path: Path) -> Read:
    """By name of the file, a sample for each word that is known. Raises UnreadableData."""
    number = {word: place for place, word in enumerate(read_vocabulary(path, most=len(WORDS) - 1), 1)}
    files = sorted(file for file in path.glob("*.txt") if file.name != VOCABULARY)
    if not files:
        raise UnreadableData(f"{path} has no text in it: a file NAME.txt for each person")
    return {file.stem: divided(samples_of(_sentences(read_text(file), number))) for file in files}


def _sentences(text: str, number: dict[str, int]) -> list[list[int]]:
    return [[number.get(word, 0) for word in words_of(sentence)] for sentence in _SENTENCE_ENDS.split(text)]
