"""The dtypes of graphs' inputs and outputs, in PyTorch and in the contract."""

from collections.abc import Mapping

import torch

from coterie_wire.bundle import Dtype

TORCH_TYPES: Mapping[Dtype, torch.dtype] = {
    "float32": torch.float32,
    "int64": torch.int64,
    "int32": torch.int32,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "bool": torch.bool,
}
DTYPES: Mapping[torch.dtype, Dtype] = {there: here for here, there in TORCH_TYPES.items()}
INPUTS: Mapping[torch.dtype, Dtype] = {there: here for there, here in DTYPES.items() if here != "int8"}
"""Of a model's inputs."""
TARGETS: Mapping[torch.dtype, Dtype] = {torch.float32: "float32", torch.int64: "int64"}
"""Of a model's targets."""


def advise_dtype(dtype: torch.dtype) -> str:
    """The advice for an input of a dtype that no graph takes."""
    match dtype:
        case torch.float16 | torch.bfloat16 | torch.float64:
            return "export it in float32, with model.float() and example inputs that are float32"
        case torch.int8 | torch.int16:
            return "take int32"
        case _:
            return "take the parts as inputs of their own, in float32"
