"""Kinds of messages, from few labels: a fleet learns first, by itself, which words go together."""

from pathlib import Path

import numpy as np

from coterie_recipes.messages.generator import KINDS, draw, draw_labelled
from coterie_recipes.messages.reader import read
from coterie_recipes.recipe import Float32, Person, Pretraining, Recipe

_KINDS = slice(1, 1 + len(KINDS))


def _kinds_right(outputs: Float32, person: Person) -> float:
    """Share of messages whose kind is the likeliest first word, of `outputs` [n, 13, words]."""
    return float((outputs[:, 0, _KINDS].argmax(axis=1) == person.truth).mean())


def _most_frequent(person: Person) -> float:
    """Always naming the kind that the person has named most."""
    return float((person.truth == np.bincount(person.train.y[:, 0].astype(np.int64)).argmax() - 1).mean())


RECIPE = Recipe(
    name="messages",
    title="Kinds of messages, few labels",
    directory=Path(__file__).parent,
    input="message",
    classes=(),
    batch_size=16,
    people=12,
    draw=draw,
    read=read,
    baseline=_most_frequent,
    score=_kinds_right,
    metric="accuracy",
    training={"loss": {"kind": "next_token"}},
    pretraining=Pretraining(rounds=30, draw=draw_labelled),
)
