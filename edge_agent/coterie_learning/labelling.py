"""When a device asks its owner to label a sample: a few a day, none twice; `coterie_learning.uncertainty` chooses it.

Pure functions: the device stores a `Labelling` and replaces it with what these return.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_wire.conditions import Hour, is_within

LabelKind = Literal["given", "asked", "implied"]
"""Source of a label: the owner with the sample, the owner when asked, or an outcome observed by a program."""
How = Literal["margin", "entropy"]


class AskPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often the owner lets the device ask, and about what."""

    per_day: Annotated[int, Meta(ge=0, le=100)] = 3
    """At most so many questions a day; 0: none."""
    how: How = "margin"
    """Measure of uncertainty: the margin of the two likeliest classes, or the entropy of all."""
    quiet: tuple[Hour, Hour] = (21, 8)
    """Local hours [from, to) without questions; from > to spans midnight, and from = to means no quiet hours."""


class Labelling(msgspec.Struct, frozen=True):
    """A device's state of questions to its owner."""

    open: int | None = None
    """Number of the sample of the open question."""
    then: int | None = None
    """The question that was replaced by an undone one; it is asked next, and does not count again."""
    day: int = 0
    """The owner's day of the newest question, as a day number with any origin."""
    asked_today: int = 0
    """Questions of that day."""
    snoozed_until: float = 0.0
    """Unix time before which it asks nothing new."""
    last: int | None = None
    """Number of the labelled sample of the newest answer, which can still be undone."""
    asked: int = 0
    answered: int = 0
    skipped: int = 0
    """Count since the store was created; each question ends answered or skipped."""


def questions_left(state: Labelling, policy: AskPolicy, *, now: float, day: int, hour: int) -> int:
    """New questions that the device may ask now; `now` is Unix time, `day` and `hour` are the owner's.

    A clock set back, or travel across time zones, gives no second budget for the same day. A clock that was wrong by
    more than a day and is corrected takes no budget away.
    """
    is_quiet = policy.quiet[0] != policy.quiet[1] and is_within(policy.quiet, hour)
    if now < state.snoozed_until or is_quiet:
        return 0
    used = state.asked_today if 0 <= state.day - day <= 1 else 0
    return max(0, policy.per_day - used)


def ask(state: Labelling, sample: int, *, day: int) -> Labelling:
    """The state once the owner is asked about `sample`."""
    is_same_day = 0 <= state.day - day <= 1
    return msgspec.structs.replace(
        state,
        open=sample,
        day=state.day if is_same_day else day,
        asked_today=state.asked_today + 1 if is_same_day else 1,
        asked=state.asked + 1,
    )


def answer(state: Labelling, made: int) -> Labelling:
    """The state once the owner has named the class, stored as the labelled sample numbered `made`."""
    return msgspec.structs.replace(state, open=state.then, then=None, last=made, answered=state.answered + 1)


def skip(state: Labelling) -> Labelling:
    """The state once the owner has skipped the question."""
    return msgspec.structs.replace(state, open=state.then, then=None, skipped=state.skipped + 1)


def undo(state: Labelling, sample: int) -> Labelling:
    """Undo the newest answer: its question is open again, about `sample`."""
    return msgspec.structs.replace(state, open=sample, then=state.open, last=None, answered=state.answered - 1)


def snooze(state: Labelling, until: float) -> Labelling:
    """The state in which nothing new is asked before the Unix time `until`."""
    return msgspec.structs.replace(state, snoozed_until=until)
