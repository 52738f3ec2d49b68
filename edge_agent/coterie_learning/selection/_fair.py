"""Shared by selections that prefer some devices: none waits for more than a number of rounds."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from coterie_learning.random import device_lot
from coterie_learning.selection import DeviceFacts, Selection


class Fair(Selection, frozen=True):
    """Invites overdue devices first, those with the longest wait leading, and then by preference.

    If n devices are always available and a round invites k, each is invited within `fair_rounds` + n / k rounds.
    """

    fair_rounds: Annotated[
        int,
        Meta(ge=1, le=10_000, description="rounds without being asked after which a device comes before all others"),
    ] = 20

    def choose(self, devices: Sequence[DeviceFacts], *, count: int, round_number: int, seed: int) -> tuple[str, ...]:
        waited = {known.device: self._waited(known, round_number) for known in devices}
        overdue = [known.device for known in devices if waited[known.device] >= self.fair_rounds]
        first = sorted(overdue, key=lambda device: (-waited[device], device_lot(seed, device)))[:count]
        others = [known for known in devices if waited[known.device] < self.fair_rounds]
        rest = self.prefer(others, count=count - len(first), round_number=round_number, seed=seed)
        return (*first, *rest)

    def prefer(self, devices: Sequence[DeviceFacts], *, count: int, round_number: int, seed: int) -> Sequence[str]:
        """`count` of `devices` (all, where there are fewer), none of which is overdue."""
        raise NotImplementedError

    def _waited(self, known: DeviceFacts, round_number: int) -> int:
        return round_number - 1 if known.idle_rounds is None else known.idle_rounds


def drawn(weights: Mapping[str, float], *, count: int, seed: int) -> list[str]:
    """`count` of the devices, drawn without replacement in proportion to their positive weights.

    By exponential keys: Efraimidis and Spirakis 2006, doi 10.1016/j.ipl.2005.11.003.
    """

    def key(device: str) -> float:
        uniform = (int.from_bytes(device_lot(seed, device)[:8], "big") + 0.5) / 2.0**64
        return -math.log(uniform) / weights[device]

    return sorted(weights, key=lambda device: (key(device), device))[:count]
