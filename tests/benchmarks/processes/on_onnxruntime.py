"""Training as a device does it: ``python -m tests.benchmarks.processes.on_onnxruntime DIRECTORY STEPS THREADS``.

The directory holds ``train_step.onnx``, ``feeds.npz`` and ``outputs.txt``. Prints a line when the first step is done,
then the peak of the process's memory in bytes.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from coterie_agent.training.graph import Graph, value
from coterie_wire.tensors import Array
from tests.benchmarks.processes.memory import peak_bytes


class Steps:
    """A train step's graph with all that it takes; what a step gives is what the next one takes."""

    def __init__(self, content: bytes, feeds: Mapping[str, Array], outputs: Sequence[str], *, threads: int) -> None:
        self._graph = Graph(content, inputs=frozenset(feeds), outputs=frozenset(outputs), threads=threads)
        self._feeds = {name: value(array) for name, array in feeds.items()}
        self._next = [name for name in outputs if name.startswith("next.")]

    def step(self) -> float:
        """The loss."""
        loss, *tensors = self._graph.run(["loss", *self._next], self._feeds)
        self._feeds.update(
            (name.removeprefix("next."), tensor) for name, tensor in zip(self._next, tensors, strict=True)
        )
        return float(loss.numpy())


def main(directory: Path, steps: int, threads: int) -> None:
    with np.load(directory / "feeds.npz") as stored:
        feeds = dict(stored)
    outputs = (directory / "outputs.txt").read_text().split()
    training = Steps((directory / "train_step.onnx").read_bytes(), feeds, outputs, threads=threads)
    for number in range(steps):
        training.step()
        if number == 0:
            print("first step", flush=True)
    print(peak_bytes(), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
