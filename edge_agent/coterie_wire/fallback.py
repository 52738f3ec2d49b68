"""The platform answers for a device whose own model does not, where its owner lets samples go there."""

from typing import Annotated, Literal

from msgspec import Meta

from coterie_wire.message import Identifier, Message, Seconds
from coterie_wire.predictions import Output, Prediction

MAX_SAMPLES = 64
"""Of one request."""
MAX_SAMPLE_BYTES = 512 << 10
SampleBytes = Annotated[bytes, Meta(min_length=4, max_length=MAX_SAMPLE_BYTES)]


class PlatformOffer(Message, frozen=True):
    """A federation of the device lets the platform answer for it."""

    federation: Annotated[str, Meta(max_length=100)]
    samples: Annotated[int, Meta(ge=1, le=MAX_SAMPLES)]
    """Of one request at most."""


class AskPlatform(Message, frozen=True):
    """Answer these samples, and keep nothing of them. Without the owner's consent no device sends it."""

    federation: Annotated[str, Meta(max_length=100)]
    samples: Annotated[tuple[SampleBytes, ...], Meta(min_length=1, max_length=MAX_SAMPLES)]
    """float32, little-endian, flattened in the order of the model's inputs."""
    remaining_s: Seconds
    """How long the device waits for the answer."""


class PlatformAnswer(Message, frozen=True):
    """What a model on the platform says of the samples."""

    version: Identifier
    model: Literal["cloud", "device"]
    """The cloud model, or the version of the device model that the device should hold."""
    predictions: tuple[Prediction | Output, ...]
    """One a sample."""
