"""A model that was trained before it was uploaded keeps its weights, to the bit, and its accuracy."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from coterie.cloud.preflight import preflight_stored
from coterie.cloud.preflight_job import PreflightArguments
from coterie.cloud.program import CloudProgram
from coterie.compile.errors import UnsupportedParameter
from coterie.compile.program import export_module
from coterie.compile.upload import load_upload
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import evaluate
from coterie_wire.tensors import decode_tensors

FILES = ("train_step", "predict", "parameters", "frozen", "teacher", "cloud_parameters")


def samples() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(400, 4, generator=generator)
    return x, torch.bucketize(x[:, 0] + x[:, 1], torch.tensor([-0.7, 0.7]))


def trained(width: int) -> nn.Module:
    torch.manual_seed(width)
    module = nn.Sequential(nn.Linear(4, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 3))
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    x, y = samples()
    for _ in range(60):
        optimiser.zero_grad()
        cross_entropy(module(x), y).backward()
        optimiser.step()
    return module


def accuracy(module: nn.Module) -> float:
    x, y = samples()
    with torch.no_grad():
        return float((module.eval()(x).argmax(1) == y).double().mean())


@pytest.fixture
def models() -> dict[str, nn.Module]:
    return {"device": trained(16), "cloud": trained(48)}


def arguments(directory: Path, models: dict[str, nn.Module]) -> PreflightArguments:
    for name, module in models.items():
        torch.export.save(export_module(module, (torch.zeros(2, 4),)), directory / f"{name}.pt2")
    return PreflightArguments(
        **{name: str(directory / f"{name}.pt2") for name in models},
        **{name: str(directory / name) for name in FILES},
        batch_size=16,
        labels=("low", "middle", "high"),
    )


def test_trained_models_are_the_same_after_the_upload(tmp_path: Path, models: dict[str, nn.Module]) -> None:
    right = {name: accuracy(module) for name, module in models.items()}
    assert min(right.values()) > 0.9
    given = arguments(tmp_path, models)
    result = preflight_stored(given, lambda _: None)
    assert result.cloud_parameters is not None and given.cloud_parameters is not None and given.cloud is not None

    x, y = (tensor.numpy() for tensor in samples())
    dataset = Dataset({result.model.inputs[0].name: x}, y)
    stored = decode_tensors(Path(given.parameters).read_bytes(), expected=result.model.version)
    parameters = {name: tensor.astype(np.float32) for name, tensor in stored.items()}
    found = evaluate(Path(given.predict).read_bytes(), parameters, dataset, result.model)
    assert found.accuracy == right["device"]
    for name, tensor in parameters.items():
        assert tensor.tobytes() == models["device"].state_dict()[name].numpy().tobytes(), name

    cloud = CloudProgram(load_upload(Path(given.cloud)))
    uploaded = decode_tensors(Path(given.cloud_parameters).read_bytes(), expected=cloud.tensor_specs())
    for name, tensor in models["cloud"].state_dict().items():
        assert np.array(uploaded[name]).tobytes() == tensor.numpy().tobytes(), name
    cloud.load(Path(given.cloud_parameters).read_bytes())
    assert cloud.score(dataset).accuracy == right["cloud"]


@pytest.mark.long
@pytest.mark.parametrize("role", ["device", "cloud"])
def test_weights_that_are_not_finite_are_refused(tmp_path: Path, models: dict[str, nn.Module], role: str) -> None:
    with torch.no_grad():
        models[role].get_parameter("3.bias")[1] = float("inf")
    with pytest.raises(UnsupportedParameter, match=r"3\.bias"):
        preflight_stored(arguments(tmp_path, models), lambda _: None)


@pytest.mark.long
def test_a_running_statistic_that_is_no_number_is_refused(tmp_path: Path, models: dict[str, nn.Module]) -> None:
    models["cloud"].get_buffer("1.running_mean")[0] = float("nan")
    with pytest.raises(UnsupportedParameter, match="running_mean"):
        preflight_stored(arguments(tmp_path, models), lambda _: None)


@pytest.mark.long
def test_a_pair_that_is_only_tried_writes_no_weights_of_the_cloud(tmp_path: Path, models: dict[str, nn.Module]) -> None:
    given = msgspec.structs.replace(arguments(tmp_path, models), cloud_parameters=None)
    assert preflight_stored(given, lambda _: None).cloud_parameters is None
