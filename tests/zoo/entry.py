"""What the tests and benchmarks need to know of a model: how to build it and what its samples look like."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from coterie.learning.recipe.loss import Loss
from coterie.learning.recipe.loss.cross_entropy import CrossEntropy

CLASSIFICATION = CrossEntropy()


@dataclass(frozen=True)
class Numbers:
    """An input of normally distributed numbers; the shape is that of one sample."""

    shape: tuple[int, ...]

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        return torch.randn(count, *self.shape, generator=generator)


@dataclass(frozen=True)
class Indices:
    """An input of whole numbers below `vocabulary`: words, users, articles."""

    shape: tuple[int, ...]
    vocabulary: int

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        return torch.randint(0, self.vocabulary, (count, *self.shape), generator=generator)


@dataclass(frozen=True)
class Entry:
    """A model with its inputs, in the order of its arguments."""

    build: Callable[[], nn.Module]
    inputs: tuple[Numbers | Indices, ...]
    classes: int
    """How many numbers it gives, for each place where it gives some for several."""
    loss: Loss = CLASSIFICATION
    learning_rate: float = 0.05
    """At which its training is no more sensitive to rounding than can be compared."""

    def built(self) -> nn.Module:
        """The same model at each call."""
        torch.manual_seed(0)
        module = self.build()
        module(*self.samples(2, 0))  # lazy layers learn their sizes
        return module

    def samples(self, count: int, seed: int) -> tuple[Tensor, ...]:
        """A batch of made-up samples, one tensor for each input."""
        generator = torch.Generator().manual_seed(seed)
        return tuple(wanted.draw(count, generator) for wanted in self.inputs)
