"""Parameters in the order of need, neighbours together, with one buffer for what is sent of them."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from coterie.cloud.priority.gates import names_by_need
from coterie.cloud.program import CloudProgram


class Layer:
    """Consecutive parameters of the forward pass, whose numbers are sent together."""

    def __init__(self, names: Sequence[str], parameters: Sequence[nn.Parameter], *, beside: int = 0) -> None:
        self.names, self.parameters = tuple(names), tuple(parameters)
        self.sizes = [parameter.numel() for parameter in parameters]
        self.numbers = torch.zeros(sum(self.sizes) + beside)
        """Of the parameters one after the other, then `beside` other numbers: gradients, until others come back."""
        *parts, self.beside = torch.split(self.numbers, [*self.sizes, beside])
        self.parts = [part.view(parameter.shape) for part, parameter in zip(parts, parameters, strict=True)]
        self.came: set[int] = set()
        """Places of the parameters whose gradients this step has given."""

    def take(self, place: int) -> None:
        """Move the gradient of the parameter at `place` into the buffer."""
        parameter = self.parameters[place]
        assert parameter.grad is not None, "it has just been computed"
        self.parts[place].copy_(parameter.grad)
        parameter.grad = None
        self.came.add(place)

    def fill(self) -> None:
        """Fill in zeros where no gradient arrived."""
        for place in self.idle():
            self.parts[place].zero_()

    def idle(self) -> set[int]:
        """Places of the parameters that no gradient reached."""
        return set(range(len(self.parameters))) - self.came


def layers_of(cloud: CloudProgram, most: int, *, beside: int = 0) -> list[Layer]:
    """The parameters that operators read: neighbours share a layer as long as they have at most `most` numbers
    together.

    `beside`: how many other numbers are sent with the first.
    """
    return [
        Layer(names, [cloud.parameters[name] for name in names], beside=beside if number == 0 else 0)
        for number, names in enumerate(names_together(cloud, most))
    ]


def names_together(cloud: CloudProgram, most: int) -> list[list[str]]:
    """The names of the parameters of each layer of `layers_of`."""
    named = names_by_need(cloud)
    groups = _together([cloud.parameters[name].numel() for name in named], most)
    return [[named[place] for place in group] for group in groups]


def _together(sizes: Sequence[int], most: int) -> list[range]:
    """Groups of neighbours that fit into a piece: each message has a fixed cost, however small it is."""
    starts, size = [0], 0
    for place, numbers in enumerate(sizes):
        if size and size + numbers > most:
            starts.append(place)
            size = 0
        size += numbers
    return [range(start, stop) for start, stop in pairwise([*starts, len(sizes)])]
