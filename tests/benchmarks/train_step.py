"""One train step of each kind of model: the compiled graph on onnxruntime against eager PyTorch, one thread each."""

import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn

from coterie.demo.pair import IMAGE, DeviceModel
from coterie.learning.compile.compiled import compile_model
from coterie.learning.compile.program import export_module
from coterie.learning.datasets import Dataset
from coterie.learning.device_steps import Batch, DeviceSteps
from coterie_wire.local import StepWeights
from tests.benchmarks.report import Figure
from tests.zoo.entry import Entry, Numbers
from tests.zoo.models import CLASSES, ZOO

BATCH = 32
ROUNDS = 15
STEPS_A_ROUND = 8
WEIGHTS = StepWeights(learning_rate=0.01, momentum=0.9)


def measure() -> Sequence[Figure]:
    """The median over rounds, in which both take turns, so that a busy machine is busy for both."""
    torch.set_num_threads(1)
    entries = {"demo": Entry(DeviceModel, (Numbers(IMAGE),), CLASSES), **ZOO}
    return [figure for name, entry in entries.items() for figure in _measure_model(name, entry)]


def _measure_model(name: str, entry: Entry) -> list[Figure]:
    module = entry.built()
    started = time.perf_counter()
    model = compile_model(export_module(module, entry.samples(2, 0)), batch_size=BATCH)
    compile_s = time.perf_counter() - started
    samples = entry.samples(BATCH, 1)
    labels = np.arange(BATCH) % entry.classes
    steps = DeviceSteps(model.train_step, model.spec)
    arrays = {spec.name: tensor.numpy() for spec, tensor in zip(model.spec.inputs, samples, strict=True)}
    batch = Batch(Dataset(arrays, labels))
    training = steps.begin(model.parameters)

    def compiled_step() -> None:
        nonlocal training
        training = steps.step(training, batch, WEIGHTS).training

    eager_step = _eager(module, samples, torch.from_numpy(labels))
    compiled_step()
    eager_step()
    pairs = [(_seconds(compiled_step), _seconds(eager_step)) for _ in range(ROUNDS)]
    ours = statistics.median(pair[0] for pair in pairs)
    theirs = statistics.median(pair[1] for pair in pairs)
    ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
    return [
        Figure(name, "train step", ours * 1e3, "ms", against=f"eager PyTorch, {theirs * 1e3:.2f} ms", ratio=ratio),
        Figure(name, "compile", compile_s, "s"),
    ]


def _eager(module: nn.Module, samples: Sequence[torch.Tensor], labels: torch.Tensor) -> Callable[[], None]:
    optimiser = torch.optim.SGD(module.parameters(), lr=WEIGHTS.learning_rate, momentum=WEIGHTS.momentum)

    def step() -> None:
        optimiser.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(module(*samples), labels))
        optimiser.step()

    return step


def _seconds(step: Callable[[], None]) -> float:
    started = time.perf_counter()
    for _ in range(STEPS_A_ROUND):
        step()
    return (time.perf_counter() - started) / STEPS_A_ROUND
