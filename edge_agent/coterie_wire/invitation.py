"""What a device's owner reads before the device joins: the federations that an enrolment token gives access to."""

from typing import Annotated

from msgspec import Meta

from coterie_wire.conditions import Requirements
from coterie_wire.message import Count, Message, Seconds

MAX_LABELS_TOLD = 20
MAX_LEARNED = 20


class ReadInvitation(Message, frozen=True):
    """Ask what the token gives access to; this does not use the token up. Sent without a credential."""

    token: Annotated[str, Meta(max_length=200)]


class Learned(Message, frozen=True):
    """A federation that the device would take part in."""

    name: str
    """The federation's name."""
    labels: Annotated[tuple[str, ...], Meta(max_length=MAX_LABELS_TOLD)]
    """Names of the first of its model's classes."""
    requirements: Requirements
    """Conditions under which a device trains."""
    privacy: str
    """Name of the plan's privacy kind."""
    help: str = "none"
    """Name of the plan's help kind."""


class Invitation(Message, frozen=True):
    """The reply to `ReadInvitation`."""

    devices_left: Count
    """How many devices may still join with the token."""
    expires_s: Seconds
    learned: Annotated[tuple[Learned, ...], Meta(max_length=MAX_LEARNED)] = ()
    """Running and paused federations of devices that join with the token; others may follow later."""
