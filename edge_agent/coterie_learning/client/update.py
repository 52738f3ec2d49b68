"""From trained parameters to the bytes that leave the device, and to what it remembers of them. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from coterie_learning.device_plan import DevicePlan
from coterie_learning.device_state import NO_STATE, State, States
from coterie_learning.heads import pick, place
from coterie_learning.local import Broadcast, Trained
from coterie_learning.random import step_seed
from coterie_learning.updates import join_update
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import gathered
from coterie_wire.tensors import Float32, Tensors

LOCAL, CODEC = "local", "codec"
"""Slots that have a state on the device."""


class Update(NamedTuple):
    """What is uploaded, and what stays."""

    payload: bytes
    states: States
    """What takes the place of the device's states once the platform has accepted the update."""


def make_update(
    received: Tensors,
    trained: Tensors,
    *,
    plan: DevicePlan,
    model: ModelSpec,
    states: States,
    steps: int,
    seed: int,
    classes: tuple[int, ...] = (),
) -> Update:
    """The parts that the plan's `local` makes of what was trained, with what the codec lost of the last one accepted.

    What was lost is added before the parts are protected, so that what protection promises holds for all that leaves
    but the running statistics, which go as they are. Only what the plan trains leaves: `classes` are those whose rows
    it trains of a customised output layer.

    Raises WireError ``update.not_finite`` or ``plan.no_head``.
    """
    scope, local = plan.local.scope(), plan.local
    ended = local.end(
        Broadcast(_parameters(received, model)),
        Trained(_parameters(trained, model), steps),
        states.get(LOCAL, NO_STATE),
    )
    lost = _lost(states.get(CODEC, NO_STATE), local.parts, model.parameters)
    picked: dict[str, Float32] = {}
    for part in local.parts:
        whole = ended.parts[part]
        if lost is not None:
            whole = {name: tensor + lost[f"{part}.{name}"] for name, tensor in whole.items()}
        picked.update(_called(part, pick(whole, model, scope, classes)))
    protected = plan.privacy.protect(picked, seed=seed)
    payloads: list[bytes] = []
    residual: dict[str, Float32] = {}
    for index, part in enumerate(local.parts):
        named = {name.removeprefix(f"{part}."): protected[name] for name in picked if name.startswith(f"{part}.")}
        encoded = plan.codec.encode(named, seed=seed if index == 0 else step_seed(seed, index))
        payloads.append(encoded.payload)
        residual.update(_called(part, place(encoded.residual, model, scope, classes)))
    statistics = {spec.name: trained[spec.name] for spec in gathered(model)}
    return Update(join_update(statistics, *payloads), {LOCAL: ended.state, CODEC: State(residual)})


def _parameters(tensors: Tensors, model: ModelSpec) -> Tensors:
    return {spec.name: tensors[spec.name] for spec in model.parameters}


def _called(part: str, tensors: Tensors) -> Mapping[str, Float32]:
    return {f"{part}.{name}": tensor for name, tensor in tensors.items()}


def _lost(state: State, parts: Sequence[str], specs: Sequence[TensorSpec]) -> Tensors | None:
    """None where nothing was, or where the parts or the model's parameters are no more what they were."""
    expected = {f"{part}.{spec.name}": spec.shape for part in parts for spec in specs}
    found = {name: tensor.shape for name, tensor in state.tensors.items() if tensor.dtype == np.float32}
    return cast(Tensors, state.tensors) if found == expected else None
