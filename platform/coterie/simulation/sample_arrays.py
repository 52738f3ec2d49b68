"""Arrays of samples in files of the user's own, which are refused with the name of the file."""

from pathlib import Path

from coterie.evaluation.datasets import MAX_BYTES, MalformedDataset, typed
from coterie.simulation.errors import MalformedFile
from coterie_wire.archives import Numbers, read_arrays
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Array


def read_npz(path: Path) -> dict[str, Numbers]:
    """The arrays of an NPZ file by name. Raises MalformedFile."""
    try:
        return dict(read_arrays(path, max_bytes=MAX_BYTES))
    except WireError as error:
        raise MalformedFile(path=str(path), detail=error.detail) from error


def typed_in(path: Path, name: str, numbers: Numbers, spec: TensorSpec) -> Array:
    """`numbers` [n, *shape] of the array `name` in the type that `spec` has. Raises MalformedFile."""
    try:
        return typed(name, numbers, spec)
    except MalformedDataset as error:
        raise MalformedFile(path=str(path), detail=str(error.fields["detail"])) from error
