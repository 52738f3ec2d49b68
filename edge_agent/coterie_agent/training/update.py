"""From trained parameters to the bytes that leave the device. Pure."""

from typing import NamedTuple

import numpy as np

from coterie_learning.device_plan import DevicePlan
from coterie_learning.heads import pick, place
from coterie_learning.updates import join_update
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import gathered
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors, decode_tensors, encode_tensors


class Update(NamedTuple):
    """What is uploaded, and what stays."""

    payload: bytes
    residual: bytes
    """What the encoding lost, as safetensors; added to the pair's next update (error feedback)."""


def make_update(
    received: Tensors,
    trained: Tensors,
    *,
    plan: DevicePlan,
    residual: bytes | None,
    seed: int,
    model: ModelSpec,
    classes: tuple[int, ...] = (),
) -> Update:
    """The difference of the parameters, with the `residual` of the pair's last update, protected and encoded.

    The protection comes after the residual, so that what it promises holds for all parameters that leave the device.
    Running statistics go beside them as they are.

    Only what the plan trains leaves: `classes` are those whose rows it trains of a customised output layer.

    Raises WireError ``update.not_finite`` or ``plan.no_head``.
    """
    scope = plan.local.scope()
    difference = {spec.name: trained[spec.name] - received[spec.name] for spec in model.parameters}
    lost = _read_residual(residual, model.parameters)
    if lost is not None:
        difference = {name: difference[name] + lost[name] for name in difference}
    part = pick(difference, model, scope, classes)
    encoded = plan.codec.encode(plan.privacy.protect(part), seed=seed)
    kept = place(encoded.residual, model, scope, classes)
    statistics = {spec.name: trained[spec.name] for spec in gathered(model)}
    return Update(join_update(statistics, encoded.payload), encode_tensors(dict(kept)))


def _read_residual(residual: bytes | None, specs: tuple[TensorSpec, ...]) -> Tensors | None:
    """None where there is none, or where the pair's parameters have changed their shapes since."""
    if residual is None:
        return None
    try:
        tensors = decode_tensors(residual, expected=specs)
    except WireError:
        return None
    return {name: np.asarray(tensor, dtype=np.float32) for name, tensor in tensors.items()}
