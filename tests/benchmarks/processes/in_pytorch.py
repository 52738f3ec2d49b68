"""The same training in PyTorch: ``python -m tests.benchmarks.processes.in_pytorch MODEL BATCH STEPS THREADS``.

Prints a line when the first step is done, then the peak of the process's memory in bytes.
"""

import sys
from collections.abc import Callable

import torch
from torch import nn

from tests.benchmarks.processes.memory import peak_bytes
from tests.zoo.entry import Entry
from tests.zoo.models import ZOO

LEARNING_RATE = 0.01
MOMENTUM = 0.9


def eager_step(entry: Entry, module: nn.Module, batch: int) -> Callable[[], None]:
    """One step of stochastic gradient descent on synthetic samples; the module may be a compiled one."""
    samples, labels = entry.samples(batch, 1), torch.arange(batch) % entry.classes
    optimiser = torch.optim.SGD(module.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)

    def step() -> None:
        optimiser.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(module(*samples), labels))
        optimiser.step()

    return step


def main(name: str, batch: int, steps: int, threads: int) -> None:
    torch.set_num_threads(threads)
    step = eager_step(ZOO[name], ZOO[name].built(), batch)
    for number in range(steps):
        step()
        if number == 0:
            print("first step", flush=True)
    print(peak_bytes(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:]))
