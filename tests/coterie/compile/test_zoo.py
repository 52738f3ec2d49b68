"""Every model of the zoo follows PyTorch."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
import torch
from torch.export import ExportedProgram

from coterie.compile.compiled import CompiledModel, compile_model, compile_prediction
from coterie.compile.emitter import OPSET, every_node
from coterie.compile.program import export_module
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.upload import load_upload
from coterie.evaluation.scoring import open_session
from coterie.evaluation.train_step import DeviceSteps
from coterie_wire.contract import version_names
from tests.zoo.entry import Entry
from tests.zoo.models import OTHER_LOSSES, SMALL, ZOO
from tests.zoo.reference import OPTIMISERS, InPyTorch, batch_of, difference, uploaded

BATCH = 8


class Prepared(NamedTuple):
    """A program as it was uploaded, and the model that is compiled of it."""

    program: ExportedProgram
    model: CompiledModel


def prepared(entry: Entry, optimiser: str = "momentum") -> Prepared:
    """An entry's model, uploaded and compiled as `follow` needs it."""
    recipe = Recipe(loss=entry.loss, optimiser=OPTIMISERS[optimiser].kind, clipping=True)
    program = uploaded(export_module(entry.built(), entry.samples(2, 0)))
    return Prepared(program, compile_model(program, recipe, batch_size=BATCH))


def follow(entry: Entry, steps: int, optimiser: str = "momentum") -> None:
    """Compile an entry's model, take the same steps on both sides, and predict."""
    follow_compiled(entry, prepared(entry, optimiser).model, steps, optimiser)


def follow_compiled(entry: Entry, model: CompiledModel, steps: int, optimiser: str = "momentum") -> None:
    """Take the same steps on both sides, and predict.

    Every step begins on both sides with the same parameters: a ReLU or a pool whose input is within rounding of its
    kink may go either way, which way depends on the processor, and the steps after it would magnify the difference.
    """
    paired = OPTIMISERS[optimiser]
    weights = paired.weights(entry)
    module = entry.built()
    assert_standard(model.train_step)
    assert_standard(model.predict)
    device, reference = DeviceSteps(model.train_step, model.spec), InPyTorch(module, paired, weights, entry.loss)
    training = device.begin(model.parameters)
    off = []
    for number in range(steps):
        # A short batch now and then: what is padded must count for nothing.
        batch = batch_of(entry, model, BATCH - number % 3, number)
        before = training.parameters
        training, loss, _ = device.step(training, batch, weights, model.parameters)
        assert loss == pytest.approx(reference.step(batch, clip=True), rel=1e-5)
        assert reference.distance(training.parameters) < 1e-5
        theirs = reference.version(training.parameters)
        off.append(difference(training.parameters, theirs) / difference(before, theirs))
        reference.adopt(training.parameters)
    # Relative to the length of the step; a kink may move one step, what is computed wrongly moves most of them.
    assert np.median(off) < 1e-3
    assert max(off) < 0.05
    session = open_session(model.predict)
    roles = version_names(model.spec)
    for count in (1, 5):
        samples = entry.samples(count, 99)
        feed = {role: training.parameters[name] for name, role in roles.items()}
        for spec, tensor in zip(model.spec.inputs, samples, strict=True):
            feed[spec.name] = tensor.numpy()
        (output,) = session.run(None, feed)
        with torch.no_grad():
            np.testing.assert_allclose(output, module.eval()(*samples).numpy(), rtol=1e-4, atol=1e-5)


def assert_standard(graph: bytes) -> None:
    """Nothing but ONNX's own operators, of one opset."""
    model = onnx.load_from_string(graph)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", OPSET)]
    nodes = list(every_node(model.graph.node))
    assert all(onnx.defs.has(node.op_type, max_inclusive_version=OPSET, domain="") for node in nodes)
    assert all(node.domain == "" for node in nodes)
    assert model.ir_version <= 8


IN_EVERY_RUN = ("lenet", "resnet", "lstm", "causal_transformer")
"""Of the narrow models, those that between them have most operators; each takes a second or two to compile."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_EVERY_RUN else pytest.mark.zoo) for name in SMALL]
)
def test_small_model_follows_pytorch(name: str) -> None:
    follow(SMALL[name], steps=12)


# Every model with momentum, and those that are usually trained otherwise with what they are.
PAIRS = [
    *((name, "momentum") for name in ZOO),
    ("mlp", "adamw"),
    ("lenet", "nesterov"),
    ("resnet", "nesterov"),
    ("cnn_windows", "adam"),
    ("lstm", "adam"),
    ("encoder", "adamw"),
]


@pytest.mark.zoo
@pytest.mark.parametrize(("name", "optimiser"), PAIRS)
def test_model_follows_pytorch_for_a_hundred_steps(name: str, optimiser: str) -> None:
    follow(ZOO[name], 100, optimiser)


@pytest.mark.zoo
@pytest.mark.parametrize(
    ("name", "optimiser"),
    [("autoencoder", "adam"), ("gru", "momentum"), ("causal_transformer", "adamw"), ("recommender", "adam")],
)
def test_model_with_another_loss_follows_pytorch_for_a_hundred_steps(name: str, optimiser: str) -> None:
    follow(OTHER_LOSSES[name], 100, optimiser)


@pytest.mark.long
def test_weights_that_are_tied_are_one_parameter(tmp_path: Path) -> None:
    entry = SMALL["lstm"]
    torch.export.save(export_module(entry.built(), entry.samples(2, 0)), tmp_path / "m.pt2")
    names = [spec.name for spec in compile_prediction(load_upload(tmp_path / "m.pt2"), CrossEntropy()).parameters]
    assert "embedding.weight" in names
    assert "head.weight" not in names


def test_every_model_is_in_both_sizes() -> None:
    assert list(SMALL) == list(ZOO)
