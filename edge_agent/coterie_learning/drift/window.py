"""A hard limit on the error over the last batches, as in Cartel (Daga et al. 2019, doi 10.1145/3357223.3362708)."""

from typing import Annotated

from msgspec import Meta

from coterie_learning.drift import Detector, DriftState, Observed, error_rate


class Window(Detector, frozen=True, tag="window"):
    """Drift is an error above `limit` over the last `batches`; it lasts as long as the error does."""

    limit: Annotated[float, Meta(ge=0, le=1, description="error rate above which the model has drifted; 1: never")] = (
        0.20
    )
    batches: Annotated[int, Meta(ge=1, le=1000, description="newest batches over which the error is averaged")] = 2

    def begin(self) -> "WindowState":
        return WindowState(self)


class WindowState(DriftState, frozen=True, tag="window"):
    """The last batches' error rates."""

    settings: Window
    errors: tuple[float, ...] = ()

    def observe(self, wrong: int, samples: int) -> Observed:
        errors = (*self.errors, error_rate(wrong, samples))[-self.settings.batches :]
        full = len(errors) == self.settings.batches
        drifted = full and sum(errors) / len(errors) > self.settings.limit
        return Observed(WindowState(self.settings, errors), drifted)
