"""Writes compiled models with inputs and what the pinned onnxruntime makes of them, for other runtimes to repeat."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from torch import nn

from coterie.compile.compiled import CompiledModel
from coterie.compile.recipe import Recipe
from tests.zoo.entry import Entry, Numbers
from tests.zoo.models import CLASSES, OF_ANY_LENGTH, ZOO
from tests.zoo.reference import compiled

BATCH = 4
LENGTH = 5
"""Of samples that differ in it."""
DTYPES = {"tensor(float)": "float32", "tensor(int64)": "int64"}
SEEDS, TRIALS = 20, 4
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
Arrays = Mapping[str, NDArray[np.generic]]


def write_cases(entries: Mapping[str, Entry], folder: Path) -> None:
    """A folder for each model: its two graphs, ``case.json`` that lists tensors, and their bytes in ``case.bin``."""
    for name, entry in entries.items():
        recipe = Recipe(loss=entry.loss)
        model = compiled(
            entry.built(), *entry.samples(2, 0, LENGTH), batch_size=BATCH, recipe=recipe, length=entry.length
        )
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        content = bytearray()
        graphs = {}
        for graph, onnx in (("train_step", model.train_step), ("predict", model.predict)):
            (target / f"{graph}.onnx").write_bytes(onnx)
            session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
            feed = _smooth(session, entry, model)
            found = _run(session, feed)
            graphs[graph] = {"inputs": listed(feed, content), "outputs": listed(found, content)}
        (target / "case.json").write_text(json.dumps(graphs, indent=1))
        (target / "case.bin").write_bytes(content)


def _run(session: onnxruntime.InferenceSession, feed: Arrays) -> Arrays:
    outputs = [output.name for output in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, feed), strict=True))


def _smooth(session: onnxruntime.InferenceSession, entry: Entry, model: CompiledModel) -> Arrays:
    """Inputs that may be off by a rounding error without changing what comes out by more.

    Where some rectifier is at its kink, two runtimes that round differently are both right.
    """
    generator = np.random.default_rng(0)
    for seed in range(SEEDS):
        feed = _made_up(session, entry, model, seed)
        found = _run(session, feed)
        for _ in range(TRIALS):
            nearby = {name: _rounded_otherwise(tensor, generator) for name, tensor in feed.items()}
            if any(not np.allclose(found[name], tensor, **CLOSE) for name, tensor in _run(session, nearby).items()):
                break
        else:
            return feed
    raise AssertionError(f"{SEEDS} batches, and each at a kink of the model")


def _rounded_otherwise(tensor: NDArray[np.generic], generator: np.random.Generator) -> NDArray[np.generic]:
    if tensor.dtype != np.float32:
        return tensor
    return np.asarray(tensor * (1 + 1e-6 * generator.standard_normal(tensor.shape)), np.float32)


def _made_up(session: onnxruntime.InferenceSession, entry: Entry, model: CompiledModel, seed: int) -> Arrays:
    """For each input of a graph: samples and parameters, labels of which every model has two, or small numbers."""
    generator = np.random.default_rng(seed)
    samples = dict(zip((spec.name for spec in model.spec.inputs), entry.samples(BATCH, seed, LENGTH), strict=True))
    feed: dict[str, NDArray[np.generic]] = {}
    for wanted in session.get_inputs():
        role, _, name = wanted.name.partition(".")
        shape = [LENGTH if size == "length" else size for size in wanted.shape]
        if wanted.name in samples:
            feed[wanted.name] = samples[wanted.name].numpy()
        elif role in ("param", "anchor", "state") and name in model.parameters:
            feed[wanted.name] = model.parameters[name]
        elif DTYPES[wanted.type] == "int64":
            feed[wanted.name] = np.asarray(generator.integers(0, 2, shape))
        else:
            feed[wanted.name] = np.asarray(0.1 * generator.random(shape), np.float32)
    return feed


def listed(tensors: Arrays, content: bytearray) -> Sequence[Mapping[str, object]]:
    """Append the tensors' bytes to `content`, and say which is where."""
    entries = []
    for name, tensor in tensors.items():
        entries.append({"name": name, "dtype": str(tensor.dtype), "shape": tensor.shape, "offset": len(content)})
        content += np.ascontiguousarray(tensor).tobytes()
    return entries


def _with_dropout() -> nn.Module:
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.4), nn.Linear(64, CLASSES))


if __name__ == "__main__":
    # Its masks come of a seed by arithmetic, which must be the same everywhere.
    dropout = Entry(_with_dropout, (Numbers((32,)),), CLASSES)
    of_any_length = {f"{name}_of_any_length": entry for name, entry in OF_ANY_LENGTH.items()}
    write_cases({**ZOO, "dropout": dropout, **of_any_length}, Path(sys.argv[1]))
