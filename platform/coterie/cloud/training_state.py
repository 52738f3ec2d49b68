"""The state from which a cloud model's training resumes, as one tensor file: parameters, buffers and optimiser
state.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from coterie.cloud.arrays import array_of, tensor_of
from coterie.cloud.program import CloudProgram
from coterie_wire.tensors import Array, decode_tensors, encode_tensors, read_header

MOMENTS = ("exp_avg", "exp_avg_sq")
"""AdamW's state of a parameter, in its shape; the number of steps is stored beside it."""
STEPS = "step"
BESIDE = "beside."
NOTHING: Mapping[str, Tensor] = {}


def save_training(
    cloud: CloudProgram, optimiser: torch.optim.Optimizer, beside: Mapping[str, Tensor] = NOTHING
) -> bytes:
    """The state of `cloud` and `optimiser`, and tensors that a strategy keeps `beside` them."""
    tensors: dict[str, Array] = {f"state.{name}": array_of(tensor) for name, tensor in cloud.state.items()}
    for name, parameter in cloud.parameters.items():
        # A parameter that no gradient reached has no moments.
        tensors |= {f"{moment}.{name}": array_of(value) for moment, value in optimiser.state[parameter].items()}
    return encode_tensors(tensors | {f"{BESIDE}{name}": array_of(tensor) for name, tensor in beside.items()})


def restore_training(cloud: CloudProgram, optimiser: torch.optim.Optimizer, saved: bytes) -> Mapping[str, Tensor]:
    """The inverse of `save_training`; returns the tensors stored beside it. Raises WireError where it is another
    program's.
    """
    tensors = decode_tensors(saved, expected=tuple(read_header(saved).specs.values()))
    cloud.load(encode_tensors({spec.name: tensors[f"state.{spec.name}"] for spec in cloud.tensor_specs()}))
    for name, parameter in cloud.parameters.items():
        if f"{STEPS}.{name}" in tensors:
            found = {moment: tensor_of(tensors[f"{moment}.{name}"]) for moment in (*MOMENTS, STEPS)}
            optimiser.state[parameter] = {moment: tensor.to(parameter.device) for moment, tensor in found.items()}
    return {name.removeprefix(BESIDE): tensor_of(array) for name, array in tensors.items() if name.startswith(BESIDE)}
