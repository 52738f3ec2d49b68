"""What the tests and benchmarks need to know of a model: how to build it and what its samples look like."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from coterie.compile.recipe.loss import Loss
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie_wire.length import Length

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
class Sentences:
    """An input of words from 1 on, [length], each sentence of one word at least and then filled up with 0."""

    shape: tuple[int]
    vocabulary: int

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        (length,) = self.shape
        words = torch.randint(1, self.vocabulary, (count, length), generator=generator)
        ends = torch.randint(1, length + 1, (count, 1), generator=generator)
        return torch.where(torch.arange(length) < ends, words, 0)


@dataclass(frozen=True, eq=False)
class Entry:
    """A model with its inputs, in the order of its arguments. Functions cannot be compared, and so entries are not."""

    build: Callable[[], nn.Module]
    inputs: tuple[Numbers | Indices | Sentences, ...]
    classes: int
    """How many numbers it gives, for each place where it gives some for several."""
    loss: Loss = CLASSIFICATION
    learning_rate: float = 0.05
    """At which its training is no more sensitive to rounding than can be compared."""
    length: Length | None = None
    """How samples differ in length; the inputs' shapes are those of the longest."""

    def built(self) -> nn.Module:
        """The same model at each call."""
        torch.manual_seed(0)
        module = self.build()
        module(*self.samples(2, 0))  # lazy layers learn their sizes
        return module

    def samples(self, count: int, seed: int, length: int | None = None) -> tuple[Tensor, ...]:
        """A batch of synthetic samples, one tensor for each input; `length` long where samples differ in it."""
        generator = torch.Generator().manual_seed(seed)
        return tuple(wanted.draw(count, generator) for wanted in self._inputs(length))

    def _inputs(self, length: int | None) -> Iterator[Numbers | Indices | Sentences]:
        if length is None or self.length is None:
            yield from self.inputs
            return
        for wanted, axis in zip(self.inputs, self.length.axes.values(), strict=True):
            shape = (*wanted.shape[:axis], length, *wanted.shape[axis + 1 :])
            yield replace(wanted, shape=shape)
