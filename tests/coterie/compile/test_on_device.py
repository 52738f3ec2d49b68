"""A model with everything that a recipe can ask for trains in the agent as on the platform."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.program import export_module
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss.mean_squared_error import MeanSquaredError
from coterie.compile.recipe.optimiser.adam import Adam
from coterie.compile.recipe.trains.adapters import Adapters
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_agent.ingest.row import RowCheck
from coterie_agent.store.database import Database
from coterie_agent.store.samples import SampleStore
from coterie_agent.training.predictor import Predictor
from coterie_learning.client.order import batch_ids
from coterie_learning.client.update import make_update
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.local import StepScalars
from coterie_learning.updates import split_update
from tests.coterie_agent.stepping import Stepping

COUNT, STEPS = 10, 7
WEIGHTS = StepScalars(0.01, clip_norm=0.7, proximal_weight=0.1)
PLAN = b"""{"local": {"kind": "sgd"}, "codec": {"kind": "int8"}, "privacy": {"kind": "clip"}, "requirements": {},
           "help": {"kind": "none"}}"""


@pytest.fixture(scope="module")
def model() -> CompiledModel:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(40, 40), nn.BatchNorm1d(40), nn.Dropout(0.3), nn.Linear(40, 2))
    trains = Adapters(weights=("0.*",), rank=2, names=("1.*", "3.*"))
    recipe = Recipe(MeanSquaredError(), Adam(), trains, clipping=True, distillation=False)
    return compile_model(export_module(module, (torch.zeros(2, 40),)), recipe, batch_size=4)


@pytest.fixture
def samples(model: CompiledModel, tmp_path: Path) -> SampleStore:
    rng = np.random.default_rng(0)
    check, stored = RowCheck.of_model(model.spec), SampleStore(Database(tmp_path / "store"))
    rows = [check.row("here", rng.normal(size=40).tolist(), rng.normal(size=2).tolist()) for _ in range(COUNT)]
    stored.add(rows, max_samples=100)
    return stored


def trainer(model: CompiledModel, samples: SampleStore) -> Stepping:
    return Stepping(
        model.train_step,
        model.spec,
        model.parameters,
        model.frozen,
        samples=samples,
        train=samples.ids(samples.snapshot()),
        scalars=WEIGHTS,
        seed=5,
    )


def test_the_agent_trains_as_the_platform_does(model: CompiledModel, samples: SampleStore) -> None:
    training = trainer(model, samples)
    steps = DeviceSteps(model.train_step, model.spec, model.frozen, seed=5)
    state, ids = steps.begin(model.parameters), samples.ids(samples.snapshot())
    for step in range(STEPS):
        training.step()
        rows = samples.load(batch_ids(ids, seed=5, step=step, batch_size=4))
        x, y = (np.stack([np.frombuffer(getattr(row, part), np.float32) for row in rows]) for part in ("x", "target"))
        batch = Batch(Dataset({model.spec.inputs[0].name: x}, y))
        state = steps.step(state, batch, WEIGHTS, model.parameters).training
    for name, tensor in training.parameters().items():
        np.testing.assert_allclose(tensor, state.parameters[name], rtol=1e-5, atol=1e-7)
    predictor = Predictor(model.predict, model.spec, training.parameters(), model.frozen, threads=1)
    measured = predictor.measure(samples, loss_of=ids, accuracy_of=ids, stop=lambda: False)
    assert measured is not None
    assert measured.accuracy is None


def test_dropout_and_all_else_are_replayed_after_a_checkpoint(model: CompiledModel, samples: SampleStore) -> None:
    straight = trainer(model, samples)
    for _ in range(STEPS):
        straight.step()
    first, second = trainer(model, samples), trainer(model, samples)
    for _ in range(3):
        first.step()
    second.restore(first.save(), steps_done=3)
    for _ in range(STEPS - 3):
        second.step()
    assert second.save() == straight.save()


def test_an_update_holds_what_was_learned_and_gathered_alone(model: CompiledModel, samples: SampleStore) -> None:
    training = trainer(model, samples)
    training.step()
    plan, trained = parse_device_plan(PLAN), training.parameters()
    update = make_update(model.parameters, trained, plan=plan, states={}, steps=1, seed=1, secret=1, model=model.spec)
    parts = split_update(update.payload, model.spec)
    assert parts.statistics.keys() == {"1.running_mean", "1.running_var"}
    np.testing.assert_array_equal(parts.statistics["1.running_var"], trained["1.running_var"])
    learned = plan.codec.decode(parts.encoded, expected=model.spec.parameters)
    assert "0.weight" not in learned
    assert sum(tensor.size for tensor in learned.values()) == 2 * 40 + 40 * 2 + 2 * 40 + 2 * 40 + 2
