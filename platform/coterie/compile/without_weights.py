"""An uploaded program without the numbers of its parameters, which are read from its file a few rows at a time."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.export import ExportedProgram

FLOAT32_BYTES = 4


class Stored(NamedTuple):
    """The location of a parameter's numbers, float32 and row after row."""

    offset: int
    """In bytes from the beginning of the file."""
    shape: torch.Size


class ProgramWithoutWeights(NamedTuple):
    """A program most of whose parameters are on PyTorch's device ``meta``: they have a shape and no numbers.

    Parameters that share their numbers with others, or have them in another order, are loaded as usual.
    """

    program: ExportedProgram
    path: Path
    stored: Mapping[str, Stored]
    """The parameters without numbers, by their names."""

    def rows(self, name: str, start: int, stop: int) -> Tensor:
        """Rows `start` up to, not including, `stop` of such a parameter, [stop - start, ...]. Raises OSError."""
        offset, (_, *others) = self.stored[name]
        size = math.prod(others)
        begin = offset + start * size * FLOAT32_BYTES
        found = np.fromfile(self.path, "<f4", count=(stop - start) * size, offset=begin)
        return torch.from_numpy(found.reshape(stop - start, *others))
