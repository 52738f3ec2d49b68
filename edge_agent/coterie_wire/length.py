"""Samples of different length, such as sentences: how long they may be, and which axes tell."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

MAX_LENGTH = 1 << 20
Shape = tuple[int, ...]
_Length = Annotated[int, Meta(ge=1, le=MAX_LENGTH)]


class Length(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The axis in which the samples of a model differ; the shapes of a `ModelSpec` are those of its longest sample."""

    shortest: _Length
    longest: _Length
    axes: Annotated[dict[str, Annotated[int, Meta(ge=0, lt=16)]], Meta(min_length=1)]
    """By the name of each tensor of a sample that has it, which axis of the sample it is."""

    def __post_init__(self) -> None:
        if self.shortest > self.longest:
            raise ValueError("the shortest sample is longer than the longest")

    def shape(self, name: str, shape: Shape, length: int) -> Shape:
        """That of the tensor `name` in a sample of `length`; `shape` is its shape in the longest."""
        axis = self.axes.get(name)
        return shape if axis is None else (*shape[:axis], length, *shape[axis + 1 :])

    def sizes(self, name: str, shape: Shape) -> list[str]:
        """`shape` of the tensor `name`, for people: ``1 to 64`` where samples differ."""
        dynamic = self.axes.get(name)
        return [
            f"{self.shortest} to {self.longest}" if axis == dynamic else str(size) for axis, size in enumerate(shape)
        ]

    def found_in(self, shapes: Mapping[str, Shape]) -> int | None:
        """The length that all tensors with the axis have; None where they differ, or are too short or too long."""
        there = {shapes[name][axis : axis + 1] for name, axis in self.axes.items() if name in shapes}
        if len(there) != 1:
            return None
        (size,) = there
        return size[0] if size and self.shortest <= size[0] <= self.longest else None
