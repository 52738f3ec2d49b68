"""Int8 forms of a model of the zoo, which has learned to tell kinds of drawn samples apart.

An untrained model's answers lie so close together that any rounding exchanges them; a trained one's do not.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from coterie.cloud.quantise import quantise_stored
from coterie.cloud.quantise_job import QuantiseArguments, QuantiseResult
from coterie_wire.tensors import encode_tensors
from tests.zoo.entry import Entry
from tests.zoo.reference import compiled

SAMPLES = 240
KINDS = 5
NOISE = 0.5
"""Of a sample around the middle of its kind; of indices the share that is drawn anew."""
BATCH, STEPS, LEARNING_RATE = 32, 60, 2e-3


def quantised(entry: Entry, directory: Path, *, clock: Callable[[], float]) -> tuple[QuantiseArguments, QuantiseResult]:
    """What comes of a model, by `clock` in seconds; files are written to `directory`."""
    found = compiled(_trained(entry).train(), *entry.samples(2, 0), batch_size=16)
    drawn, kinds = _samples(entry, SAMPLES, seed=1)
    arrays = {spec.name: one.numpy() for spec, one in zip(found.spec.inputs, drawn, strict=True)}
    np.savez(directory / "samples.npz", y=kinds.numpy(), **arrays)
    (directory / "predict.onnx").write_bytes(found.predict)
    (directory / "parameters").write_bytes(encode_tensors(found.parameters))
    arguments = QuantiseArguments(
        model=found.spec,
        predict=str(directory / "predict.onnx"),
        parameters=str(directory / "parameters"),
        dataset=str(directory / "samples.npz"),
        output=str(directory / "int8.onnx"),
    )
    return arguments, quantise_stored(arguments, lambda _progress: None, clock=clock)


def _trained(entry: Entry) -> nn.Module:
    module = entry.built().train()
    optimiser = torch.optim.Adam(module.parameters(), LEARNING_RATE)
    for step in range(STEPS):
        drawn, kinds = _samples(entry, BATCH, seed=2 + step)
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(*drawn), kinds).backward()
        optimiser.step()
    return module


def _samples(entry: Entry, count: int, *, seed: int) -> tuple[tuple[Tensor, ...], Tensor]:
    """Samples around the middles of their kinds, and their kinds, [count]."""
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(0, KINDS, (count,), generator=generator)
    middles, others = entry.samples(KINDS, 0), entry.samples(count, seed)
    pairs = zip(middles, others, strict=True)
    return tuple(_around(middle[kinds], other, generator) for middle, other in pairs), kinds


def _around(middle: Tensor, other: Tensor, generator: torch.Generator) -> Tensor:
    if other.is_floating_point():
        return middle + NOISE * other
    return torch.where(torch.rand(other.shape, generator=generator) < NOISE, other, middle)
