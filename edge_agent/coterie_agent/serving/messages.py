"""What programs ask the prediction service, and what it answers."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_agent.config import MAX_SAMPLES
from coterie_agent.ingest.row import JsonRow
from coterie_wire.predictions import Output, Prediction


class PredictionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /predict``."""

    samples: Annotated[list[JsonRow], Meta(min_length=1, max_length=MAX_SAMPLES)]
    deadline_ms: Annotated[float, Meta(gt=0, le=60_000)] | None = None
    """Within what the answer must come, from the request's arrival; None: what agent.toml says, else 1000, and 5000
    where the platform may be asked."""
    stream: Annotated[str, Meta(max_length=64)] = ""
    """What the samples are of, e.g. ``camera-1``: a late answer can be the last one of the same stream. Blank: none."""


class PredictionAnswer(msgspec.Struct, frozen=True):
    """The answer to ``POST /predict``."""

    version: str
    """Model version that the device holds; of an answer of the platform, the version of the model there."""
    personal: bool
    """Whether the device's personal model predicted, or the version itself."""
    predictions: list[Prediction | Output]
    """One a sample."""
    form: str
    """Which form of the version predicted: ``float32`` is the version, or the personal model, itself; ``cloud`` the
    platform's cloud model."""
    took_us: int
    """From the request's arrival to the answer, in microseconds."""
    fallback: Literal["last_answer", "platform"] | None = None
    """Whose predictions these are: an earlier answer to the same stream, or the platform's, of these samples; None: the
    model's on the device, of these samples."""
    age_s: float = 0.0
    """How old the predictions are, where they are an earlier answer; else 0."""
