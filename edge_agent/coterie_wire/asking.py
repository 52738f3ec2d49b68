"""Questions to a fleet: the subjects that a device's owner lets it answer, and the question that it is asked.

A device answers in a secure sum (`coterie_wire.secure_sum`), whose messages carry the ID of its answer as their
assignment. A device that declines gives its reason in a `ReleaseAssignment`.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_wire.message import Identifier, Message

MOST_SUBJECTS = 20
Subject = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]
"""Subject of a question, e.g. ``classes``; the owner agrees to each subject separately."""


class OfferToAnswer(Message, frozen=True):
    """The questions that the device's owner lets it answer."""

    subjects: Annotated[tuple[Subject, ...], Meta(max_length=MOST_SUBJECTS)]
    """Subjects that the owner agrees to, among those that the agent knows."""
    without_noise: bool = False
    """Whether the owner also agrees where no noise is added to the sum."""
    min_devices: Annotated[int, Meta(ge=3)] = 10
    """Fewest devices over which an answer may be summed."""


class OpenQuestion(Message, frozen=True):
    """A question to the device; it is sent at each check-in until the device has answered or declined."""

    answer: Identifier
    """ID of the device's answer, which the messages of the secure sum carry as their assignment."""
    federation: str
    question: msgspec.Raw
    """A `coterie_learning.question.Question`."""
