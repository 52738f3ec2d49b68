"""The prediction service's counters and status, as last written by it."""

import msgspec

from coterie_wire.conditions import Reason
from coterie_wire.latency import Histogram


class Counted(msgspec.Struct, frozen=True):
    """Counters since the service started."""

    requests: int = 0
    """Well-formed requests."""
    answered: int = 0
    """Answered by the model within the deadline."""
    last_answers: int = 0
    """Fallbacks: late, and answered with the stream's last answer."""
    platform_answers: int = 0
    """Fallbacks: answered by the platform, to which the samples were sent."""
    platform_failures: int = 0
    """The platform was asked, and did not answer in time."""
    late: int = 0
    """Late, and refused (504)."""
    busy: int = 0
    """Refused because too many samples were queued (503)."""
    without_model: int = 0
    """Refused because the device holds no model that runs (503)."""
    samples: int = 0
    """Samples predicted by the model."""
    batches: int = 0
    """Runs of the model."""
    swaps: int = 0
    """Changes to another model."""


class Serving(msgspec.Struct, frozen=True):
    """``GET /status``."""

    at: float
    """Unix time of these figures."""
    since: float
    """Unix time at which the service started."""
    version: str | None
    """The version that it predicts with; None: none, for the reason in `problem`."""
    personal: bool
    form: str | None
    """The form of the version that predicts; None: none."""
    problem: Reason | None
    """Why there is no model, or why a newer held one is not used."""
    counted: Counted
    latency: Histogram
    """Latency of answers by the model, from the request's arrival."""
    runs: Histogram
    """Durations of runs of the model, each on one batch."""
