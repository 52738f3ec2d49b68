"""Where a cloud model computes and how: on this host's cores or on one of its GPUs, in float32 or with bf16.

On a GPU the optimiser is PyTorch's fused one, and operators are those of which PyTorch has a form that gives the same
bits each time, where there is one.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.fx import GraphModule

from coterie.cloud.errors import CannotCompile, GpuFull, NoGpu
from coterie.compile.passes.devices import made_on

CPU = torch.device("cpu")
COMPILER = "torch._dynamo.exc"
"""Where the errors of ``torch.compile`` are; it takes a second to import, which few trainings need."""
RANDOM = "random"
RANDOM_OF_GPU = "random_gpu"
"""What checkpoints call the states of random number generators."""


class Computing(NamedTuple):
    """The device, precision and compilation that one process computes with."""

    device: torch.device = CPU
    bf16: bool = False
    """Matrix products of training are of numbers of 16 bits; parameters, the loss and the optimiser stay in float32."""
    compiled: bool = False
    """The forward and the backward pass are compiled by ``torch.compile``."""

    @property
    def on_gpu(self) -> bool:
        """Whether it is one that CUDA, or ROCm under its name, drives."""
        return self.device.type != CPU.type

    def begin(self) -> None:
        """Prepare this process; call it before anything is computed. Raises NoGpu."""
        if self.on_gpu:
            found = torch.cuda.device_count()
            if self.device.index >= found:
                raise NoGpu(gpu=self.device.index, found=found)
            torch.use_deterministic_algorithms(True, warn_only=True)
            torch.cuda.set_device(self.device)

    def in_training(self) -> AbstractContextManager[object]:
        """In which a forward pass runs."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.bf16 else nullcontext()

    def adamw(self, parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.AdamW:
        """The optimiser of `parameters`."""
        return torch.optim.AdamW(parameters, lr=learning_rate, fused=True if self.on_gpu else None)

    def graph(self, module: GraphModule) -> GraphModule:
        """`module` itself, or a copy of it for the GPU."""
        return made_on(module, self.device) if self.on_gpu else module

    def random_states(self) -> dict[str, Tensor]:
        """Of the generators that training draws from."""
        states = {RANDOM: torch.get_rng_state()}
        return {**states, RANDOM_OF_GPU: torch.cuda.get_rng_state(self.device)} if self.on_gpu else states

    def restore_random(self, states: Mapping[str, Tensor]) -> None:
        """The inverse of `random_states`; a generator whose state another device did not keep stays as it is."""
        torch.set_rng_state(states[RANDOM])
        if self.on_gpu and RANDOM_OF_GPU in states:
            torch.cuda.set_rng_state(states[RANDOM_OF_GPU], self.device)


ON_CPU = Computing()


@contextmanager
def told_failures() -> Iterator[None]:
    """Have PyTorch's failures to compute as asked raise GpuFull or CannotCompile."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise GpuFull(detail=_first_line(error)) from error
    except RuntimeError as error:
        if not any(kind.__module__ == COMPILER for kind in type(error).__mro__):
            raise
        raise CannotCompile(detail=_first_line(error)) from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:400]
