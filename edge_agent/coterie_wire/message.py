"""What messages are made of."""

from typing import Annotated

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0, le=2**53)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
"""Up to thirty years; what is waited for must fit a timer."""
Share = Annotated[float, Meta(ge=0, le=1)]
Identifier = Annotated[str, Meta(max_length=64)]


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A struct that travels as JSON; unknown fields are refused."""
