"""The jobs of a model pair's life in the cloud, each in its own process, from upload to the first device model."""

import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

from coterie.child.job import Limits, Progress
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job, distill_job, preflight_job
from coterie.cloud.preflight import preflight_stored
from coterie.cloud.preflight_job import LabelsMismatch, PairMismatch, PreflightArguments, PreflightResult
from coterie.compile.errors import UnsafeUpload
from coterie.compile.program import export_module
from coterie.core.errors import CoterieError
from coterie.evaluation import job as evaluate_job

LABELS = ("low", "middle", "high")


def save(path: Path, module: nn.Module, features: int = 4) -> str:
    torch.export.save(export_module(module, (torch.zeros(2, features),)), path)
    return str(path)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pair, and samples that a line separates."""
    path = tmp_path_factory.mktemp("pair")
    torch.manual_seed(0)
    save(path / "device.pt2", nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)))
    save(path / "cloud.pt2", nn.Sequential(nn.Linear(4, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 3)))
    save(path / "foreign.pt2", nn.Linear(5, 3), features=5)
    generator = np.random.default_rng(0)
    x = generator.normal(size=(300, 4)).astype(np.float32)
    np.savez(path / "data.npz", x=x, y=np.digitize(x[:, 0] + x[:, 1], [-0.7, 0.7]))
    return path


def arguments(directory: Path, *, labels: tuple[str, ...] = LABELS, cloud: str = "cloud.pt2") -> PreflightArguments:
    return PreflightArguments(
        device=str(directory / "device.pt2"),
        cloud=str(directory / cloud),
        batch_size=16,
        labels=labels,
        train_step=str(directory / "train_step.onnx"),
        predict=str(directory / "predict.onnx"),
        parameters=str(directory / "parameters.safetensors"),
        frozen=str(directory / "frozen.safetensors"),
    )


@pytest.fixture(scope="module")
def accepted(directory: Path) -> PreflightResult:
    seen: list[Progress] = []
    result = run_child(preflight_job.JOB, arguments(directory), limits=preflight_job.LIMITS, on_progress=seen.append)
    assert [line.stage for line in seen] == ["loading", "compiling", "training", "cloud model", "measuring"]
    return result


def test_preflight_measures_and_writes(directory: Path, accepted: PreflightResult) -> None:
    assert accepted.model.classes == 3
    report = accepted.report
    assert report.device_parameters == 4 * 16 + 16 + 16 * 3 + 3
    assert report.cloud_parameters == 4 * 64 + 64 + 2 * 64 + 64 * 3 + 3
    assert len(report.cloud_splits or ()) == 2, "before its second and its third layer with parameters"
    assert 0 < report.step_s < 1
    assert report.gflops > 0
    assert 0 < report.step_memory_bytes < report.process_memory_bytes < 200 << 20, "PyTorch is not in it"
    assert [device.fits for device in report.devices] == [True] * len(report.devices)
    assert (report.train_step_bytes, report.predict_bytes) == (
        accepted.train_step.size_bytes,
        accepted.predict.size_bytes,
    )
    for name, blob in (
        ("train_step.onnx", accepted.train_step),
        ("predict.onnx", accepted.predict),
        ("parameters.safetensors", accepted.parameters),
    ):
        assert (directory / name).stat().st_size == blob.size_bytes


def test_pair_learns_from_upload_to_device(directory: Path, accepted: PreflightResult) -> None:
    shared = {"cloud": str(directory / "cloud.pt2"), "dataset": str(directory / "data.npz"), "recipe": {}, "loss": None}
    cloud = run_child(
        bootstrap_job.JOB,
        bootstrap_job.BootstrapArguments(**shared, output=str(directory / "cloud.safetensors"), learning_rate=0.01),
    )
    assert cloud.validation_accuracy > 0.8
    assert cloud.training_accuracy > 0.8
    assert cloud.held_back == 30
    assert "30 samples were held back" in str(cloud.warning)
    device = run_child(
        distill_job.JOB,
        distill_job.DistillArguments(
            **shared,
            model=accepted.model,
            train_step=str(directory / "train_step.onnx"),
            predict=str(directory / "predict.onnx"),
            parameters=str(directory / "parameters.safetensors"),
            frozen=None,
            cloud_parameters=str(directory / "cloud.safetensors"),
            output=str(directory / "device.safetensors"),
        ),
    )
    assert device.teacher_accuracy > 0.8
    measured = run_child(
        evaluate_job.JOB,
        evaluate_job.EvaluateArguments(
            model=accepted.model,
            predict=str(directory / "predict.onnx"),
            parameters=str(directory / "device.safetensors"),
            dataset=str(directory / "data.npz"),
        ),
    )
    assert measured.accuracy > 0.8
    assert measured.samples == 300


@pytest.mark.parametrize(
    ("labels", "cloud", "code"),
    [
        (("one", "two"), "cloud.pt2", LabelsMismatch.code),
        (LABELS, "foreign.pt2", PairMismatch.code),
        (LABELS, "data.npz", "compile.unsafe_upload"),
    ],
)
def test_what_does_not_fit_is_refused(directory: Path, labels: tuple[str, ...], cloud: str, code: str) -> None:
    with pytest.raises(CoterieError) as caught:
        preflight_stored(arguments(directory, labels=labels, cloud=cloud), lambda _: None)
    assert caught.value.code == code


TOO_LITTLE = Limits(memory_bytes=100 << 20, confined=True)
"""For PyTorch."""


@pytest.mark.skipif(sys.platform != "linux", reason="macOS ignores the limit")
@pytest.mark.parametrize("name", ["device", "cloud", "loss"])
def test_a_hostile_file_is_refused_where_pytorch_cannot_even_be_loaded(directory: Path, name: str) -> None:
    hostile = msgspec.structs.replace(arguments(directory), **{name: str(directory / "data.npz")})
    with pytest.raises(UnsafeUpload):
        run_child(preflight_job.JOB, hostile, limits=TOO_LITTLE)


@pytest.mark.skipif(sys.platform != "linux", reason="macOS ignores the limit")
def test_model_beyond_the_memory_limit_comes_back_with_a_code(directory: Path) -> None:
    with pytest.raises(CoterieError) as caught:
        run_child(preflight_job.JOB, arguments(directory), limits=TOO_LITTLE)
    assert caught.value.code in ("child.out_of_memory", "child.crashed")
