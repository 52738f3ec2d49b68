"""How a kernel moves."""

from collections.abc import Sequence
from typing import NamedTuple


class Geometry(NamedTuple):
    """How a kernel moves over its input: one number for each spatial axis."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
