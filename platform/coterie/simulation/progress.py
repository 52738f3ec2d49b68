"""The progress of a simulation, and log lines that report it without a terminal."""

from collections.abc import Callable
from typing import NamedTuple, TextIO

from coterie.simulation.clock import in_words

QUIET_S = 10.0
"""Seconds between two lines."""
LONG_S = 600.0
"""Seconds after which a hint on shorter simulations is printed."""


class SimulationProgress(NamedTuple):
    """The progress of a simulation."""

    share: float
    """Share done, from 0 to 1."""
    rounds: int
    """Rounds that have ended."""
    rounds_wanted: int | None = None
    """Number of rounds to hold; None: as many as there is simulated time for."""


Report = Callable[[SimulationProgress], None]


def unreported(_: SimulationProgress) -> None:
    """The default: progress is not reported."""


class Lines:
    """Writes a line every ten seconds; none for simulations shorter than that."""

    def __init__(self, name: str, stream: TextIO, clock: Callable[[], float], shorter: str = "") -> None:
        """`clock` tells seconds of real time; `shorter` is what to do about a simulation that takes long."""
        self._name, self._stream, self._clock, self._shorter = name, stream, clock, shorter
        self._began_s = self._reported_s = clock()
        self._from = SimulationProgress(0.0, 0)
        """Where the first round had ended: until then simulated time costs next to nothing."""

    def __call__(self, progress: SimulationProgress) -> None:
        now_s = self._clock()
        if progress.rounds and not self._from.rounds:
            self._began_s, self._from = now_s, progress
        if now_s - self._reported_s < QUIET_S:
            return
        self._reported_s = now_s
        left_s = self._left_s(progress, now_s - self._began_s)
        left = "no end in sight yet" if left_s is None else f"about {in_words(left_s)} left"
        if self._shorter and (left_s is None or left_s > LONG_S):
            left += f": {self._shorter}"
        rounds = f", {progress.rounds} rounds" if progress.rounds else ""
        self._stream.write(f"{self._name}: {progress.share:.1%} done{rounds}, {left}\n")
        self._stream.flush()

    def _left_s(self, progress: SimulationProgress, took_s: float) -> float | None:
        """Seconds left, by simulated time or by rounds, whichever ends first; None: no progress yet."""
        ways = [(1 - progress.share, progress.share - self._from.share)]
        if progress.rounds_wanted is not None:
            ways.append((progress.rounds_wanted - progress.rounds, progress.rounds - self._from.rounds))
        return min((took_s * left / done for left, done in ways if done > 0), default=None)
