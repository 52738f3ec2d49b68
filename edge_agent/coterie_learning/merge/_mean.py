"""Shared by merges of the mean update: the weights of updates."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from coterie_learning.merge import Merge, Reads


class MeanUpdate(Merge, frozen=True):
    """Reads the mean of the updates, weighted by samples or equally."""

    weight_by: Annotated[
        Literal["samples", "uniform"], Meta(description="whether an update counts by its training samples or once")
    ] = "samples"
    reads: ClassVar[Reads] = "sums"

    def counted(self, samples: Sequence[int]) -> Sequence[int]:
        return samples if self.weight_by == "samples" else super().counted(samples)
