"""Checkpoints of a simulation: its state after a round, in one file that is replaced atomically."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from coterie.simulation.errors import DamagedSimulation, MalformedFile, OtherSimulation
from coterie.simulation.fleet.cohort import CompletedTraining, ExpectedUpdate
from coterie.simulation.fleet.columns import Columns
from coterie.simulation.fleet.device_states import Moment
from coterie.simulation.fleet.outcome import FleetRound
from coterie.simulation.fleet.splits import Int64
from coterie.simulation.ledger import Used
from coterie.simulation.lineage import LineageState
from coterie_learning.merge import Note, ServerState
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json
from coterie_wire.tensors import Array, Float32, encode_tensors, read_header, view_tensors

STATE, IDENTITY = "state.safetensors", "simulation.json"
_STARTS, _LENGTHS = "states/starts", "states/lengths"


class Noted(msgspec.Struct, frozen=True):
    """State other than tensors."""

    rounds: Sequence[FleetRound]
    now_s: float
    version: int
    used: Used
    has_state: bool
    notes: Mapping[str, Note]
    states: tuple[int, int]
    """Number and size of the file of device states."""
    bound: float | None = None
    ordinary: float = 0.0
    difference_bytes: int | None = None
    coming: Sequence[ExpectedUpdate] = ()
    waiting: Sequence[CompletedTraining] = ()
    digests: Sequence[str] = ()


class SimulationCheckpoint(NamedTuple):
    """A simulation after a round."""

    columns: Columns
    newest: LineageState
    states: Moment
    """Device states."""
    rounds: Sequence[FleetRound]
    now_s: float
    used: Used
    coming: Sequence[ExpectedUpdate]
    """Devices that are training; see `Cohorts`."""
    waiting: Sequence[CompletedTraining]
    digests: Sequence[str]
    """See `Lineage`."""


def identify(directory: Path, identity: Mapping[str, str]) -> None:
    """Assign `directory` to the simulation with this `identity`. Raises OtherSimulation where it belongs to another, or
    MalformedFile where it is not writable.
    """
    path = directory / IDENTITY
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _replace(path, msgspec.json.encode(identity))
            return
    except OSError as error:
        raise MalformedFile(path=str(directory), detail=f"nothing can be kept there: {error}") from error
    try:
        found = from_json(path.read_bytes(), dict[str, str])
    except (*UNREADABLE, OSError) as error:
        raise DamagedSimulation(path=str(directory), detail=str(error)) from error
    other = sorted(name for name in {*found, *identity} if found.get(name) != identity.get(name))
    if other:
        raise OtherSimulation(path=str(directory), what=", ".join(other))


def save(directory: Path, kept: SimulationCheckpoint) -> None:
    """Save atomically."""
    newest, server = kept.newest, kept.newest.state
    tensors: dict[str, Array] = {f"column/{name}": bits for name, bits in kept.columns.stored().items()}
    tensors |= {f"parameter/{name}": tensor for name, tensor in newest.parameters.items()}
    tensors |= {f"residual/{name}": tensor for name, tensor in newest.residual.items()}
    tensors |= {_STARTS: kept.states.starts, _LENGTHS: kept.states.lengths}
    for kind, named in ({} if server is None else server.tensors).items():
        tensors |= {f"server/{kind}/{name}": tensor for name, tensor in named.items()}
    noted = Noted(
        kept.rounds,
        kept.now_s,
        newest.number,
        kept.used,
        server is not None,
        {} if server is None else dict(server.notes),
        (kept.states.file, kept.states.size_bytes),
        newest.bound,
        newest.ordinary,
        newest.difference_bytes,
        kept.coming,
        kept.waiting,
        kept.digests,
    )
    beside = msgspec.json.encode(noted)
    content = encode_tensors(tensors, {})
    digest = hashlib.sha256(beside + content).digest()
    _replace(directory / STATE, digest + len(beside).to_bytes(8, "little") + beside + content)


def load(directory: Path) -> SimulationCheckpoint | None:
    """The latest checkpoint; None: there is none. Raises DamagedSimulation."""
    path = directory / STATE
    if not path.exists():
        return None
    try:
        return _read(path.read_bytes())
    except (WireError, *UNREADABLE, OSError, KeyError, ValueError) as error:
        raise DamagedSimulation(path=str(directory), detail=str(error) or type(error).__name__) from error


def _read(file: bytes) -> SimulationCheckpoint:
    digest, length = file[:32], int.from_bytes(file[32:40], "little")
    beside, content = file[40 : 40 + length], memoryview(file)[40 + length :]
    if hashlib.sha256(beside + bytes(content)).digest() != digest:
        raise ValueError("its state is not what was written")
    noted = from_json(beside, Noted)
    header = read_header(content)
    columns: dict[str, Int64] = {}
    parameters: dict[str, Float32] = {}
    residual: dict[str, Float32] = {}
    server: dict[str, dict[str, Float32]] = {}
    remembered: dict[str, Int64] = {}
    for name, tensor in view_tensors(content, header, expected=tuple(header.specs.values())).items():
        place, _, rest = name.partition("/")
        if name in (_STARTS, _LENGTHS):
            remembered[name] = cast(Int64, tensor)
        elif place == "column":
            columns[rest] = cast(Int64, tensor)
        elif place == "parameter":
            parameters[rest] = cast(Float32, tensor)
        elif place == "residual":
            residual[rest] = cast(Float32, tensor)
        else:
            kind, _, last = rest.partition("/")
            server.setdefault(kind, {})[last] = cast(Float32, tensor)
    return SimulationCheckpoint(
        Columns.restored(columns),
        LineageState(
            parameters,
            noted.version,
            ServerState(server, noted.notes) if noted.has_state else None,
            residual,
            noted.difference_bytes,
            noted.bound,
            noted.ordinary,
        ),
        Moment(*noted.states, remembered[_STARTS], remembered[_LENGTHS]),
        noted.rounds,
        noted.now_s,
        noted.used,
        noted.coming,
        noted.waiting,
        noted.digests,
    )


def _replace(path: Path, content: bytes) -> None:
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
