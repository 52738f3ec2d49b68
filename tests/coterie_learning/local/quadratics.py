"""Devices whose losses are curvature/2·(w - centre)², on which fixed points are known; kinds run as in a round."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coterie_learning.device_state import NO_STATE, State
from coterie_learning.local import ANCHOR, Broadcast, Local, Trained
from coterie_learning.merge import Merge
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


class Quadratic(NamedTuple):
    """One device's loss, and how many steps it makes in a round."""

    centre: float
    curvature: float
    steps: int


def held(
    devices: Sequence[Quadratic], local: Local, merge: Merge, *, rounds: int, start: float = 0.0, forgets: bool = False
) -> float:
    """The parameter after so many rounds in which every device takes part."""
    base: Tensors = {"w": np.array([start], np.float32)}
    server, states = None, [NO_STATE] * len(devices)
    for number in range(1, rounds + 1):
        sent = {name: server.tensors[name] for name in merge.sends} if server is not None else {}
        given = Broadcast(base, sent, number)
        ended = [_round(device, local, given, state) for device, state in zip(devices, states, strict=True)]
        found = folded(
            merge,
            base,
            [one.parts["delta"] for one in ended],
            state=server,
            scalars=[one.scalars for one in ended] if local.scalars else None,
        )
        base, server = found.parameters, found.state
        if not forgets:
            states = [local.remember(one, lambda one=one: one.parts) for one in ended]  # type: ignore[misc]
    return float(base["w"][0])


def _round(device: Quadratic, local: Local, given: Broadcast, state: State):  # type: ignore[no-untyped-def]
    inputs = local.begin(given, state)
    anchor = inputs[ANCHOR]["w"] if ANCHOR in inputs else given.received["w"]
    w, velocity = given.received["w"].copy(), np.zeros(1, np.float32)
    for step in range(device.steps):
        scalars = local.step_scalars(step)
        gradient = np.float32(device.curvature) * (w - np.float32(device.centre))
        gradient = gradient + np.float32(scalars.proximal_weight) * (w - anchor)
        velocity = np.float32(scalars.momentum) * velocity + gradient
        w = w - np.float32(scalars.learning_rate) * velocity
    loss = float(device.curvature / 2 * (given.received["w"][0] - device.centre) ** 2)
    return local.end(given, Trained({"w": w}, device.steps, loss), state)
