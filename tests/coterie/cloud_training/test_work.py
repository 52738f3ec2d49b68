"""What the registry makes of each job's files and figures; the system tests have children make them."""

from pathlib import Path

import msgspec
import pytest

from coterie.cloud.bootstrap_job import BootstrapResult
from coterie.cloud.distill_job import DistillResult
from coterie.cloud.preflight_job import PreflightResult
from coterie.cloud_training import work
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair, check_pair
from coterie.compile.device_classes import DeviceEstimate
from coterie.compile.pair_report import PairReport
from coterie.registry.models import ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie_wire.bundle import BlobRef
from tests.coterie.world import MODEL, START, later, make_dataset, make_pair

REPORT = PairReport(
    device_parameters=15,
    cloud_parameters=99,
    teacher_problem="no graph",
    operators={"MatMul": 3, "Add": 2},
    train_step_bytes=900,
    predict_bytes=300,
    parameters_bytes=200,
    frozen_bytes=0,
    step_s=0.001,
    step_memory_bytes=1 << 20,
    process_memory_bytes=1 << 26,
    gflops=40.0,
    devices=(DeviceEstimate("Raspberry Pi 4", memory_bytes=1 << 30, fits=True, step_s=0.007),),
)

pytestmark = pytest.mark.django_db


def written(path: str) -> BlobRef:
    """A child's output, different for each path."""
    Path(path).write_bytes(path.encode())
    return BlobRef.of_file(Path(path))


def test_a_pair_that_passed_is_ready_with_its_graphs(tmp_path: Path) -> None:
    pair = make_pair()
    ModelPair.objects.update(
        state="checking", spec=None, train_step=None, predict=None, initial_parameters=None, report={}
    )
    check_pair(pair_id=pair.pk, now=later(0))
    job = TrainingJob.objects.get(kind="preflight")
    arguments = work.preflight_arguments(job, tmp_path, START)
    result = PreflightResult(
        model=MODEL,
        train_step=written(arguments.train_step),
        predict=written(arguments.predict),
        parameters=written(arguments.parameters),
        frozen=None,
        teacher=None,
        report=REPORT,
        cloud_parameters=written(str(arguments.cloud_parameters)),
    )
    finish = work.accept(job, arguments, result, later(1))
    pair.refresh_from_db()
    assert pair.state == "checking", "until the job ends"
    finish(later(1))
    pair.refresh_from_db()
    assert (pair.state, pair.model_spec()) == ("ready", MODEL)
    assert (pair.train_step_id, pair.predict_id) == (result.train_step.sha256, result.predict.sha256)
    assert pair.initial_parameters_id == result.parameters.sha256
    assert result.cloud_parameters is not None
    assert pair.initial_cloud_parameters_id == result.cloud_parameters.sha256
    assert msgspec.convert(pair.report, PairReport) == REPORT


def test_a_cloud_model_is_published_and_then_distilled(tmp_path: Path) -> None:
    pair = make_pair()
    options = TrainingOptions(epochs=3, distil_epochs=4, seed=7)
    job = bootstrap_pair(pair=pair, dataset=make_dataset(), options=options, now=later(0))
    train = work.bootstrap_arguments(job, tmp_path, START)
    assert (train.epochs, train.seed) == (3, 7)
    trained = BootstrapResult(
        written(train.output),
        epochs=2,
        validation_accuracy=0.9,
        validation_loss=0.3,
        class_accuracy=(0.8, None, 1.0),
        training_accuracy=0.95,
        held_back=12,
        warning="12 samples were held back, too few",
    )
    finish = work.publish_cloud(job, train, trained, later(1))
    TrainingJob.objects.update(state="succeeded")
    finish(later(1))
    assert newest(pair, Role.CLOUD) == (1, "bootstrap", trained.parameters.sha256)
    cloud = champion(pair.pk, Role.CLOUD)
    assert cloud is not None and cloud.metrics["class_accuracy"] == [0.8, None, 1.0]
    assert (cloud.metrics["training_accuracy"], cloud.metrics["held_back"]) == (0.95, 12)
    told = TrainingJob.objects.get(pk=job.pk).progress_sentence
    assert told == "right on 90% of 12 samples held back, 95% of the others: 12 samples were held back, too few"

    job = TrainingJob.objects.get(kind="distill")
    distil = work.distill_arguments(job, tmp_path, START)
    assert (distil.epochs, distil.seed) == (4, 7)
    assert Path(distil.cloud_parameters).read_bytes() == train.output.encode()
    distilled = DistillResult(
        written(distil.output),
        epochs=4,
        validation_accuracy=0.8,
        validation_loss=0.5,
        class_accuracy=(),
        teacher_accuracy=0.9,
    )
    work.publish_device(job, distil, distilled, later(2))(later(2))
    assert newest(pair, Role.DEVICE) == (1, "distillation", distilled.parameters.sha256)
    device = champion(pair.pk, Role.DEVICE)
    assert device is not None and "class_accuracy" not in device.metrics, "of a task without classes"


def newest(pair: ModelPair, role: Role) -> tuple[int, str, str]:
    version: ModelVersion | None = champion(pair.pk, role)
    assert version is not None
    return version.number, version.origin, version.parameters_id
