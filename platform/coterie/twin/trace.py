"""What a fleet did, as a file: when its devices were ready, and how their parts in rounds went. It names no device."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Ending = Literal["delivered", "late", "lost"]
"""Its update came in; the round closed before it came; or the device gave up, fell silent, or its update was wrong."""
NotNegative = Annotated[float, Meta(ge=0)]
Place = Annotated[int, Meta(ge=0)]


class ReadyInterval(msgspec.Struct, frozen=True, array_like=True):
    """A device was ready to train, in seconds since the trace begins."""

    device: Place
    from_s: NotNegative
    until_s: NotNegative


class TracedPart(msgspec.Struct, frozen=True, array_like=True):
    """One device's part in one round."""

    device: Place
    asked_s: NotNegative
    """Since the trace begins."""
    ending: Ending
    lasted_s: NotNegative
    """From when it was asked to its end."""
    train_s: NotNegative = 0.0
    """Of that, it trained; of parts that delivered nothing, not known."""
    upload_s: NotNegative = 0.0
    """Of that, it sent its update; 0: not known."""
    steps: Annotated[int, Meta(ge=0)] = 0
    samples: Annotated[int, Meta(ge=0)] = 0
    sent_bytes: Annotated[int, Meta(ge=0)] = 0


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some days of a fleet."""

    begins_at: str
    """UTC, ISO 8601."""
    lasts_s: Annotated[float, Meta(gt=0)]
    devices: Annotated[int, Meta(ge=1)]
    """Members that are in it; the first so many, where there are more."""
    members: Annotated[int, Meta(ge=1)]
    batch_size: Annotated[int, Meta(ge=1)]
    """Samples of a step."""
    spans: Sequence[ReadyInterval] = ()
    parts: Sequence[TracedPart] = ()

    def __post_init__(self) -> None:
        last = max([*(span.device for span in self.spans), *(part.device for part in self.parts)], default=0)
        if last >= self.devices:
            raise ValueError(f"it tells of device {last}, and has {self.devices}")
