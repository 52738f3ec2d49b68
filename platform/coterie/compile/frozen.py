"""The frozen tensors of a recipe: kernels and matrices in int8 with a scale for each output channel, the rest as they
are.

Codes lie in [-127, 127] with zero exact (Krishnamoorthi 2018, arXiv 1806.08342, section 2.2).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.export import ExportedProgram

from coterie.compile.flat import Argument
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Array

LEVELS = 127
QUANTISED = {
    "aten.linear.default",
    "aten.embedding.default",
    "aten.conv1d.default",
    "aten.conv2d.default",
    "aten.conv3d.default",
    "aten.conv1d.padding",
    "aten.conv2d.padding",
    "aten.conv_transpose1d.default",
    "aten.conv_transpose2d.input",
}
"""Operators whose first or second argument is a weight that tolerates rounding."""
SMALLEST = 1024
"""Elements; below that, int8 saves too little to justify rounding."""


@torch.library.custom_op("coterie::dequantise", mutates_args=())
def dequantise(code: Tensor, scale: Tensor) -> Tensor:
    """`code` int8 [channels, ...] times `scale` float32 [channels]: ONNX has it as one operator."""
    return code.to(torch.float32) * scale.reshape(-1, *[1] * (code.dim() - 1))


@dequantise.register_fake
def _(code: Tensor, scale: Tensor) -> Tensor:  # noqa: ARG001
    return code.new_empty(code.shape, dtype=torch.float32)


@dataclass(frozen=True)
class Dequantised:
    """A frozen weight, computed by the graphs from two of their inputs."""

    code: str
    scale: str

    def __call__(self, named: Mapping[str, Tensor]) -> Tensor:
        """float32, in the shape of the code."""
        found: Tensor = torch.ops.coterie.dequantise.default(named[self.code], named[self.scale])
        return found


class Frozen(NamedTuple):
    """A frozen parameter: the program's argument for it, and the stored tensors."""

    argument: Argument
    tensors: Mapping[str, Array]
    """By the names of the graphs' inputs."""


def freeze(name: str, tensor: Tensor, *, coarse: bool) -> Frozen:
    """Parameter `name`, in int8 where it may be `coarse`."""
    if not coarse:
        return Frozen(f"frozen.{name}", {f"frozen.{name}": tensor.numpy().copy()})
    rows = tensor.reshape(tensor.shape[0], -1)
    scale = rows.abs().amax(dim=1) / LEVELS
    divisor = torch.where(scale > 0, scale, torch.ones_like(scale))
    code = torch.clamp(torch.round(rows / divisor.unsqueeze(1)), -LEVELS, LEVELS).to(torch.int8).reshape(tensor.shape)
    code_name, scale_name = f"frozen.{name}", f"scale.{name}"
    return Frozen(Dequantised(code_name, scale_name), {code_name: code.numpy(), scale_name: scale.numpy()})


def bear_rounding(program: ExportedProgram) -> frozenset[str]:
    """The placeholders of large weights that are used only in matrix products, convolutions and look-ups."""
    return frozenset(
        node.name
        for node in program.graph.nodes
        if node.op == "placeholder"
        and node.users
        and all(str(user.target) in QUANTISED and node in user.args[:2] for user in node.users)
        and node.meta["val"].dim() >= 2
        and node.meta["val"].numel() >= SMALLEST
    )


def specs_of(tensors: Mapping[str, Array]) -> tuple[TensorSpec, ...]:
    """The contents of a file of `tensors`."""
    return tuple(
        TensorSpec(name, "int8" if tensor.dtype.name == "int8" else "float32", tensor.shape)
        for name, tensor in tensors.items()
    )
