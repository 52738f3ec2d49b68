"""The base class of messages, and types of their fields."""

from typing import Annotated

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0, le=2**53)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
"""Duration in seconds, up to thirty years, so that it fits a timer."""
Share = Annotated[float, Meta(ge=0, le=1)]
Identifier = Annotated[str, Meta(max_length=64)]


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """A struct that is sent as JSON.

    Fields that have their default are left out and unknown fields are ignored, so that both sides may be of different
    releases. Structs that decide how a device computes (plans, requirements, manifests) refuse unknown fields instead.
    """
