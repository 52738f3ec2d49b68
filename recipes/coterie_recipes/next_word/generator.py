"""People who write: sentences of a small language with a grammar, topics, and phrases that are a person's own.

The grammar (which class of word follows which) is the same for all. Each class has words for every topic, used as
Zipf's law says; each person writes of few topics, prefers other words than the next one, and repeats some pet phrases.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.recipe import Person, Samples, divided

CONTEXT = 5
"""Words that are known when the next one is to be suggested; 0 stands before a sentence's first."""
SENTENCES, LONGEST = 70, 11
GRAMMAR_CLASSES, TOPICS, WORDS_EACH = 8, 5, 6
TOPIC_CONCENTRATION = 0.4
"""Of the Dirichlet distribution of a person's topics: the smaller, the fewer."""
PET_PHRASES, PET_SHARE = 4, 0.12
"""Of a person, and the share of its sentences that end in one."""
_KNOWN = GRAMMAR_CLASSES * TOPICS * WORDS_EACH
_SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "po", "ra", "se", "ti", "vo", "zu", "fa", "ge", "hi", "jo")
WORDS = ("<unknown>", *("".join(pair) for pair in list(product(_SYLLABLES, repeat=2))[:_KNOWN]))
"""Made up; the first is every word that is not known, and what stands before a sentence."""
_LANGUAGE = np.random.default_rng(1913)
_FOLLOWS = np.stack([_LANGUAGE.dirichlet(np.full(GRAMMAR_CLASSES, 0.25)) for _ in range(GRAMMAR_CLASSES)])
"""[class, class]: how often one class of words follows another (Markov 1913)."""
_ZIPF = 1 / np.arange(1, WORDS_EACH + 1)
_LINKED = _LANGUAGE.permuted(np.tile(np.arange(WORDS_EACH), (_KNOWN + 1, 1)), axis=1)
"""[word, rank]: which words of the next class and topic usually follow a word."""


def draw(seed: int, number: int) -> Person:
    """Person `number` of the population of `seed`."""
    rng = np.random.default_rng([seed, number])
    topics = rng.dirichlet(np.full(TOPICS, TOPIC_CONCENTRATION))
    taste = np.exp(rng.normal(0, 0.6, (_KNOWN + 1, WORDS_EACH)))
    pets = [tuple(rng.integers(1, len(WORDS), 4).tolist()) for _ in range(PET_PHRASES)]
    sentences = [_sentence(topics, taste, pets, rng) for _ in range(SENTENCES)]
    return divided(samples_of(sentences))


def samples_of(sentences: Sequence[Sequence[int]]) -> Samples:
    """A sample for each word of `sentences`: the words before it in the sentence int64 [5], and the word."""
    pairs = list(_pairs(sentences))
    if not pairs:
        return Samples(np.zeros((0, CONTEXT), np.int64), np.zeros(0, np.int64))
    return Samples(np.array([before for before, _ in pairs], np.int64), np.array([word for _, word in pairs], np.int64))


def _pairs(sentences: Sequence[Sequence[int]]) -> Iterator[tuple[Sequence[int], int]]:
    for sentence in sentences:
        padded = [0] * CONTEXT + list(sentence)
        for place, word in enumerate(sentence):
            if word:  # nobody is offered an unknown word
                yield padded[place : place + CONTEXT], word


def _sentence(
    topics: NDArray[np.float64], taste: NDArray[np.float64], pets: Sequence[Sequence[int]], rng: np.random.Generator
) -> Sequence[int]:
    topic = int(rng.choice(TOPICS, p=topics))
    words: list[int] = []
    kind, previous = int(rng.integers(0, 2)), 0
    for _ in range(int(rng.integers(5, LONGEST + 1))):
        chances = _ZIPF**1.5 * taste[previous]
        rank = int(rng.choice(WORDS_EACH, p=chances / chances.sum()))
        previous = 1 + (kind * TOPICS + topic) * WORDS_EACH + int(_LINKED[previous, rank])
        words.append(previous)
        kind = int(rng.choice(GRAMMAR_CLASSES, p=_FOLLOWS[kind]))
    return [*words, *pets[int(rng.integers(len(pets)))]] if rng.random() < PET_SHARE else words
