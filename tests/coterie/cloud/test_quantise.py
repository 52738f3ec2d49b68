"""Int8 forms of compiled models: run, measured on samples that did not calibrate, refused with a reason."""

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

import msgspec
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import numpy_helper
from torch import nn

from coterie.child.run import run_child
from coterie.cloud.quantise import fold, quantise_stored, why_not_offered
from coterie.cloud.quantise_job import JOB, LIMITS, FormFigures, QuantiseArguments, QuantiseResult, TooFewSamples
from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.program import export_module
from coterie.evaluation.digits import read_digits
from coterie_wire.contract import version_names
from coterie_wire.tensors import encode_tensors

pytestmark = pytest.mark.xdist_group("compile")
IMAGE = (1, 8, 8)
TRAINED = 1000
"""Digits that models are trained on; the rest is held out."""


class Wide(nn.Module):
    """Products alone: 4,500,000 bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Convolutional(nn.Module):
    """With batch normalisation, and a convolution of one pixel, which the compiler writes as a product."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(channels, channels, 1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(channels, 10),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Tiny(nn.Module):
    """650 parameters: its graph is larger than they are."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def trained(module: nn.Module, *, epochs: int) -> CompiledModel:
    torch.set_num_threads(1)
    x, y = (torch.tensor(array[:TRAINED]) for array in read_digits())
    optimiser = torch.optim.Adam(module.parameters(), 2e-3)
    for _ in range(epochs):
        for start in range(0, TRAINED, 50):
            optimiser.zero_grad()
            nn.functional.cross_entropy(module(x[start : start + 50]), y[start : start + 50]).backward()
            optimiser.step()
    return compile_model(export_module(module.train(), (torch.zeros(2, *IMAGE),)), batch_size=16)


def arguments_of(compiled: CompiledModel, directory: Path, *, samples: int = 700, **more: float) -> QuantiseArguments:
    x, y = read_digits()
    np.savez(directory / "held_out.npz", x=x[TRAINED : TRAINED + samples], y=y[TRAINED : TRAINED + samples])
    (directory / "predict.onnx").write_bytes(compiled.predict)
    (directory / "parameters").write_bytes(encode_tensors(compiled.parameters))
    return QuantiseArguments(
        model=compiled.spec,
        predict=str(directory / "predict.onnx"),
        parameters=str(directory / "parameters"),
        dataset=str(directory / "held_out.npz"),
        output=str(directory / "out" / "int8.onnx"),
        **more,
    )


def quantised(arguments: QuantiseArguments) -> QuantiseResult:
    """Where every run takes as long as every other, whatever this machine does besides."""
    Path(arguments.output).parent.mkdir(exist_ok=True)
    return quantise_stored(arguments, lambda progress: None, clock=count().__next__)


@pytest.fixture(scope="module")
def wide() -> CompiledModel:
    torch.manual_seed(0)
    return trained(Wide(), epochs=3)


def offered(result: QuantiseResult, arguments: QuantiseArguments) -> tuple[float, onnxruntime.InferenceSession]:
    """How much smaller the form is, and a session on its file."""
    (form,) = [one for one in result.tried if one.method == result.offered]
    assert form.measured is not None and result.graph is not None
    content = Path(arguments.output).read_bytes()
    assert (len(content), form.measured.size_bytes) == (result.graph.size_bytes, len(content))
    return result.float32.size_bytes / len(content), onnxruntime.InferenceSession(content)


@pytest.mark.long
@pytest.mark.parametrize(
    ("make", "epochs", "smaller"), [(Wide, 3, 3.3), (lambda: Convolutional(160), 4, 3.0)], ids=["wide", "convolutional"]
)
def test_what_pays_is_offered_as_a_graph_by_itself(
    make: Callable[[], nn.Module], epochs: int, smaller: float, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    arguments = arguments_of(trained(make(), epochs=epochs), tmp_path)
    result = quantised(arguments)
    assert result.refused is None and (result.calibration, result.samples) == (175, 525)
    times, session = offered(result, arguments)
    assert times >= smaller
    assert [value.name for value in session.get_inputs()] == [tensor.name for tensor in arguments.model.inputs]
    x, y = read_digits()
    right = session.run(None, {arguments.model.inputs[0].name: x[TRAINED:]})[0].argmax(axis=1) == y[TRAINED:]
    assert result.float32.accuracy is not None
    assert right.mean() >= result.float32.accuracy - 0.03
    assert all(one.loss_points is not None and one.loss_points <= 1 for one in result.tried if one.refused is None)


def test_weights_have_seven_bits_so_that_no_processor_saturates_sums_of_products(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.Linear(256, 10))
    arguments = arguments_of(trained(module, epochs=1), tmp_path)
    assert quantised(arguments).graph is not None
    stored = onnx.load(arguments.output).graph.initializer
    weights = [numpy_helper.to_array(tensor) for tensor in stored if tensor.data_type == onnx.TensorProto.INT8]
    largest = [int(np.abs(array.astype(np.int16)).max()) for array in weights if array.ndim == 2]
    assert largest == [64, 64]


FLOAT32 = FormFigures(size_bytes=1000, accuracy=0.9, loss=0.5, p50_us=100.0, p90_us=110.0, p99_us=120.0)


@pytest.mark.parametrize(
    ("size_bytes", "p50_us", "points", "code"),
    [
        (300, 100.0, 0.4, None),
        (300, 200.0, 0.4, None),
        (600, 80.0, 0.4, None),
        (600, 95.0, 0.4, "quantise.does_not_pay"),
        (1100, 95.0, -2.0, "quantise.does_not_pay"),
        (300, 50.0, 1.2, "quantise.loses_too_much"),
    ],
)
def test_what_is_neither_half_the_size_nor_quicker_does_not_pay(
    size_bytes: int, p50_us: float, points: float, code: str | None
) -> None:
    form = msgspec.structs.replace(FLOAT32, size_bytes=size_bytes, p50_us=p50_us)
    reason = why_not_offered(FLOAT32, form, points, most=1.0)
    assert (None if reason is None else reason.code) == code


@pytest.mark.long
def test_a_graph_larger_than_its_parameters_does_not_shrink(tmp_path: Path) -> None:
    torch.manual_seed(0)
    result = quantised(arguments_of(trained(Tiny(), epochs=2), tmp_path))
    sizes = [one.measured.size_bytes for one in result.tried if one.measured is not None]
    assert sizes and min(sizes) > 0.5 * result.float32.size_bytes


@pytest.mark.long
def test_what_loses_too_much_is_refused_with_the_points(wide: CompiledModel, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    # One weight of the last layer is so large that the scale of all others is coarser than they are.
    spoiled = {name: array.copy() for name, array in wide.parameters.items()}
    name = next(name for name, array in spoiled.items() if array.shape == (10, 1024))
    spoiled[name][0, rng.integers(1024)] = 300.0
    (tmp_path / "parameters").write_bytes(b"")
    arguments = arguments_of(wide, tmp_path)
    (tmp_path / "parameters").write_bytes(encode_tensors(spoiled))
    result = quantised(arguments)
    assert (result.offered, result.graph) == (None, None)
    assert result.refused is not None and result.refused.code == "quantise.loses_too_much"
    assert not Path(arguments.output).exists()


def test_the_limit_is_the_operators(wide: CompiledModel, tmp_path: Path) -> None:
    result = quantised(arguments_of(wide, tmp_path, max_loss_points=0.0))
    assert all((one.loss_points or 0) <= 0 for one in result.tried if one.refused is None)


def test_a_folded_graph_is_the_version(wide: CompiledModel) -> None:
    x, _ = read_digits()
    names = version_names(wide.spec)
    weights = {names[name]: array for name, array in wide.parameters.items()}
    alone = onnxruntime.InferenceSession(fold(wide.predict, weights, wide.spec).SerializeToString())
    whole = onnxruntime.InferenceSession(wide.predict)
    given = {wide.spec.inputs[0].name: x[:50]}
    np.testing.assert_allclose(alone.run(None, given)[0], whole.run(None, {**given, **weights})[0], atol=1e-5)


def test_few_samples_measure_nothing(wide: CompiledModel, tmp_path: Path) -> None:
    with pytest.raises(TooFewSamples, match="99 samples"):
        quantised(arguments_of(wide, tmp_path, samples=99))


def test_it_is_done_in_a_confined_child(wide: CompiledModel) -> None:
    with tempfile.TemporaryDirectory() as directory:
        arguments = arguments_of(wide, Path(directory))
        Path(arguments.output).parent.mkdir()
        stages = []
        result = run_child(JOB, arguments, limits=LIMITS, on_progress=lambda progress: stages.append(progress.stage))
        assert result.offered is not None
        assert stages == ["static minmax", "static percentile", "dynamic"]
        onnx.checker.check_model(onnx.load(arguments.output))
