"""A fleet's history as a file: when devices were ready, and their parts in rounds, without names of devices."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Ending = Literal["delivered", "late", "lost"]
"""Its update was received; the round closed before; or the device gave up, dropped out, or sent a wrong update."""
NotNegative = Annotated[float, Meta(ge=0)]
Place = Annotated[int, Meta(ge=0)]


class ReadyInterval(msgspec.Struct, frozen=True, array_like=True):
    """An interval in which a device was ready to train, in seconds since the start of the trace."""

    device: Place
    from_s: NotNegative
    until_s: NotNegative


class TracedPart(msgspec.Struct, frozen=True, array_like=True):
    """One device's part in one round."""

    device: Place
    asked_s: NotNegative
    """Seconds since the start of the trace."""
    ending: Ending
    lasted_s: NotNegative
    """Seconds from the invitation to its end."""
    train_s: NotNegative = 0.0
    """Seconds of training; unknown for parts without an update."""
    upload_s: NotNegative = 0.0
    """Seconds of upload; 0: unknown."""
    steps: Annotated[int, Meta(ge=0)] = 0
    samples: Annotated[int, Meta(ge=0)] = 0
    sent_bytes: Annotated[int, Meta(ge=0)] = 0


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The history of a fleet over some days."""

    begins_at: str
    """UTC, ISO 8601."""
    lasts_s: Annotated[float, Meta(gt=0)]
    devices: Annotated[int, Meta(ge=1)]
    """Number of members in it, the first where there are more."""
    members: Annotated[int, Meta(ge=1)]
    batch_size: Annotated[int, Meta(ge=1)]
    """Batch size."""
    spans: Sequence[ReadyInterval] = ()
    parts: Sequence[TracedPart] = ()

    def __post_init__(self) -> None:
        last = max([*(span.device for span in self.spans), *(part.device for part in self.parts)], default=0)
        if last >= self.devices:
            raise ValueError(f"it tells of device {last}, and has {self.devices}")
