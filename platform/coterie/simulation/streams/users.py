"""The user's own samples: those of each user in the file, in its order, belong to one device."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from coterie.evaluation.datasets import Dataset
from coterie.simulation.errors import DoesNotFit, MalformedFile
from coterie.simulation.learner import Task
from coterie.simulation.sample_arrays import read_npz, typed_in
from coterie.simulation.streams import Drawn, Stream
from coterie_wire.archives import Numbers
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Array

LABELS, INPUT = "y", "x"


class Users(Stream, frozen=True, tag="users"):
    """Arrays of an NPZ file: classes ``y``, each sample's user, and the inputs by name, or the only one as ``x``."""

    file: Annotated[str, Meta(min_length=1, description="the NPZ file")]
    user: Annotated[str, Meta(min_length=1, description="the array that says whose each sample is, whole numbers")] = (
        "user"
    )
    input: Annotated[str, Meta(min_length=1, description="what the model calls the input that the file calls x")] = "x"
    inputs: Annotated[
        tuple[str, ...], Meta(description="the model's inputs; none named: all arrays but y and the user's")
    ] = ()
    dtype: Annotated[Literal["float32", "int64"], Meta(description="what the model takes: numbers, or whole ones")] = (
        "float32"
    )
    classes: Annotated[int, Meta(ge=0, le=1_000_000, description="classes there are; 0: as many as occur")] = 0
    batch_size: Annotated[int, Meta(ge=1, le=10_000, description="samples that a device meets at a time")] = 32
    batch_s: Annotated[float, Meta(gt=0, le=1e9, description="seconds from one batch to the next")] = 60.0

    def draw(self, *, devices: int, seed: int) -> Drawn:  # noqa: ARG002 - nothing is drawn
        arrays = self._arrays()
        labels, users = arrays[LABELS].astype(np.int64), arrays[self.user]
        found = np.unique(users)
        if not 1 <= devices <= len(found):
            raise DoesNotFit(detail=f"{self.file} has samples of {len(found)} users, {devices} devices are asked for")
        inputs = self._inputs(arrays)
        whole = Dataset(inputs, labels)
        by_user = [whole.take(np.flatnonzero(users == user)) for user in found[:devices]]
        ticks = max(-(-len(one.labels) // self.batch_size) for one in by_user)
        return Drawn(
            task=Task(
                tuple(TensorSpec(name, self.dtype, array.shape[1:]) for name, array in inputs.items()),
                self.classes or int(labels.max()) + 1,
            ),
            tick_s=self.batch_s,
            cloud=whole.take(slice(0, 0)),
            batches=tuple(
                tuple(one.take(slice(tick * self.batch_size, (tick + 1) * self.batch_size)) for tick in range(ticks))
                for one in by_user
            ),
        )

    def _inputs(self, arrays: Mapping[str, Numbers]) -> Mapping[str, Array]:
        found: dict[str, Array] = {}
        for name, array in arrays.items():
            is_beside = bool(self.inputs) and name not in (INPUT, *self.inputs)
            if name in (LABELS, self.user) or is_beside:
                continue
            spec = TensorSpec(self.input if name == INPUT else name, self.dtype, array.shape[1:])
            found[spec.name] = typed_in(Path(self.file), name, array, spec)
        return found

    def users(self) -> int:
        """How many there are. Raises MalformedFile."""
        return len(np.unique(self._arrays()[self.user]))

    def _arrays(self) -> Mapping[str, Numbers]:
        path = Path(self.file)
        if path.is_dir() or path.suffix == ".parquet":
            detail = "samples that come as a stream are in one NPZ file; this is taken with a split (--split by:COLUMN)"
            raise MalformedFile(path=self.file, detail=detail)
        arrays = read_npz(path)
        for name in (LABELS, self.user):
            if name not in arrays or arrays[name].ndim != 1 or arrays[name].dtype.kind not in "iu":
                there = arrays.get(name)
                found = f"it has {', '.join(arrays)}" if there is None else f"it is {there.dtype} {list(there.shape)}"
                detail = f"it has no array {name} of whole numbers, one a sample: {found}"
                raise MalformedFile(path=self.file, detail=detail)
        if not len(arrays[LABELS]):
            raise MalformedFile(path=self.file, detail="it has no samples")
        if len(arrays) < 3 or {array.shape[:1] for array in arrays.values()} != {arrays[LABELS].shape}:
            raise MalformedFile(path=self.file, detail="its arrays must be of the same length, one of them an input")
        labels = arrays[LABELS]
        if labels.min() < 0 or (self.classes and labels.max() >= self.classes):
            known = f", those of the model from 0 to {self.classes - 1}" if self.classes else "; the first is 0"
            detail = f"its classes go from {labels.min()} to {labels.max()}{known}"
            raise MalformedFile(path=self.file, detail=detail)
        return arrays
