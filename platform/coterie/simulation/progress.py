"""The progress of a simulation, and lines that report it where there is no terminal."""

from collections.abc import Callable
from typing import NamedTuple, TextIO

QUIET_S = 10.0
"""Between two lines."""


class Progress(NamedTuple):
    """How far a simulation is."""

    share: float
    """Of the whole that is done, from 0 to 1."""
    rounds: int
    """Rounds that have ended."""


Report = Callable[[Progress], None]


def unreported(_: Progress) -> None:
    """The default: progress is not reported."""


class Lines:
    """Writes a line every ten seconds, and none where a simulation is quicker than that."""

    def __init__(self, name: str, stream: TextIO, clock: Callable[[], float]) -> None:
        """`clock` tells seconds of real time."""
        self._name, self._stream, self._clock = name, stream, clock
        self._began_s = self._told_s = clock()

    def __call__(self, progress: Progress) -> None:
        now_s = self._clock()
        if now_s - self._told_s < QUIET_S:
            return
        self._told_s = now_s
        took_s = now_s - self._began_s
        left = f"about {took_s * (1 / progress.share - 1):.0f} s left" if progress.share > 0 else "no end in sight yet"
        rounds = f", {progress.rounds} rounds" if progress.rounds else ""
        self._stream.write(f"{self._name}: {progress.share:.0%} done{rounds}, {left}\n")
        self._stream.flush()
