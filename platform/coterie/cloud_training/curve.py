"""The curve of a job: a point for each epoch, bounded in number."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from coterie.child.job import Progress
from coterie.cloud.simulation_job import SAVED
from coterie_wire.structs import from_values

MAX_POINTS = 400


class Point(msgspec.Struct, frozen=True):
    """An epoch."""

    epoch: int
    """From 1."""
    at: datetime
    """When it was done."""
    values: dict[str, float]
    """Losses, accuracy, samples a second, the share of time that communication took, workers."""


def read_curve(stored: object) -> tuple[Point, ...]:
    """The points that `Curve.stored` wrote."""
    return from_values(stored, tuple[Point, ...])


class Curve:
    """A growing curve; where it has too many points, every second one is dropped."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = list(points)

    def add(self, progress: Progress, now: datetime) -> None:
        """Add an epoch; one that is repeated after an interruption replaces its earlier point.

        A checkpoint within an epoch adds no point.
        """
        if SAVED in progress.values:
            return
        self._points = [point for point in self._points if point.epoch < progress.done]
        self._points.append(Point(progress.done, now, dict(progress.values)))
        if len(self._points) > MAX_POINTS:
            self._points = self._points[1::2]

    def stored(self) -> list[dict[str, object]]:
        """As JSON."""
        return from_values(msgspec.to_builtins(self._points), list[dict[str, object]])
