"""How a device's personal model does against the version: figures for people, by which nothing is decided."""

from typing import Annotated

from msgspec import Meta

from coterie_wire.message import Identifier, Message, Share


class ReportPersonal(Message, frozen=True):
    """How a device's personal model compares with a version on samples held out; replaces what it told before."""

    federation: Annotated[str, Meta(max_length=100)]
    version: Identifier
    """The version that the device held."""
    answers: bool
    """Whether the personal model answers the device's owner, or the version."""
    samples: Annotated[int, Meta(ge=1, le=2**53)]
    """Samples held out, on which both were compared; rounded where the owner wants the device to tell less."""
    version_accuracy: Share | None = None
    """Share of them that the version has right; None: the task has no right and wrong."""
    own_accuracy: Share | None = None
    """Share that what answers has right."""
