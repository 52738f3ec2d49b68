"""Messages between workers and the simulation, and the file of a version."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from coterie_wire.tensors import Float32, Tensors, encode_tensors, read_header, view_tensors

PARAMETER, SERVER = "parameter", "server"
"""Prefixes of the tensors in the file of a version."""
NUMBER, BOUND = "number", "bound"


class Member(msgspec.Struct, frozen=True, array_like=True):
    """One device of a block."""

    device: int
    round: int
    """The round that invited it."""
    version: str
    """The file that it trains from."""
    steps: int
    """Steps that it has time for."""
    weight: int
    """Weight of its update in the sum; 0: left out."""
    states: Mapping[str, bytes] = {}
    """Its states by slot, including a personal model as in `coterie.simulation.fleet.own_models`."""


class Block(msgspec.Struct, frozen=True, array_like=True):
    """Devices whose updates count in one round, whichever rounds invited them."""

    number: int
    members: Sequence[Member]
    keeps_updates: bool
    """Whether single updates are returned, rather than their sum."""
    wants_losses: bool
    """Whether the mean loss of the version over each device's samples is returned."""


class DeviceResult(msgspec.Struct, frozen=True, array_like=True):
    """The result of a device's part."""

    device: int
    samples: int
    """Samples that its update was computed from; 0: there is no update, as training diverged or it is unusable."""
    norm: float = 0.0
    """L2 norm of the update as the platform decodes it."""
    size_bytes: int = 0
    payload: bytes = b""
    states: Mapping[str, bytes] = {}
    loss: float | None = None


class TrainedBlock(msgspec.Struct, frozen=True, array_like=True):
    """A trained block."""

    number: int
    found: Sequence[DeviceResult]
    sums: Mapping[str, bytes]
    """The exact weighted sum of the updates by ``PART.NAME``, int64; empty where single updates are returned."""


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """What a worker says of a block."""

    block: TrainedBlock | None
    """None: it failed."""
    failure: str = ""
    """What was raised, and where."""


class Base(NamedTuple):
    """A version as devices receive it."""

    parameters: Tensors
    server: Mapping[str, Tensors]
    """The server state that the merge sends, by kind of tensor."""
    number: int = 0
    bound: float | None = None
    """L2 norm to which the plan's privacy kind clips updates of this version; None: it does not clip."""


def encode_version(base: Base) -> bytes:
    """The file of a version."""
    tensors = {f"{PARAMETER}/{name}": tensor for name, tensor in base.parameters.items()}
    for kind, named in base.server.items():
        tensors |= {f"{SERVER}/{kind}/{name}": tensor for name, tensor in named.items()}
    bound = {} if base.bound is None else {BOUND: base.bound.hex()}
    return encode_tensors(tensors, {NUMBER: str(base.number), **bound})


@lru_cache(maxsize=2)
def read_version(path: str) -> Base:
    """The version in a file of `encode_version`; the file never changes."""
    content = Path(path).read_bytes()
    header = read_header(content)
    parameters: dict[str, Float32] = {}
    server: dict[str, dict[str, Float32]] = {}
    for name, tensor in view_tensors(content, header, expected=tuple(header.specs.values())).items():
        place, _, rest = name.partition("/")
        kind, _, last = rest.partition("/")
        if place == PARAMETER:
            parameters[rest] = cast(Float32, tensor)
        else:
            server.setdefault(kind, {})[last] = cast(Float32, tensor)
    bound = header.metadata.get(BOUND)
    number = int(header.metadata[NUMBER])
    return Base(parameters, server, number, None if bound is None else float.fromhex(bound))
