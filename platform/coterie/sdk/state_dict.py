"""A version of a model as a state dict of the module that was published."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from coterie.compile.recipe import parse_recipe
from coterie.compile.recipe.trains.adapters import Adapters
from coterie.sdk.errors import OtherModule, SdkError
from coterie_wire.archives import BROKEN
from coterie_wire.errors import WireError
from coterie_wire.tensors import decode_tensors, read_header

PARAMETERS, FROZEN = "parameters.safetensors", "frozen.safetensors"
FROZEN_NAME, SCALE_NAME = "frozen.", "scale."
DOWN, UP = ".lora_a", ".lora_b"
StateDict = dict[str, Tensor]


def read_version(archive: Path) -> Mapping[str, Tensor]:
    """The tensors of an archive of a version, by name; what is frozen in it as float32. Raises SdkError."""
    try:
        with zipfile.ZipFile(archive) as members:
            found = _decoded(members.read(PARAMETERS))
            if FROZEN in members.namelist():
                found |= _thawed(_decoded(members.read(FROZEN)))
            return found
    except (*BROKEN, WireError) as error:
        raise SdkError("sdk.unexpected_answer", f"The version that was downloaded cannot be read: {error}.") from error


def state_dict(module: nn.Module, version: Mapping[str, Tensor], recipe: object) -> StateDict:
    """What ``module.load_state_dict(..., strict=True)`` takes, with the tensors of a `version`; `module` is left alone.

    Adapters of the `recipe` are added to the weights beside which they stand (Hu et al. 2022, section 4.1). What does
    not travel, as constants and counters of batches, is the module's own. Raises OtherModule.
    """
    own = module.state_dict()
    made = {name: tensor.detach().clone() for name, tensor in own.items()}
    for name, tensor in _merged(version, recipe).items():
        if name not in own or own[name].shape != tensor.shape:
            known = "none of that name" if name not in own else f"one of shape {list(own[name].shape)}"
            raise OtherModule(name, list(tensor.shape), known)
        for other in _names_of(own[name], own):
            made[other] = tensor.to(made[other].dtype)
    return made


def _names_of(tensor: Tensor, own: Mapping[str, Tensor]) -> list[str]:
    """All names under which a module has it: tied weights are one parameter, which travels under its first name."""
    at = (tensor.data_ptr(), tensor.shape, tensor.stride())
    return [
        name for name, other in own.items() if other is tensor or (other.data_ptr(), other.shape, other.stride()) == at
    ]


def _merged(version: Mapping[str, Tensor], recipe: object) -> Mapping[str, Tensor]:
    trains = parse_recipe(recipe).trains
    if not isinstance(trains, Adapters):
        return version
    found = {name: tensor for name, tensor in version.items() if not name.endswith((DOWN, UP))}
    for name in found:
        if name + DOWN in version:
            added = version[name + UP] @ version[name + DOWN]
            found[name] = found[name] + trains.alpha / trains.rank * added
    return found


def _decoded(content: bytes) -> dict[str, Tensor]:
    arrays = decode_tensors(content, expected=tuple(read_header(content).specs.values()))
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def _thawed(frozen: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Frozen weights as graphs make them: int8 codes times a scale for each row."""
    found = {}
    for key, tensor in frozen.items():
        if key.startswith(FROZEN_NAME):
            name = key.removeprefix(FROZEN_NAME)
            scale = frozen.get(SCALE_NAME + name)
            rows = None if scale is None else scale.reshape(-1, *[1] * (tensor.dim() - 1))
            found[name] = tensor if rows is None else tensor.to(torch.float32) * rows
    return found
