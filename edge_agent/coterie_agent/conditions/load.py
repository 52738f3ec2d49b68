"""Idle or in use, from the processor time of other processes (psutil)."""

import time
from dataclasses import dataclass

import psutil

from coterie_wire.conditions import Answer

BUSY_SHARE = 0.25
"""Share of all cores that other processes may use on an idle device."""
_WINDOW_S = 5.0


@dataclass(frozen=True)
class _Sample:
    at: float
    others_s: float
    """Processor seconds used by every process but this one, since boot."""


class IdleProbe:
    """Compares processor time over windows of a few seconds; "unknown" until the first has passed."""

    def __init__(self) -> None:
        self._cores = psutil.cpu_count() or 1
        self._process = psutil.Process()
        self._from = self._sample()
        self._answer: Answer = "unknown"

    def __call__(self) -> Answer:
        sample = self._sample()
        elapsed = sample.at - self._from.at
        if elapsed >= _WINDOW_S:
            share = (sample.others_s - self._from.others_s) / (elapsed * self._cores)
            self._answer = "no" if share > BUSY_SHARE else "yes"
            self._from = sample
        return self._answer

    def _sample(self) -> _Sample:
        total = psutil.cpu_times()
        own = self._process.cpu_times()
        return _Sample(at=time.monotonic(), others_s=total.user + total.system - own.user - own.system)
