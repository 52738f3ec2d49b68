"""The files of a simulation that workers read: graphs, samples, and who has which. Arrays are mapped into memory."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.fleet.population import Divided, Drawn, Population
from coterie.simulation.fleet.setting import Setting
from coterie.simulation.fleet.side_by_side import SideBySide
from coterie.simulation.fleet.work import Executor, Work
from coterie.simulation.on_device import Graphs
from coterie_learning.plan import Document, parse_plan, plan_document
from coterie_wire.bundle import ModelSpec
from coterie_wire.structs import from_json


class Stated(msgspec.Struct, frozen=True):
    """What is no array."""

    plan: Document
    spec: ModelSpec
    seed: int
    executor: Executor
    most_steps: int
    each: int = 0
    population_seed: int = 0


def write_files(directory: Path, setting: Setting, *, executor: Executor, most_steps: int) -> None:
    """All that `open_work` needs, in a directory that is empty, or has the same files."""
    spec, population = setting.graphs.spec, setting.population
    stated = Stated(plan_document(setting.plan), spec, setting.seed, executor, most_steps)
    if isinstance(population, Drawn):
        stated = msgspec.structs.replace(stated, each=population.each, population_seed=population.seed)
        arrays: dict[str, NDArray[Any]] = {"cumulative": population.cumulative}
    else:
        assert isinstance(population, Divided)
        arrays = {"ends": population.ends, "order": population.order}
    arrays |= {f"input-{place}": setting.data.inputs[tensor.name] for place, tensor in enumerate(spec.inputs)}
    arrays["labels"] = setting.data.classes
    for name, array in arrays.items():
        np.save(directory / f"{name}.npy", array, allow_pickle=False)
    (directory / "train_step.onnx").write_bytes(setting.graphs.train_step)
    (directory / "predict.onnx").write_bytes(setting.graphs.predict_graph)
    (directory / "setting.json").write_bytes(msgspec.json.encode(stated))


def open_work(directory: Path) -> Work:
    """A worker's own. Raises OSError where files are missing."""
    stated = from_json((directory / "setting.json").read_bytes(), Stated)
    labels = _mapped(directory, "labels")
    inputs = {tensor.name: _mapped(directory, f"input-{place}") for place, tensor in enumerate(stated.spec.inputs)}
    train_step, predict = ((directory / f"{name}.onnx").read_bytes() for name in ("train_step", "predict"))
    setting = Setting(
        plan=parse_plan(stated.plan),
        graphs=Graphs.of(stated.spec, train_step=train_step, predict=predict),
        data=Dataset(inputs, labels),
        population=_population(directory, stated, labels),
        seed=stated.seed,
    )
    if stated.executor == "exact":
        return Work(setting, None)
    return Work(setting, SideBySide.of(setting.plan, stated.spec, train_step, most_steps=stated.most_steps))


def _population(directory: Path, stated: Stated, labels: NDArray[np.int64]) -> Population:
    if (directory / "cumulative.npy").exists():
        return Drawn(_mapped(directory, "cumulative"), labels, stated.each, stated.population_seed)
    return Divided(_mapped(directory, "ends"), _mapped(directory, "order"))


def _mapped(directory: Path, name: str) -> NDArray[Any]:
    # As a plain array: each index into a memory map makes another map.
    return np.asarray(np.load(directory / f"{name}.npy", mmap_mode="r", allow_pickle=False))
