"""Messages in files NAME.tsv, one of each person, a line each: its kind, a tab, its text; the oldest first.

That is the format of the SMS Spam Collection (Almeida et al. 2011, DocEng). The kind is left blank where nobody has
said it. ``vocabulary.txt`` beside them has the words that the model knows; it is brought from public text.
"""

from pathlib import Path

import numpy as np

from coterie_recipes.messages.generator import KINDS, WORDS, person_of
from coterie_recipes.recipe import Person, Read, UnreadableData
from coterie_recipes.words import VOCABULARY, read_text, read_vocabulary, words_of

FIRST = 1 + len(KINDS)
"""Number of the vocabulary's first word."""


def read(path: Path) -> Read:
    """By name of the file, its messages. Raises UnreadableData."""
    number = {word: FIRST + place for place, word in enumerate(read_vocabulary(path, most=WORDS - FIRST))}
    files = sorted(path.glob("*.tsv"))
    if not files:
        raise UnreadableData(f"{path} has no messages in it: a file NAME.tsv for each person, beside {VOCABULARY}")
    return {file.stem: _person(file, number) for file in files}


def _person(file: Path, number: dict[str, int]) -> Person:
    messages, kinds = [], []
    for place, line in enumerate(read_text(file).splitlines(), 1):
        kind, tab, text = line.partition("\t")
        if not tab or kind not in ("", *KINDS):
            expected = f"the kind, a tab and the text; a kind is blank or one of {', '.join(KINDS)}"
            raise UnreadableData(f"{file}, line {place}: expected {expected}")
        messages.append([number[word] for word in words_of(text) if word in number])
        kinds.append(KINDS.index(kind) if kind else -1)
    found = np.array(kinds, np.int64)
    return person_of(messages, found, found >= 0)
