"""When a device asks its owner to label a sample: few a day, none twice. Which one: `coterie_learning.uncertainty`.

Pure: the device keeps a `Labelling`, and replaces it by what a function here returns.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_wire.conditions import Hour, is_within

LabelKind = Literal["given", "asked", "implied"]
"""Who said it: the owner with the sample, the owner when asked, or what a program saw happen."""
How = Literal["margin", "entropy"]


class AskPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often the owner lets the device ask, and about what."""

    per_day: Annotated[int, Meta(ge=0, le=100)] = 3
    """Questions a day at most; 0: none."""
    how: How = "margin"
    """What makes a model uncertain: its two likeliest classes are close, or all of them are (entropy)."""
    quiet: tuple[Hour, Hour] = (21, 8)
    """Local hours [from, to) without questions; from > to spans midnight, and from an hour to itself there are none."""


class Labelling(msgspec.Struct, frozen=True):
    """What a device remembers of its questions."""

    open: int | None = None
    """Number of the sample that its owner is being asked about."""
    then: int | None = None
    """The question that an undone one has taken the place of; it is next, and does not count again."""
    day: int = 0
    """The owner's day of the newest question, in days from any day on."""
    asked_today: int = 0
    """Questions of that day."""
    snoozed_until: float = 0.0
    """Unix time before which it asks nothing new."""
    last: int | None = None
    """Number of the sample that the newest answer made, which can still be undone."""
    asked: int = 0
    answered: int = 0
    skipped: int = 0
    """Since the store was made; each question ends answered or skipped."""


def questions_left(state: Labelling, policy: AskPolicy, *, now: float, day: int, hour: int) -> int:
    """New questions that the device may ask now; `now` is Unix time, `day` and `hour` are the owner's.

    A clock that is set back, or a journey, gives no second budget for the same day. One that was wrong by more than a
    day, and is right again, takes no budget away.
    """
    is_quiet = policy.quiet[0] != policy.quiet[1] and is_within(policy.quiet, hour)
    if now < state.snoozed_until or is_quiet:
        return 0
    used = state.asked_today if 0 <= state.day - day <= 1 else 0
    return max(0, policy.per_day - used)


def ask(state: Labelling, sample: int, *, day: int) -> Labelling:
    """The owner is asked about `sample`."""
    is_same_day = 0 <= state.day - day <= 1
    return msgspec.structs.replace(
        state,
        open=sample,
        day=state.day if is_same_day else day,
        asked_today=state.asked_today + 1 if is_same_day else 1,
        asked=state.asked + 1,
    )


def answer(state: Labelling, made: int) -> Labelling:
    """The owner has said the class, which made the labelled sample numbered `made`."""
    return msgspec.structs.replace(state, open=state.then, then=None, last=made, answered=state.answered + 1)


def skip(state: Labelling) -> Labelling:
    """The owner does not know, or does not want to say."""
    return msgspec.structs.replace(state, open=state.then, then=None, skipped=state.skipped + 1)


def undo(state: Labelling, sample: int) -> Labelling:
    """The newest answer was a slip: its question is open again, about `sample`."""
    return msgspec.structs.replace(state, open=sample, then=state.open, last=None, answered=state.answered - 1)


def snooze(state: Labelling, until: float) -> Labelling:
    """Ask nothing new before the Unix time `until`."""
    return msgspec.structs.replace(state, snoozed_until=until)
