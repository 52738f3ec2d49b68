"""A fleet that is simulated in a second or two."""

from functools import cache
from typing import Final, Literal

import numpy as np
import torch
from torch import nn

from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.program import export_module
from coterie.evaluation.datasets import Dataset
from coterie.simulation.bodies import Body, Named, compile_body
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.samples import FleetSamples
from coterie.simulation.fleet.splits.dirichlet import Dirichlet
from coterie.simulation.learner import Task
from coterie.simulation.on_device import Graphs
from coterie_learning.plan import parse_plan
from coterie_wire.bundle import TensorSpec

IMAGE, CLASSES, SAMPLES = (1, 8, 8), 4, 400
PLAN: dict[str, object] = {
    "local": {"kind": "sgd", "epochs": 2, "learning_rate": 0.1},
    "codec": {"kind": "float32"},
    "pace": {"kind": "sync", "target_updates": 12, "min_updates": 4, "over_selection": 1.5},
    "requirements": {"charging": False, "unmetered": False},
}


NORMALISED: Final = "normalised"
"""A network that gathers running statistics."""
Network = Body | Literal["normalised"]


@cache
def compiled(body: Network = "mlp") -> CompiledModel:
    if body == "normalised":
        with torch.random.fork_rng():
            torch.manual_seed(0)
            layers = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, CLASSES))
        return compile_model(export_module(Named(layers), (torch.zeros(2, *IMAGE),)), batch_size=5)
    task = Task((TensorSpec("x", "float32", IMAGE),), CLASSES)
    return compile_body(task, body=body, hidden=8, batch_size=5, seed=0)


def graphs(body: Network = "mlp") -> Graphs:
    model = compiled(body)
    return Graphs.of(model.spec, train_step=model.train_step, predict=model.predict)


def samples(count: int = SAMPLES) -> FleetSamples:
    """Classes are told apart by where an image is bright."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, count)
    x = rng.normal(0, 0.3, (count, *IMAGE)).astype(np.float32)
    x[np.arange(count), 0, 2 * labels] += 1
    return FleetSamples(Dataset({"x": x}, labels), {"user": np.arange(count) % 10})


def run(
    body: Network = "mlp",
    *,
    executor: Literal["exact", "batched", "auto"] = "auto",
    workers: int = 1,
    rounds: int = 3,
    **slots: object,
) -> FleetRun:
    return FleetRun(
        plan=parse_plan({**PLAN, **slots}),
        model=graphs(body),
        parameters=compiled(body).parameters,
        samples=samples(),
        split=Dirichlet(0.5),
        devices=40,
        each=23,
        rounds=rounds,
        executor=executor,
        workers=workers,
    )
