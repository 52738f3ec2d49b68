"""Consent scopes: what leaves a device under a plan, and which of it the owner has not agreed to."""

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias, get_args

Readability = Literal["readable", "noised", "summed"]
"""How updates can be read: individually, individually under noise added by the device, or only in sums."""
Scope: TypeAlias = Readability | Literal["help"]
"""Scopes of updates, or parts of the device's model with figures by class, sent to other devices."""
SCOPES: tuple[Scope, ...] = (*get_args(Readability), "help")
WORDS: Mapping[Scope, str] = {
    "readable": "The platform can read what your device learned, though not your data.",
    "noised": "Your device adds noise to what it learned before anything of it leaves.",
    "summed": "Nobody can read what your device learned, only what many devices learned together.",
    "help": (
        "Devices help each other: yours tells how its own model does on each class, and a part of that model may go to "
        "a device that asks for help, by the platform; yours may ask, too. What it tells, and whether it helps, you "
        "choose after joining."
    ),
}
"""Descriptions for the owner."""


FEDERATION = "federation:"
LABELS = "labels"
ASKED_LABELS = "You are asked about samples whose label nobody knows, and your answers are learned from."


def description_of(part: str) -> str:
    """Describes what an owner may withdraw: a federation (``federation:NAME``), a scope, or label questions."""
    if part == LABELS:
        return ASKED_LABELS
    if part.startswith(FEDERATION):
        return f"Your device takes part in {part.removeprefix(FEDERATION)}."
    return next(words for scope, words in WORDS.items() if scope == part)


def is_part(part: str) -> bool:
    """Whether an owner may withdraw `part`."""
    return part == LABELS or part in SCOPES or (part.startswith(FEDERATION) and part != FEDERATION)


def withdrawn_parts(withdrawn: Collection[str], federation: str, asked: Collection[Scope]) -> tuple[str, ...]:
    """Which of a federation, and of the scopes that its plan asks for, the owner has withdrawn."""
    return tuple(part for part in (FEDERATION + federation, *asked) if part in withdrawn)


def not_covered(agreed: Collection[Scope], asked: Collection[Scope]) -> tuple[Scope, ...]:
    """The scopes in `asked` that `agreed` does not cover; a scope covers those under which the platform reads less."""
    covered = {*agreed, *get_args(Readability)} if "readable" in agreed else {*agreed}
    return tuple(scope for scope in SCOPES if scope in asked and scope not in covered)
