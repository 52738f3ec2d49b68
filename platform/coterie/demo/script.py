"""What happens to the demo's devices while they learn: a script drawn from the seed."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

Event = Literal["unplugged", "left Wi-Fi", "came back", "killed"]


class ScriptedEvent(NamedTuple):
    """Something that happens to device number `device` when round `round` opens."""

    round: int
    device: int
    event: Event


def draw_script(*, devices: int, rounds: int, seed: int) -> Sequence[ScriptedEvent]:
    """Every second round somebody loses mains or Wi-Fi for two rounds; halfway one device is killed in mid-training.

    Never more than a quarter of the fleet is away, so that rounds go on; a fleet of fewer than four stays at home.
    """
    rng = np.random.default_rng(seed)
    return sorted(_events(devices, rounds, rng), key=lambda one: (one.round, one.event != "came back", one.device))


def _events(devices: int, rounds: int, rng: np.random.Generator) -> Iterator[ScriptedEvent]:
    victim = int(rng.integers(devices))
    yield ScriptedEvent(max(1, rounds // 2), victim, "killed")
    at_home = [device for device in range(devices) if device != victim]
    for number in range(2, rounds, 2):
        away = rng.choice(at_home, size=min(devices // 4, len(at_home)), replace=False).tolist()
        for index, device in enumerate(away):
            yield ScriptedEvent(number, device, "unplugged" if index % 2 == 0 else "left Wi-Fi")
            if number + 2 <= rounds:
                yield ScriptedEvent(number + 2, device, "came back")
        at_home = [device for device in range(devices) if device != victim and device not in away]
