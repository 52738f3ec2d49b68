"""Questions to a fleet: what an owner lets the device be counted in, and what the platform asks of it.

A device answers in a secure sum (`coterie_wire.secure_sum`), whose messages name its answer as their assignment; one
that will not says why in a `ReleaseAssignment`.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_wire.message import Identifier, Message

MOST_SUBJECTS = 20
Subject = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]
"""What a question is about, e.g. ``classes``; an owner agrees to each by itself."""


class OfferToAnswer(Message, frozen=True):
    """What its owner lets the device be counted in."""

    subjects: Annotated[tuple[Subject, ...], Meta(max_length=MOST_SUBJECTS)]
    """Those that its owner agrees to, of those that its agent knows."""
    without_noise: bool = False
    """Also where the sum has no noise."""
    min_devices: Annotated[int, Meta(ge=3)] = 10
    """Devices that are summed at least."""


class OpenQuestion(Message, frozen=True):
    """A question that the device is asked, until it has answered or declined."""

    answer: Identifier
    """What the device's part in the sum is known by."""
    federation: str
    question: msgspec.Raw
    """A `coterie_learning.question.Question`."""
