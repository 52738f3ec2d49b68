"""A cloud model's training steps on a GPU against those on all cores: float32, bf16, compiled, and the fused optimiser.

The model is a transformer encoder of 25 million parameters, or a convolutional network on pictures of 32 x 32. Every
line takes the steps of strategy `one_process`, loss and batches included. Where PyTorch finds no GPU, nothing is
measured.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import cycle, islice, pairwise
from pathlib import Path

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.cloud.bootstrap_job import BootstrapArguments
from coterie.cloud.learner import Learner
from coterie.compile.program import export_module
from tests.benchmarks.report import Figure

BATCH, SAMPLES, LENGTH, WIDTH = 256, 1024, 64, 512
WAYS: Mapping[str, Mapping[str, object]] = {
    "float32": {},
    "bf16": {"precision": "bf16"},
    "float32, compiled": {"compiled": True},
    "bf16, compiled": {"precision": "bf16", "compiled": True},
}


def measure() -> list[Figure]:
    """All figures."""
    if not torch.cuda.is_available():
        sys.stderr.write("PyTorch finds no GPU on this machine: nothing is measured\n")
        return []
    return [
        figure
        for name, model in {"transformer": _transformer(), "pictures": _pictures()}.items()
        for figure in _of_model(name, *model)
    ]


class Layer(nn.Module):
    """Attention and a perceptron, each added to what it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.asked, self.given = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, length, width]."""
        parts = self.asked(self.before(x)).reshape(-1, LENGTH, 3, 8, WIDTH // 8).permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = x + self.dropout(self.given(found.transpose(1, 2).reshape(-1, LENGTH, WIDTH)))
        deeper: Tensor = self.dropout(self.narrow(functional.gelu(self.wide(self.between(x)))))
        return x + deeper


class Transformer(nn.Module):
    """Tells ten classes of sequences apart."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(Layer() for _ in range(8)))
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Logits [batch, 10]."""
        found: Tensor = self.head(self.layers(x).mean(dim=1))
        return found


def _transformer() -> tuple[nn.Module, tuple[int, ...]]:
    return Transformer(), (LENGTH, WIDTH)


def _pictures() -> tuple[nn.Module, tuple[int, ...]]:
    sizes = [3, 64, 64, 128, 128, 256, 256]
    layers = [
        layer
        for before, after in pairwise(sizes)
        for layer in (
            nn.Conv2d(before, after, 3, stride=1 if before == after else 2 if before > 3 else 1, padding=1),
            nn.BatchNorm2d(after),
            nn.ReLU(),
        )
    ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10)), (3, 32, 32)


def _of_model(name: str, module: nn.Module, shape: tuple[int, ...]) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        torch.manual_seed(0)
        torch.export.save(export_module(module, (torch.zeros(2, *shape),)), Path(directory, "cloud.pt2"))
        generator = np.random.default_rng(0)
        x, y = generator.normal(size=(SAMPLES, *shape)).astype(np.float32), generator.integers(0, 10, SAMPLES)
        np.savez(Path(directory, "data.npz"), x=x, y=y)
        cores = _samples_a_second(Learner(_arguments(directory)), steps=3)
        case = f"{name}, {sum(parameter.numel() for parameter in module.parameters()) / 1e6:.1f} M parameters"
        yield Figure(case, f"all cores ({torch.get_num_threads()})", cores, "samples/s")
        for way, settings in WAYS.items():
            torch.cuda.reset_peak_memory_stats()
            learner = Learner(msgspec.structs.replace(_arguments(directory), **settings), gpu=0)
            speed = _samples_a_second(learner, steps=60)
            against = f"all cores, {cores:.0f} samples/s"
            yield Figure(case, f"GPU, {way}", speed, "samples/s", against, speed / cores)
            yield Figure(case, f"GPU, {way}: memory", torch.cuda.max_memory_allocated() / 2**30, "GiB")
            if way == "float32":
                yield from _optimisers(case, learner)


def _arguments(directory: str) -> BootstrapArguments:
    here = Path(directory)
    return BootstrapArguments(
        cloud=str(here / "cloud.pt2"),
        dataset=str(here / "data.npz"),
        recipe={},
        loss=None,
        output=str(here / "trained"),
        batch_size=BATCH,
    )


def _samples_a_second(learner: Learner, *, steps: int) -> float:
    """After three steps, in which operators are chosen and compiled."""
    batches = [rows for rows in learner.batches(0) if len(rows) == BATCH]
    begun = 0.0
    for step, rows in enumerate(islice(cycle(batches), steps + 3)):
        if step == 3:
            begun = time.perf_counter()
        learner.optimiser.zero_grad()
        learner.backward(rows)
        learner.optimiser.step()
    if learner.computing.on_gpu:
        torch.cuda.synchronize()
    return steps * BATCH / (time.perf_counter() - begun)


def _optimisers(case: str, learner: Learner) -> Iterator[Figure]:
    """A step of the fused one against PyTorch's default one, on the same gradients."""
    learner.backward(learner.batches(0)[0])
    plain = torch.optim.AdamW(list(learner.cloud.parameters.values()), lr=1e-3)
    plain_s, fused_s = _step_s(plain), _step_s(learner.optimiser)
    yield Figure(
        case, "step of the fused AdamW", 1e3 * fused_s, "ms", f"AdamW, {1e3 * plain_s:.3g} ms", plain_s / fused_s
    )


def _step_s(optimiser: torch.optim.Optimizer) -> float:
    for _ in range(3):
        optimiser.step()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(50):
        optimiser.step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begun) / 50
