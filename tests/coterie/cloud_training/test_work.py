"""What the registry makes of each job's files and figures; the system tests have children make them."""

from pathlib import Path

import msgspec
import pytest

from coterie.cloud.bootstrap_job import BootstrapResult
from coterie.cloud.distill_job import DistillResult
from coterie.cloud.preflight_job import PreflightResult
from coterie.cloud.quantise_job import FormFigures, QuantiseResult, TriedForm
from coterie.cloud_training import work
from coterie.cloud_training.errors import NotADeviceModel
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import QuantiseOptions, TrainingOptions
from coterie.cloud_training.services import bootstrap_pair, check_pair, quantise_version, retry_job
from coterie.compile.device_classes import DeviceEstimate
from coterie.compile.pair_report import PairReport
from coterie.evaluation.confusion import Confusion, Mistake
from coterie.registry.errors import UnknownBlob
from coterie.registry.models import ModelPair, ModelVersion, Role, Variant
from coterie.registry.selectors import champion, device_blob
from coterie_wire.bundle import BlobRef
from coterie_wire.conditions import Reason
from tests.coterie.world import MODEL, START, later, make_dataset, make_pair, make_version

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
    options = TrainingOptions(epochs=3, distil_epochs=4, seed=7, least_gain=0.001)
    job = bootstrap_pair(pair=pair, dataset=make_dataset(), options=options, now=later(0))
    train = work.bootstrap_arguments(job, tmp_path, START)
    assert (train.epochs, train.seed, train.least_gain) == (3, 7, 0.001)
    trained = BootstrapResult(
        written(train.output),
        epochs=2,
        validation_accuracy=0.9,
        validation_loss=0.3,
        class_accuracy=(0.8, None, 1.0),
        training_accuracy=0.95,
        held_back=12,
        warning="12 samples were held back, too few",
        confusion=Confusion(samples=(5, 0, 7), mistakes=(Mistake(0, 2, 1),), others=0),
        ended="it ended after 2 of 3 epochs",
    )
    finish = work.publish_cloud(job, train, trained, later(1))
    TrainingJob.objects.update(state="succeeded")
    finish(later(1))
    assert newest(pair, Role.CLOUD) == (1, "bootstrap", trained.parameters.sha256)
    cloud = champion(pair.pk, Role.CLOUD)
    assert cloud is not None and cloud.metrics["class_accuracy"] == [0.8, None, 1.0]
    assert cloud.metrics["confusion"]["mistakes"] == [{"actual": 0, "predicted": 2, "samples": 1}]
    assert (cloud.metrics["training_accuracy"], cloud.metrics["held_back"]) == (0.95, 12)
    told = TrainingJob.objects.get(pk=job.pk).progress_sentence
    figures = "right on 90% of 12 samples held back, 95% of the others: 12 samples were held back, too few"
    assert told == f"it ended after 2 of 3 epochs; {figures}"
    assert [line.text for line in job.lines.all()] == ["it ended after 2 of 3 epochs"]

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
        learning_rate=distil.learning_rate / 4,
    )
    work.publish_device(job, distil, distilled, later(2))(later(2))
    assert newest(pair, Role.DEVICE) == (1, "distillation", distilled.parameters.sha256)
    device = champion(pair.pk, Role.DEVICE)
    assert device is not None and "class_accuracy" not in device.metrics, "of a task without classes"
    told = "the loss did not stay finite with a step size of 0.05; it was 0.0125 instead"
    assert [line.text for line in job.lines.all()] == [told]


def newest(pair: ModelPair, role: Role) -> tuple[int, str, str]:
    version: ModelVersion | None = champion(pair.pk, role)
    assert version is not None
    return version.number, version.origin, version.parameters_id


FLOAT32 = FormFigures(size_bytes=4000, accuracy=0.9, loss=0.5, p50_us=90.0, p90_us=95.0, p99_us=99.0)
INT8 = FormFigures(size_bytes=1000, accuracy=0.895, loss=0.5, p50_us=45.0, p90_us=48.0, p99_us=50.0)


def result_of(graph: BlobRef | None, refused: Reason | None) -> QuantiseResult:
    tried = TriedForm("static_minmax", INT8, 0.5, refused)
    offered = None if graph is None else tried.method
    return QuantiseResult(300, 100, FLOAT32, (tried,), offered, graph, refused)


def test_an_int8_form_is_kept_with_its_figures_until_another_attempt(tmp_path: Path) -> None:
    version = make_version(make_pair())
    job = quantise_version(version=version, dataset=make_dataset(), options=QuantiseOptions(0.7), now=later(0))
    arguments = work.quantise_arguments(job, tmp_path, START)
    assert arguments.max_loss_points == 0.7
    graph = written(arguments.output)
    with pytest.raises(UnknownBlob):
        device_blob(graph.sha256)
    work.keep_variant(job, arguments, result_of(graph, None), later(1))(later(1))
    variant = Variant.objects.get()
    assert (variant.version, variant.graph_id, variant.reason_code) == (version, graph.sha256, "")
    assert variant.measured["float32"]["p50_us"] == 90
    assert device_blob(graph.sha256).size_bytes == graph.size_bytes, "devices may read it"
    job.refresh_from_db()
    told = "int8 is 4.0 times smaller and 2.0 times as quick, and loses 0.50 points on 300 held-out samples"
    assert job.progress_sentence == told

    TrainingJob.objects.update(state="failed")
    job.refresh_from_db()
    again = retry_job(job=job, now=later(2))
    assert (again.version, again.options) == (version, {"max_loss_points": 0.7})
    refused = Reason("quantise.loses_too_much", "it loses 3 points")
    work.keep_variant(again, arguments, result_of(None, refused), later(3))(later(3))
    variant.refresh_from_db()
    assert (variant.graph, variant.reason_code, variant.made_at) == (None, refused.code, later(3))


def test_no_device_runs_a_cloud_model() -> None:
    cloud = make_version(make_pair(), role=Role.CLOUD)
    with pytest.raises(NotADeviceModel):
        quantise_version(version=cloud, dataset=make_dataset(), options=QuantiseOptions(), now=later(0))
