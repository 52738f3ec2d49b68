"""From trained parameters to the uploaded bytes and the new device states. Pure functions."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, cast

import numpy as np

from coterie_learning.device_plan import DevicePlan
from coterie_learning.device_state import NO_STATE, State, States
from coterie_learning.heads import pick, place, update_specs
from coterie_learning.local import Broadcast, Scope, Trained
from coterie_learning.random import part_seed
from coterie_learning.subsets import chosen, draw_of, pick_chosen, place_chosen
from coterie_learning.updates import encode_draw, encode_scalars, join_update
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import running_statistics
from coterie_wire.tensors import Float32, Tensors

LOCAL, CODEC = "local", "codec"
"""Slots that have a state on the device."""


class Update(NamedTuple):
    """The uploaded bytes, and the device states that follow from them."""

    payload: bytes
    states: States
    """These replace the device's states once the platform has accepted the update."""


def make_update(
    received: Tensors,
    trained: Tensors,
    *,
    plan: DevicePlan,
    model: ModelSpec,
    states: States,
    steps: int,
    seed: int,
    secret: int,
    classes: tuple[int, ...] = (),
    broadcast: Broadcast | None = None,
    loss: float | None = None,
) -> Update:
    """The parts that the plan's `local` computes, plus what the codec lost of the last accepted update.

    `received` and `trained` are tensors of versions; `broadcast` came with `received`, and `loss` is the loss of
    `received`, where the kind needs it. `secret` is drawn by the device and known to nobody else: noise that others can
    reproduce hides nothing from them.

    The residual is added before the privacy kind is applied, so that the guarantee covers everything uploaded except
    the running statistics, which are sent unchanged. Only what the plan trains is uploaded: of a customised output
    layer, the rows of `classes`.

    Raises WireError ``update.not_finite`` or ``plan.no_head``.
    """
    scope, local = plan.local.scope(), plan.local
    given = broadcast or Broadcast(_parameters(received, model))
    done = Trained(_parameters(trained, model), steps, loss)
    ended = local.end(given, done, states.get(LOCAL, NO_STATE))
    feeds_back, draw = plan.codec.feeds_back(), draw_of(seed)
    lost = _lost(states.get(CODEC, NO_STATE), local.parts, model.parameters) if feeds_back else None
    picked: dict[str, Float32] = {}
    for part in local.parts:
        whole = ended.parts[part]
        if lost is not None:
            whole = {name: tensor + lost[f"{part}.{name}"] for name, tensor in whole.items()}
        picked.update(_called(part, pick(whole, model, scope, classes, draw)))
    protected = plan.privacy.protect(picked, seed=secret)
    payloads: list[bytes] = []
    residual: dict[str, Float32] = {}
    for index, part in enumerate(local.parts):
        named = {name.removeprefix(f"{part}."): protected[name] for name in picked if name.startswith(f"{part}.")}
        encoded = plan.codec.encode(named, seed=part_seed(seed, index))
        payloads.append(encoded.payload)
        if feeds_back:
            rest = place(encoded.residual, model, scope, classes, draw)
            residual.update(_called(part, rest if lost is None else _with_unsent(rest, lost, part, scope, draw)))

    @cache
    def sent() -> Mapping[str, Tensors]:
        specs = update_specs(model, scope, classes)
        decoded = (plan.codec.decode(payload, expected=specs) for payload in payloads)
        return {part: place(one, model, scope, classes, draw) for part, one in zip(local.parts, decoded, strict=True)}

    state = local.remember(ended, sent)
    beside = [encode_scalars({name: ended.scalars[name] for name in local.scalars})] if local.scalars else []
    beside += [encode_draw(draw)] if scope.share < 1 else []
    statistics = {spec.name: trained[spec.name] for spec in running_statistics(model)}
    return Update(join_update(statistics, *payloads, *beside), {LOCAL: state, CODEC: State(residual)})


def _with_unsent(rest: Tensors, lost: Tensors, part: str, scope: Scope, draw: int) -> Tensors:
    """`rest`, with the earlier residual `lost` of the parameters that were not chosen this time."""
    if scope.share == 1:
        return rest
    specs = [TensorSpec(name, "float32", tensor.shape) for name, tensor in rest.items()]
    positions = chosen(specs, scope.share, draw)
    before = {name: lost[f"{part}.{name}"] for name in rest}
    return place_chosen(pick_chosen(rest, positions), positions, before)


def _parameters(tensors: Tensors, model: ModelSpec) -> Tensors:
    return {spec.name: tensors[spec.name] for spec in model.parameters}


def _called(part: str, tensors: Tensors) -> Mapping[str, Float32]:
    return {f"{part}.{name}": tensor for name, tensor in tensors.items()}


def _lost(state: State, parts: Sequence[str], specs: Sequence[TensorSpec]) -> Tensors | None:
    """The residual in `state`; None where there is none, or the parts or the parameters' shapes have changed."""
    expected = {f"{part}.{spec.name}": spec.shape for part in parts for spec in specs}
    found = {name: tensor.shape for name, tensor in state.tensors.items() if tensor.dtype == np.float32}
    return cast(Tensors, state.tensors) if found == expected else None
