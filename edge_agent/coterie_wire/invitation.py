"""What a device's owner reads before the device joins: what an enrolment token lets it into."""

from typing import Annotated

from msgspec import Meta

from coterie_wire.conditions import Requirements
from coterie_wire.message import Count, Message, Seconds

MAX_LABELS_TOLD = 20
MAX_LEARNED = 20


class ReadInvitation(Message, frozen=True):
    """Ask what the token stands for; it is not used up. Comes without a credential."""

    token: Annotated[str, Meta(max_length=200)]


class Learned(Message, frozen=True):
    """What a device would learn with others."""

    name: str
    """Of the federation."""
    labels: Annotated[tuple[str, ...], Meta(max_length=MAX_LABELS_TOLD)]
    """The first of what its model tells apart."""
    requirements: Requirements
    """What holds before and while a device trains."""
    privacy: str
    """The kind that hides updates, as a plan names it."""
    help: str = "none"
    """The kind by which devices help each other, as a plan names it."""


class Invitation(Message, frozen=True):
    """What the owner is asked to let the device join."""

    devices_left: Count
    """How many may still join with the token."""
    expires_s: Seconds
    learned: Annotated[tuple[Learned, ...], Meta(max_length=MAX_LEARNED)] = ()
    """The federations that run or are paused for devices that join with it; there may be others later."""
