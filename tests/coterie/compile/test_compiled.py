import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

from coterie.compile.compiled import CompiledModel, compile_model, compile_prediction
from coterie.compile.errors import (
    BatchOutOfRange,
    FixedBatch,
    LossMismatch,
    MutatedState,
    NothingTrains,
    RunningStatistics,
    UnsupportedOperator,
    UnsupportedParameter,
    UnsupportedSignature,
)
from coterie.compile.program import export_module
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.core.errors import CoterieError
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_learning.local import StepScalars
from coterie_wire.bundle import Head
from tests.zoo.reference import OPTIMISERS, InPyTorch

BATCH = 8
CLASSES = 10
WEIGHTS = StepScalars(learning_rate=0.05, momentum=0.5, proximal_weight=0.1, distillation_weight=0.3)


def compiled(module: nn.Module, example: Tensor) -> CompiledModel:
    return compile_model(export_module(module, (example,)), batch_size=BATCH)


@pytest.fixture(scope="module")
def small() -> CompiledModel:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, CLASSES))
    return compiled(module, torch.zeros(2, 6))


def some_batch(count: int = BATCH) -> Batch:
    generator = np.random.default_rng(1)
    return Batch(Dataset({"input": generator.random((count, 6), np.float32)}, np.arange(count) % CLASSES))


def test_graphs_keep_the_contract(small: CompiledModel) -> None:
    graph = onnx.load_from_string(small.train_step)
    assert [(entry.domain, entry.version) for entry in graph.opset_import] == [("", 18)]
    assert all(node.domain == "" for node in graph.graph.node)
    names = [spec.name for spec in small.spec.parameters]
    assert {value.name for value in graph.graph.input} == {
        *("input", "target", "sample_weight", "teacher", "seed"),
        *("learning_rate", "momentum", "proximal_weight", "distillation_weight"),
        *(f"{role}.{name}" for role in ("param", "anchor", "velocity") for name in names),
    }
    assert {value.name for value in graph.graph.output} == {
        *("loss", "correct"),
        *(f"next.{role}.{name}" for role in ("param", "velocity") for name in names),
    }
    assert small.spec.inputs[0].shape == (6,)
    assert small.spec.classes == CLASSES


def test_compiling_twice_gives_the_same_bytes() -> None:
    module, example = nn.Linear(4, 3), torch.zeros(2, 4)
    assert compiled(module, example).train_step == compiled(module, example).train_step


@pytest.mark.long
@pytest.mark.parametrize("steps", [2, 3])
def test_prediction_takes_batches_of_every_size(steps: int) -> None:
    """Also where another axis has the very size of the batch that the model was exported with."""
    module = Mixing(steps).eval()
    prediction = compile_prediction(export_module(module, (torch.zeros(2, steps, 3),)), CrossEntropy())
    predict = open_session(prediction.predict)
    parameters = {f"param.{name}": tensor.detach().numpy() for name, tensor in module.named_parameters()}
    for batch in (1, 2, 3, 7):
        x = torch.rand(batch, steps, 3)
        (found,) = predict.run(None, {"x": x.numpy(), **parameters})
        np.testing.assert_allclose(found, module(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_dropout_is_in_training_alone(small: CompiledModel) -> None:
    assert small.spec.seeded
    assert "seed" not in {value.name for value in onnx.load_from_string(small.predict).graph.input}


def test_batch_without_weight_changes_nothing(small: CompiledModel) -> None:
    steps = DeviceSteps(small.train_step, small.spec)
    session = open_session(small.train_step)
    feed = {
        value.name: np.zeros(value.shape, np.int64 if "int64" in value.type else np.float32)
        for value in session.get_inputs()
    }
    feed.update({f"param.{name}": tensor for name, tensor in small.parameters.items()})
    feed["learning_rate"] = np.array(1, np.float32)
    results = dict(zip([output.name for output in session.get_outputs()], session.run(None, feed), strict=True))
    assert results["loss"] == 0
    for name, tensor in small.parameters.items():
        np.testing.assert_array_equal(results[f"next.param.{name}"], tensor)
    assert steps.step(steps.begin(small.parameters), some_batch(3), StepScalars(0.0)).correct <= 3


def test_proximal_term_pulls_to_the_anchor(small: CompiledModel) -> None:
    steps = DeviceSteps(small.train_step, small.spec)
    origin = {name: np.zeros_like(tensor) for name, tensor in small.parameters.items()}
    weights = StepScalars(learning_rate=0.001, proximal_weight=1000.0)
    after = steps.step(steps.begin(small.parameters), some_batch(), weights, origin).training.parameters
    assert all(np.abs(tensor).max() < 0.01 for tensor in after.values())


def test_head_is_the_layer_that_gives_the_logits(small: CompiledModel) -> None:
    assert small.spec.head == Head("3.weight", "3.bias")
    unbiased = compiled(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3, bias=False)), torch.zeros(2, 4))
    assert unbiased.spec.head == Head("1.weight")


def test_head_that_cannot_be_told_is_none() -> None:
    behind_an_activation = nn.Sequential(nn.Linear(4, 3), nn.Softplus())
    shared = nn.Linear(3, 3)
    for module, width in ((behind_an_activation, 4), (nn.Sequential(shared, nn.ReLU(), shared), 3)):
        assert compiled(module, torch.zeros(2, width)).spec.head is None


