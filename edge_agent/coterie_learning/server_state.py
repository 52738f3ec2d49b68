"""Server state as a file: the tensors of a merge, and as metadata its notes and the kind."""

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from coterie_learning.fold import Remembered
from coterie_learning.merge import Merge, Note, ServerState
from coterie_wire.bundle import TensorSpec
from coterie_wire.structs import from_json
from coterie_wire.tensor_files import Source, TensorWriter, open_tensors
from coterie_wire.tensors import Float32, Tensors, check_finite, decode_tensors, read_header


def remembers(merge: Merge) -> bool:
    """Whether a merge has a state."""
    return merge.init({}) != ServerState()


def state_specs(merge: Merge, parameters: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """The tensors of a state, for a model with these parameters."""
    return tuple(
        TensorSpec(_name(kind, spec.name), "float32", spec.shape)
        for kind in merge.init({}).tensors
        for spec in parameters
    )


def state_writer(
    descriptor: int, merge: Merge, parameters: Sequence[TensorSpec], notes: Mapping[str, Note]
) -> TensorWriter:
    """A file for the state with these `notes`, to which the tensors are to be written."""
    metadata = {"merge": merge.name, "notes": msgspec.json.encode(dict(sorted(notes.items()))).decode()}
    return TensorWriter(descriptor, state_specs(merge, parameters), metadata)


def write_state(writer: TensorWriter, state: ServerState, starts: Mapping[str, int]) -> None:
    """Write a block of the state, whose tensors are flat parts that begin at `starts` by the parameter's name."""
    for kind, tensors in state.tensors.items():
        for name, numbers in tensors.items():
            writer.write(_name(kind, name), starts[name], numbers)


def read_state(source: Source, merge: Merge, parameters: Sequence[TensorSpec]) -> Remembered | None:
    """The state in `source`; None where it is of another kind or for other parameters: the merge starts without state.

    Raises OSError or WireError ``tensors.malformed``.
    """
    stored = open_tensors(source)
    expected = {spec.name: spec for spec in state_specs(merge, parameters)}
    if stored.header.metadata.get("merge") != merge.name or stored.header.specs != expected:
        return None

    def read(kind: str, name: str, start: int, stop: int) -> Float32:
        return cast(Float32, stored.read(_name(kind, name), start, stop))

    return Remembered(read, from_json(stored.header.metadata["notes"].encode(), dict[str, Note]))


def broadcast_state(content: bytes, parameters: Sequence[TensorSpec]) -> Mapping[str, Tensors]:
    """On a device, the tensors of a state by kind of tensor; only those complete for these parameters.

    Raises WireError ``tensors.*``.
    """
    header = read_header(content)
    wanted = {spec.name: spec for spec in parameters}
    expected: list[TensorSpec] = []
    kinds = sorted({name.partition("/")[0] for name in header.specs})
    expected = [TensorSpec(_name(kind, spec.name), "float32", spec.shape) for kind in kinds for spec in wanted.values()]
    found = decode_tensors(content, expected=tuple(expected))
    check_finite(found)
    return {kind: {name: cast(Float32, found[_name(kind, name)]) for name in wanted} for kind in kinds}


def _name(kind: str, parameter: str) -> str:
    return f"{kind}/{parameter}"
