"""What messages are made of."""

from typing import Annotated

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0, le=2**53)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
"""Up to thirty years; what is waited for must fit a timer."""
Share = Annotated[float, Meta(ge=0, le=1)]
Identifier = Annotated[str, Meta(max_length=64)]


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """A struct that travels as JSON.

    A field with a default is left out where it has it, and one that is not known is passed over, so that both sides may
    be of different releases. What decides how a device computes (plans, requirements, manifests) is read otherwise: a
    field that is not known is refused there.
    """
