"""Uniform random selection (McMahan et al. 2017, arXiv 1602.05629, Algorithm 1)."""

from collections.abc import Sequence
from typing import ClassVar

from coterie_learning.selection import DeviceFacts, Selection, choose


class Uniform(Selection, frozen=True, tag="uniform"):
    """Drawn without replacement, by the round's seed alone."""

    reads_history: ClassVar[bool] = False

    def choose(self, devices: Sequence[DeviceFacts], *, count: int, round_number: int, seed: int) -> tuple[str, ...]:  # noqa: ARG002
        return choose((known.device for known in devices), count=count, seed=seed)
