"""Training as a device does it: ``python -m tests.benchmarks.processes.on_onnxruntime DIRECTORY STEPS THREADS``.

The directory holds ``train_step.onnx``, ``feeds.npz`` and ``outputs.txt``. Prints a line when the first step is done,
then the peak of the process's memory in bytes.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from coterie_agent.training.graph import Graph
from coterie_agent.training.steps import Steps as BoundSteps
from coterie_wire.tensors import Array
from tests.benchmarks.processes.memory import peak_bytes


class Steps:
    """A train step's graph with all that it takes; what a step gives is what the next one takes."""

    def __init__(self, content: bytes, feeds: Mapping[str, Array], outputs: Sequence[str], *, threads: int) -> None:
        graph = Graph(content, inputs=frozenset(feeds), outputs=frozenset(outputs), threads=threads)
        carried = {name.removeprefix("next.") for name in outputs if name.startswith("next.")}
        # As the agent does, what belongs to one step is handed over with it; anchors and frozen tensors are not.
        fixed = {name for name in feeds if name.startswith(("anchor.", "frozen."))}
        state = {name: feeds[name].astype(np.float32) for name in carried}
        self._steps = BoundSteps(graph, state, {name: feeds[name] for name in fixed})
        self._given = {name: array for name, array in feeds.items() if name not in carried | fixed}

    def step(self) -> float:
        """The loss."""
        loss = self._steps.run(self._given)
        self._steps.advance()
        return loss


def load(directory: Path, *, threads: int) -> Steps:
    """What a directory as above holds."""
    with np.load(directory / "feeds.npz") as stored:
        feeds = dict(stored)
    outputs = (directory / "outputs.txt").read_text().split()
    return Steps((directory / "train_step.onnx").read_bytes(), feeds, outputs, threads=threads)


def main(directory: Path, steps: int, threads: int) -> None:
    training = load(directory, threads=threads)
    for number in range(steps):
        training.step()
        if number == 0:
            print("first step", flush=True)
    print(peak_bytes(), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
