"""The hardware and precision that a cloud model computes with: this host's cores or one of its GPUs, float32 or bf16.

On a GPU the optimiser is PyTorch's fused one, and operators use PyTorch's deterministic implementation where there is
one.
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
"""The module of ``torch.compile``'s errors; importing it takes a second, and few trainings need it."""
RANDOM = "random"
RANDOM_OF_GPU = "random_gpu"
"""The name of random number generators' states in checkpoints."""


class Computing(NamedTuple):
    """The device, precision and compilation that one process computes with."""

    device: torch.device = CPU
    bf16: bool = False
    """Matrix products of training use 16-bit numbers; parameters, the loss and the optimiser stay in float32."""
    compiled: bool = False
    """The forward and the backward pass are compiled by ``torch.compile``."""

    @property
    def on_gpu(self) -> bool:
        """Whether it is a GPU, of CUDA or of ROCm, which PyTorch calls CUDA."""
        return self.device.type != CPU.type

    def begin(self) -> None:
        """Prepare this process; called before anything is computed. Raises NoGpu."""
        if self.on_gpu:
            found = torch.cuda.device_count()
            if self.device.index >= found:
                raise NoGpu(gpu=self.device.index, found=found)
            torch.use_deterministic_algorithms(True, warn_only=True)
            torch.cuda.set_device(self.device)

    def in_training(self) -> AbstractContextManager[object]:
        """The context in which a training forward pass runs."""
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
        """The inverse of `random_states`; a generator whose state was saved on another device keeps its own."""
        torch.set_rng_state(states[RANDOM])
        if self.on_gpu and RANDOM_OF_GPU in states:
            torch.cuda.set_rng_state(states[RANDOM_OF_GPU], self.device)


ON_CPU = Computing()


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise GpuFull or CannotCompile for PyTorch's corresponding errors."""
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
