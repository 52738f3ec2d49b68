"""Every model of the zoo follows PyTorch."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from coterie.learning.compile.compiled import compile_model
from coterie.learning.compile.emitter import OPSET
from coterie.learning.compile.program import export_module
from coterie.learning.compile.upload import load_upload
from coterie.learning.device_steps import DeviceSteps
from coterie.learning.evaluate import open_session
from coterie_wire.local import StepWeights
from tests.zoo.entry import Entry
from tests.zoo.models import SMALL, ZOO
from tests.zoo.reference import InPyTorch, batch_of, compiled

BATCH = 8


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def follow(entry: Entry, steps: int) -> None:
    """Take the same steps on both sides, and predict."""
    weights = StepWeights(entry.learning_rate, momentum=0.5, proximal_weight=0.1, distillation_weight=0.3)
    module = entry.built()
    model = compiled(module, *entry.samples(2, 0), batch_size=BATCH)
    assert_standard(model.train_step)
    assert_standard(model.predict)
    device, reference = DeviceSteps(model.train_step, model.spec), InPyTorch(module)
    training = device.begin(model.parameters)
    for number in range(steps):
        # A short batch now and then: what is padded must count for nothing.
        batch = batch_of(entry, model, BATCH - number % 3, number)
        training, loss, _ = device.step(training, batch, weights, model.parameters)
        assert loss == pytest.approx(reference.step(batch, weights), rel=1e-4)
    assert reference.distance(training.parameters) < 1e-4
    session = open_session(model.predict)
    for count in (1, 5):
        samples = entry.samples(count, 99)
        feed = {f"param.{name}": tensor for name, tensor in training.parameters.items()}
        for spec, tensor in zip(model.spec.inputs, samples, strict=True):
            feed[spec.name] = tensor.numpy()
        (logits,) = session.run(["logits"], feed)
        with torch.no_grad():
            np.testing.assert_allclose(logits, module.eval()(*samples).numpy(), rtol=1e-3, atol=1e-4)


def assert_standard(graph: bytes) -> None:
    """Nothing but ONNX's own operators, of one opset."""
    model = onnx.load_from_string(graph)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", OPSET)]
    assert all(onnx.defs.has(node.op_type, max_inclusive_version=OPSET, domain="") for node in model.graph.node)
    assert all(node.domain == "" for node in model.graph.node)
    assert model.ir_version <= 8


@pytest.mark.parametrize("name", SMALL)
def test_small_model_follows_pytorch(name: str) -> None:
    follow(SMALL[name], steps=12)


@pytest.mark.zoo
@pytest.mark.parametrize("name", ZOO)
def test_model_follows_pytorch_for_a_hundred_steps(name: str) -> None:
    follow(ZOO[name], steps=100)


def test_weights_that_are_tied_are_one_parameter(tmp_path: Path) -> None:
    entry = SMALL["lstm"]
    torch.export.save(export_module(entry.built(), entry.samples(2, 0)), tmp_path / "m.pt2")
    names = [spec.name for spec in compile_model(load_upload(tmp_path / "m.pt2"), batch_size=BATCH).spec.parameters]
    assert "embedding.weight" in names
    assert "head.weight" not in names


def test_every_model_is_in_both_sizes() -> None:
    assert list(SMALL) == list(ZOO)
