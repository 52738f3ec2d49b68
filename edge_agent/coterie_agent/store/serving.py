"""What the prediction service has done, as it last wrote."""

import msgspec

from coterie_wire.conditions import Reason
from coterie_wire.latency import Histogram


class Counted(msgspec.Struct, frozen=True):
    """What has happened since the service began."""

    requests: int = 0
    """All that were well-formed."""
    answered: int = 0
    """By the model, within the deadline."""
    last_answers: int = 0
    """Fallbacks: late, and answered with the last answer of the stream."""
    platform_answers: int = 0
    """Fallbacks: answered by the platform, to which the samples went."""
    platform_failures: int = 0
    """The platform was asked, and no answer of it came in time."""
    late: int = 0
    """Late, and refused (504)."""
    busy: int = 0
    """Refused since too many samples waited (503)."""
    without_model: int = 0
    """Refused since the device holds no model that runs (503)."""
    samples: int = 0
    """That the model has predicted."""
    batches: int = 0
    """Runs of the model."""
    swaps: int = 0
    """Models taken in place of another."""


class Serving(msgspec.Struct, frozen=True):
    """``GET /status``."""

    at: float
    """Unix time of these figures."""
    since: float
    """Unix time at which the service began."""
    version: str | None
    """What it predicts with; None: nothing, `problem` says why."""
    personal: bool
    form: str | None
    """Which form of the version predicts; None: nothing does."""
    problem: Reason | None
    """Why there is no model, or why a newer one that the device holds is not used."""
    counted: Counted
    latency: Histogram
    """Of answers by the model, from the request's arrival."""
    runs: Histogram
    """Of runs of the model, on one batch each."""