def test_parameter_that_does_not_train_is_frozen() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3))
    module[0].requires_grad_(False)
    model = compiled(module, torch.zeros(2, 4))
    assert [spec.name for spec in model.spec.parameters] == ["1.weight", "1.bias"]
    assert {spec.name for spec in model.spec.frozen} == {"frozen.0.weight", "frozen.0.bias"}


class Spectral(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.fft.rfft(x).abs()


class Mixing(nn.Module):
    """Across the steps, then through them."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.across = nn.Linear(steps, steps)
        self.through = nn.GRU(3, CLASSES, bias=False, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        states: Tensor = self.through(self.across(x.transpose(1, 2)).transpose(1, 2))[0]
        return states.mean(dim=1)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        logits: Tensor = self.head(x) * self.calls
        return logits


def test_unknown_operator_is_named_with_its_module() -> None:
    module = nn.Sequential()
    module.add_module("body", nn.Linear(8, 8))
    module.add_module("spectrum", Spectral())
    module.add_module("head", nn.Linear(5, 3))
    with pytest.raises(UnsupportedOperator) as caught:
        compiled(module, torch.zeros(2, 8))
    assert caught.value.fields["module"] == "spectrum"
    assert "fft" in str(caught.value.fields["operator"])


def test_batch_normalisation_without_statistics_is_refused_with_advice() -> None:
    norm = nn.BatchNorm2d(4, track_running_stats=False)
    module = nn.Sequential(nn.Conv2d(1, 4, 3), norm, nn.Flatten(), nn.Linear(16, 3))
    with pytest.raises(RunningStatistics, match="GroupNorm") as caught:
        compiled(module, torch.zeros(2, 1, 4, 4))
    assert caught.value.fields["module"] == "1"


def test_changing_buffer_is_refused() -> None:
    with pytest.raises(MutatedState, match="calls"):
        compiled(Counting(), torch.zeros(2, 4))


def test_fixed_batch_is_refused() -> None:
    program = torch.export.export(nn.Linear(4, 3), (torch.zeros(2, 4),))
    with pytest.raises(FixedBatch):
        compile_model(program, batch_size=2)


def test_batch_beyond_the_export_is_refused() -> None:
    batch = torch.export.Dim("batch", min=1, max=16)
    program = torch.export.export(nn.Linear(4, 3), (torch.zeros(2, 4),), dynamic_shapes=({0: batch},))
    assert compile_model(program, batch_size=16).spec.batch_size == 16
    with pytest.raises(BatchOutOfRange, match="of 1 to 16 samples, not of 17"):
        compile_model(program, batch_size=17)
    with pytest.raises(BatchOutOfRange, match="of 1 to any number of samples, not of 0"):
        compile_model(export_module(nn.Linear(4, 3), (torch.zeros(2, 4),)), batch_size=0)


def test_other_dtypes_of_parameters_are_refused() -> None:
    with pytest.raises((UnsupportedParameter, UnsupportedSignature)):
        compiled(nn.Linear(4, 3).double(), torch.zeros(2, 4, dtype=torch.float64))


def test_infinite_parameter_is_refused() -> None:
    module = nn.Linear(4, 3)
    nn.init.constant_(module.weight, float("inf"))
    with pytest.raises(UnsupportedParameter, match="not finite"):
        compiled(module, torch.zeros(2, 4))


@pytest.mark.parametrize(
    ("module", "error"),
    [
        (nn.Linear(4, 1), LossMismatch),
        (nn.Sequential(nn.Linear(4, 3), nn.Unflatten(1, (3, 1))), LossMismatch),
        (nn.ReLU(), NothingTrains),
        (nn.Sequential(nn.Linear(4, 3), nn.Flatten(0)), UnsupportedSignature),
    ],
    ids=["one output", "a table", "no parameter", "no batch"],
)
def test_what_is_no_classifier_is_refused(module: nn.Module, error: type[CoterieError]) -> None:
    with pytest.raises(error):
        compiled(module, torch.zeros(2, 4))


@pytest.mark.parametrize(
    "pool",
    [
        nn.MaxPool2d(2),
        nn.MaxPool2d((4, 2)),
        nn.MaxPool2d(3),
        nn.MaxPool2d(3, stride=2, padding=1),
        nn.MaxPool2d(2, stride=1, dilation=2),
        nn.MaxPool2d(3, stride=2, ceil_mode=True),
        nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False),
        nn.AdaptiveAvgPool2d((4, 2)),
    ],
    ids=str,
)
def test_pool_over_equal_values_shares_gradients_as_pytorch_does(pool: nn.Module) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), pool, nn.Flatten(), nn.LazyLinear(CLASSES))
    # Few distinct values: windows full of ties, as in images with a plain background.
    images = torch.randint(0, 2, (BATCH, 1, 8, 8)).float()
    module(images)
    model = compiled(module, images)
    steps, reference = DeviceSteps(model.train_step, model.spec), InPyTorch(module, OPTIMISERS["momentum"], WEIGHTS)
    labels = np.arange(BATCH) % CLASSES
    batch = Batch(Dataset({"input": images.numpy()}, labels), np.full((BATCH, CLASSES), 0.1, np.float32))
    training = steps.step(steps.begin(model.parameters), batch, WEIGHTS).training
    reference.step(batch)
    for name, tensor in reference.parameters.items():
        np.testing.assert_allclose(training.parameters[name], tensor.detach().numpy(), rtol=1e-4, atol=1e-6)
