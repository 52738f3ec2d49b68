"""How typed text becomes samples of which word follows which: examples for clients in other languages."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from coterie_recipes.next_word.reader import read
from coterie_recipes.words import VOCABULARY

KNOWN = ("the", "house", "is", "don't", "größe", "élan", "a", "and")
"""The words that the model knows, as numbers 1 to 8."""
TEXTS = (
    "The house is, and the HOUSE don’t? a\nthe the",
    "don't is. Größe élan! x2y a ² and_the",
    "a a a a a a a a",
    "... \n !",
    "the unknown house",
    "rock'n'roll 'the' a's",
)


def word_vectors() -> bytes:
    """As JSON."""
    texts = [{"text": text, "samples": _samples(text)} for text in TEXTS]
    document = {"labels": ["<unknown>", *KNOWN], "before": 5, "texts": texts}
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _samples(text: str) -> list[dict[str, object]]:
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / VOCABULARY).write_text(" ".join(KNOWN), encoding="utf-8")
        (folder / "somebody.txt").write_text(text, encoding="utf-8")
        (person,) = read(folder).values()
    parts = (person.train, person.test)
    x, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "y"))
    return [{"x": row.tolist(), "label": int(label)} for row, label in zip(x, y, strict=True)]
