"""Predictions by the platform, for samples that a device's own model does not answer and its owner lets it send."""

from typing import Annotated, Literal

from msgspec import Meta

from coterie_wire.message import Identifier, Message, Seconds
from coterie_wire.predictions import Output, Prediction

MAX_SAMPLES = 64
"""Most samples of one request."""
MAX_SAMPLE_BYTES = 512 << 10
SampleBytes = Annotated[bytes, Meta(min_length=4, max_length=MAX_SAMPLE_BYTES)]


class PlatformOffer(Message, frozen=True):
    """The platform answers for the devices of this federation."""

    federation: Annotated[str, Meta(max_length=100)]
    samples: Annotated[int, Meta(ge=1, le=MAX_SAMPLES)]
    """Most samples of one request."""


class AskPlatform(Message, frozen=True):
    """Predict for these samples, which the platform does not store. A device sends it only with its owner's consent."""

    federation: Annotated[str, Meta(max_length=100)]
    samples: Annotated[tuple[SampleBytes, ...], Meta(min_length=1, max_length=MAX_SAMPLES)]
    """float32, little-endian, flattened in the order of the model's inputs."""
    remaining_s: Seconds
    """Seconds for which the device waits for the answer."""


class PlatformAnswer(Message, frozen=True):
    """Predictions of a model on the platform."""

    version: Identifier
    model: Literal["cloud", "device"]
    """Which model answered: the cloud model, or the device model in the version that the device should have."""
    predictions: tuple[Prediction | Output, ...]
    """One prediction for each sample, in their order."""
