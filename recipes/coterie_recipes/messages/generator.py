"""People who get messages of eight kinds, and say of few of them which: words go together as their kinds have it.

Each kind has words of its own, all share some, and now and then a word of another kind slips in. A person gets few
kinds often, and its friends prefer some of each kind's words. The kind of a message is a word, too, which stands before
it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.recipe import Int64, Person, Samples, divided

Float64 = NDArray[np.float64]
KINDS = ("family", "work", "sport", "food", "travel", "money", "health", "music")
WORDS_EACH, SHARED = 36, 32
"""Words of one kind, and words that say nothing of it."""
WORDS = 1 + len(KINDS) + len(KINDS) * WORDS_EACH + SHARED
"""0 is no word, or one that is not known; then come the kinds' names, the kinds' words, and those that all share."""
LONGEST = 12
"""Words of a message; what follows is left out."""
MESSAGES, LABELLED = 120, 5
"""Of one person, and of how many older ones it has said the kind."""
CONCENTRATION = 0.6
"""Of the Dirichlet distribution of how often a person gets each kind: the smaller, the more one-sided."""
OWN_SHARE, SLIP_SHARE = 0.55, 0.1
"""Of a message's words, those of its kind, and those of any."""


def draw(seed: int, number: int) -> Person:
    """Person `number` of the population of `seed`, who has said the kind of few messages."""
    messages, kinds, said = _drawn(seed, number)
    return person_of(messages, kinds, said)


def draw_labelled(seed: int, number: int) -> Person:
    """The same person, who has said the kind of every message."""
    messages, kinds, said = _drawn(seed, number)
    return person_of(messages, kinds, np.ones_like(said))


def person_of(messages: Sequence[Sequence[int]], kinds: Int64, said: NDArray[np.bool_]) -> Person:
    """Of `messages` in words that are known, the oldest first, their `kinds` [n], and of which they were `said` [n].

    Those of the newest quarter are the test, where their kind was said or only the test knows it (`kinds` >= 0).
    """
    x = np.zeros((len(messages), 1 + LONGEST), np.int64)
    for row, words in zip(x, messages, strict=True):
        cut = words[:LONGEST]
        row[1 : 1 + len(cut)] = cut
    named = np.zeros_like(x)
    named[:, 0] = 1 + kinds
    whole = divided(Samples(x, named), truth=kinds)
    older = len(whole.train.y)
    known = np.flatnonzero(whole.truth >= 0)
    return Person(
        train=whole.train.take(np.flatnonzero(said[:older])),
        test=whole.test.take(known),
        truth=whole.truth[known],
        unlabelled=Samples(whole.train.x, whole.train.x),
    )


def _drawn(seed: int, number: int) -> tuple[Sequence[Sequence[int]], Int64, NDArray[np.bool_]]:
    """Messages, their kinds, and of which the person has said it."""
    rng = np.random.default_rng([seed, number])
    gets = rng.dirichlet(np.full(len(KINDS), CONCENTRATION))
    taste = np.exp(rng.normal(0, 0.8, (len(KINDS), WORDS_EACH))) / np.sqrt(np.arange(1, WORDS_EACH + 1))
    kinds = rng.choice(len(KINDS), MESSAGES, p=gets)
    messages = [_message(int(kind), taste[kind], rng) for kind in kinds]
    said = np.zeros(MESSAGES, np.bool_)
    older = MESSAGES - MESSAGES // 4
    said[rng.choice(older, LABELLED, replace=False)] = True
    return messages, kinds.astype(np.int64), said


def _message(kind: int, taste: Float64, rng: np.random.Generator) -> Sequence[int]:
    words = []
    for _ in range(int(rng.integers(5, LONGEST + 1))):
        place = rng.random()
        if place < OWN_SHARE:
            words.append(_word(kind, int(rng.choice(WORDS_EACH, p=taste / taste.sum()))))
        elif place < OWN_SHARE + SLIP_SHARE:
            words.append(_word(int(rng.integers(len(KINDS))), int(rng.integers(WORDS_EACH))))
        else:
            words.append(WORDS - SHARED + int(rng.integers(SHARED)))
    return words


def _word(kind: int, rank: int) -> int:
    return 1 + len(KINDS) + kind * WORDS_EACH + rank
