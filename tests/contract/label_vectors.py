"""Which sample a device asks about, and how many questions it may ask: examples for clients in other languages."""

import json
from collections.abc import Sequence
from typing import get_args

import msgspec
import numpy as np

from coterie_learning.labelling import (
    AskPolicy,
    How,
    Labelling,
    answer,
    ask,
    questions_left,
    skip,
    snooze,
    undo,
)
from coterie_learning.random import part_seed
from coterie_learning.uncertainty import most_uncertain

OUTPUTS: Sequence[Sequence[Sequence[float]]] = (
    ((2.0, 1.0, 0.0), (2.0, 1.9, -5.0), (1.0, 1.0, 1.0)),
    ((0.5, 0.5), (0.5, 0.5), (9.0, -9.0)),
    ((88.0, -88.0, 0.0), (1e4, 0.0, 0.0)),
    ((3.0, 2.9, -20.0, -20.0), (1.0, 0.0, 0.0, 0.0)),
    tuple(map(tuple, np.random.default_rng(part_seed(7, "logits")).normal(size=(12, 10)).round(4).tolist())),
)
"""Logits [samples, classes]. In the fourth, margin and entropy differ."""
_DAY = 739_000
_STATES = (
    Labelling(),
    Labelling(day=_DAY, asked_today=2),
    Labelling(day=_DAY, asked_today=3),
    Labelling(day=_DAY + 1, asked_today=3),
    Labelling(day=_DAY + 2, asked_today=3),
    Labelling(day=_DAY - 1, asked_today=3),
    Labelling(snoozed_until=1e9 + 1),
)
_POLICIES = (AskPolicy(), AskPolicy(per_day=0), AskPolicy(per_day=5, quiet=(0, 0)), AskPolicy(quiet=(8, 20)))
HOURS = (3, 12, 21)


def label_vectors() -> bytes:
    """As JSON."""
    chosen = [
        {"outputs": logits, "numbers": numbers, "how": how, "chosen": most_uncertain(numbers, np.array(logits), how)}
        for logits in OUTPUTS
        for numbers in (list(range(10, 10 + len(logits))),)
        for how in get_args(How)
    ]
    left = [
        {
            "state": msgspec.to_builtins(state),
            "policy": msgspec.to_builtins(policy),
            "hour": hour,
            "left": questions_left(state, policy, now=1e9, day=_DAY, hour=hour),
        }
        for state in _STATES
        for policy in _POLICIES
        for hour in HOURS
    ]
    asked = [msgspec.to_builtins(ask(state, 5, day=_DAY)) for state in _STATES]
    first = ask(Labelling(), 5, day=_DAY)
    second = ask(answer(first, 9), 7, day=_DAY)
    story = [
        second,
        undo(second, 6),
        skip(undo(second, 6)),
        first,
        answer(first, 9),
        undo(answer(first, 9), 6),
        skip(first),
        snooze(first, 1e9),
    ]
    document = {
        "chosen": chosen,
        "day": _DAY,
        "now": 1e9,
        "left": left,
        "states": msgspec.to_builtins(_STATES),
        "asked": asked,
        "story": msgspec.to_builtins(story),
    }
    return json.dumps(document, indent=1).encode() + b"\n"
