"""Models of several inputs, of every dtype that a graph takes, on the platform and on a device."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.cloud.program import CloudProgram
from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.errors import UnsupportedOperator, UnsupportedParameter, UnsupportedSignature
from coterie.compile.program import export_module
from coterie.evaluation.datasets import MalformedDataset, read_model_dataset
from coterie.evaluation.scoring import evaluate, open_session, predict_logits
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_agent.errors import AgentError
from coterie_agent.ingest.row import RowCheck
from coterie_agent.store.samples import StoredRow
from coterie_agent.training.batches import make_inputs
from coterie_learning.local import StepScalars

BATCH, CLASSES = 4, 3


class Kiosk(nn.Module):
    """A picture of bytes, whether it is lit, where it hangs, who looks, and what was measured."""

    def __init__(self) -> None:
        super().__init__()
        self.place = nn.Embedding(5, 4)
        self.user = nn.Embedding(7, 4)
        self.picture = nn.Conv2d(1, 2, 3)
        self.head = nn.Linear(2 * 4 + 4 + 4 + 2, CLASSES)

    def forward(self, picture: Tensor, lit: Tensor, place: Tensor, user: Tensor, measured: Tensor) -> Tensor:
        seen = self.picture(picture.float() / 255).relu().flatten(1)
        seen = torch.where(lit.unsqueeze(1), seen, seen * 0.5)
        dark = (picture < 8).flatten(1).any(dim=1) & ~lit
        near = torch.where(dark.unsqueeze(1), measured, -measured)
        logits: Tensor = self.head(torch.cat([seen, self.place(place), self.user(user), near], dim=1))
        return logits


@pytest.fixture(scope="module")
def module() -> Kiosk:
    torch.manual_seed(0)
    return Kiosk()


def samples(count: int, seed: int) -> Mapping[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "picture": rng.integers(0, 256, (count, 1, 4, 4), dtype=np.uint8),
        "lit": rng.random(count) < 0.5,
        "place": rng.integers(0, 5, count, dtype=np.int32),
        "user": rng.integers(0, 7, count),
        "measured": rng.normal(size=(count, 2)).astype(np.float32),
    }


@pytest.fixture(scope="module")
def model(module: Kiosk) -> CompiledModel:
    example = tuple(torch.from_numpy(array) for array in samples(2, 0).values())
    return compile_model(export_module(module, example), batch_size=BATCH)


def test_each_input_keeps_its_dtype(model: CompiledModel) -> None:
    assert {spec.name: (spec.dtype, spec.shape) for spec in model.spec.inputs} == {
        "picture": ("uint8", (1, 4, 4)),
        "lit": ("bool", ()),
        "place": ("int32", ()),
        "user": ("int64", ()),
        "measured": ("float32", (2,)),
    }


def test_a_data_set_of_several_inputs_trains_as_in_pytorch(module: Kiosk, model: CompiledModel, tmp_path: Path) -> None:
    y = np.arange(BATCH - 1) % CLASSES
    np.savez(tmp_path / "data.npz", **samples(BATCH - 1, 1), y=y)
    dataset = read_model_dataset(tmp_path / "data.npz", model.spec)
    steps = DeviceSteps(model.train_step, model.spec)
    after = steps.step(steps.begin(model.parameters), Batch(dataset), StepScalars(1.0)).training.parameters
    output = module(*(torch.from_numpy(array) for array in dataset.inputs.values()))
    module.zero_grad()
    loss = nn.functional.cross_entropy(output, torch.from_numpy(y))
    loss.backward()
    for name, tensor in module.named_parameters():
        np.testing.assert_allclose(model.parameters[name] - after[name], tensor.grad.numpy(), rtol=1e-4, atol=1e-6)
    assert evaluate(model.predict, model.parameters, dataset, model.spec).loss == pytest.approx(loss.item(), rel=1e-5)
    for broken in ({"lit": y}, {"picture": np.full((BATCH - 1, 1, 4, 4), 256)}, {"place": y + 0.5}):
        np.savez(tmp_path / "broken.npz", **{**samples(BATCH - 1, 1), **broken}, y=y)
        with pytest.raises(MalformedDataset):
            read_model_dataset(tmp_path / "broken.npz", model.spec)


def test_a_device_reads_them_by_name(model: CompiledModel, tmp_path: Path) -> None:
    given, check = samples(2, 2), RowCheck.of_model(model.spec)
    rows = [
        check.row("here", {name: array[place].reshape(-1).tolist() for name, array in given.items()}, 1)
        for place in range(2)
    ]
    inputs = make_inputs([StoredRow(number, *row) for number, row in enumerate(rows)], model.spec, size=2)
    for name, array in given.items():
        assert inputs[name].dtype == array.dtype
        np.testing.assert_array_equal(inputs[name], array)
    np.savez(tmp_path / "data.npz", **given, y=np.zeros(2, np.int64))
    dataset = read_model_dataset(tmp_path / "data.npz", model.spec)
    assert predict_logits(open_session(model.predict), model.parameters, dataset).shape == (2, CLASSES)
    for name, wrong in (("picture", 256), ("picture", -1), ("lit", 2), ("place", 0.5)):
        values = {key: array[0].reshape(-1).tolist() for key, array in given.items()}
        values[name][0] = wrong
        with pytest.raises(AgentError, match=f"input {name} takes whole numbers"):
            check.row("here", values, 1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int16, torch.complex64])
def test_other_dtypes_are_refused_with_advice(dtype: torch.dtype) -> None:
    class Cast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(2, 3)

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.head(x.real.float() if x.is_complex() else x.float())
            return found

    with pytest.raises(UnsupportedSignature, match=r"export it in float32|take int32|inputs of their own"):
        compile_model(export_module(Cast(), (torch.zeros(2, 2, dtype=dtype),)), batch_size=2)


def test_arithmetic_on_bytes_is_refused_with_advice() -> None:
    class Wrapping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(2, 3)

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.head((x + 1).float())
            return found

    with pytest.raises(UnsupportedOperator, match=r"x\.float\(\)"):
        compile_model(export_module(Wrapping(), (torch.zeros(2, 2, dtype=torch.uint8),)), batch_size=2)


def test_a_cloud_model_keeps_buffers_of_every_dtype_but_halves() -> None:
    class Buffered(nn.Module):
        def __init__(self, dtype: torch.dtype) -> None:
            super().__init__()
            self.head = nn.Linear(2, 3)
            self.register_buffer("shown", torch.ones(3, dtype=dtype))

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.head(x) * self.shown
            return found

    cloud = CloudProgram(export_module(Buffered(torch.bool), (torch.zeros(2, 2),)))
    saved = cloud.save()
    cloud.state["shown"].zero_()
    cloud.load(saved)
    assert bool(cloud.state["shown"].all())
    with pytest.raises(UnsupportedParameter, match="float16"):
        CloudProgram(export_module(Buffered(torch.float16), (torch.zeros(2, 2),)))
