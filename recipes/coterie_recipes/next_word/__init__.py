"""Next word: which one follows the last five, as a keyboard suggests three of them."""

from functools import partial
from pathlib import Path

from coterie_recipes.next_word.generator import WORDS, draw
from coterie_recipes.next_word.reader import read
from coterie_recipes.recipe import Person, Recipe, top

SUGGESTIONS = 3


def _most_used(person: Person) -> float:
    """Always suggesting the words that the person has used most."""
    counts = [(person.train.y == word).sum() for word in range(len(WORDS))]
    most = sorted(range(len(WORDS)), key=lambda word: -counts[word])[:SUGGESTIONS]
    return float(sum((person.truth == word).mean() for word in most))


RECIPE = Recipe(
    name="next_word",
    title="Next word on a keyboard",
    directory=Path(__file__).parent,
    input="words",
    classes=WORDS,
    batch_size=32,
    people=12,
    draw=draw,
    read=read,
    baseline=_most_used,
    score=partial(top, of=SUGGESTIONS),
    metric="share of words among the first three suggestions",
)
