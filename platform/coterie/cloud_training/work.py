"""The work of each kind of training job: its child process, and the changes of the registry with the result."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from msgspec import to_builtins

from coterie.child.job import Limits
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.distill_job import DistillArguments, DistillResult
from coterie.cloud.preflight_job import PreflightArguments, PreflightResult
from coterie.cloud.quantise_job import QuantiseArguments, QuantiseResult
from coterie.cloud.simulation_job import SimulationArguments, SimulationResult, agent_code
from coterie.cloud.strategies import parse_strategy
from coterie.cloud_training.checkpoints import checkpoints_of
from coterie.cloud_training.job_log import log
from coterie.cloud_training.leasing import conclude_job
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import QuantiseOptions, SimulationOptions, TrainingOptions
from coterie.cloud_training.services import add_job
from coterie.registry.errors import VersionRemoved
from coterie.registry.models import Blob, Dataset, Metric, ModelPair, ModelVersion, Role, Variant
from coterie.registry.selectors import champion
from coterie.registry.services import accept_pair, publish_version, record_variant, store_file
from coterie.registry.verifying import sound_path
from coterie_wire.structs import from_values

Finish = Callable[[datetime], None]
"""Changes the registry, within the transaction that ends the job; files are stored before, or all writers would
wait.
"""
TRAINING_LIMITS = Limits(wall_s=24 * 3600, cpu_s=7 * 24 * 3600, memory_bytes=8 << 30, confined=True)


def bootstrap_limits(arguments: BootstrapArguments) -> Limits:
    """Workers of a strategy with several communicate with each other."""
    return replace(TRAINING_LIMITS, loopback=bool(parse_strategy(arguments.strategy).member))


def preflight_arguments(job: TrainingJob, directory: Path, now: datetime) -> PreflightArguments:
    """Both programs of the pair, and the paths of its graphs."""
    return PreflightArguments(
        device=_path(job.pair.device_program, directory, now),
        cloud=_path(job.pair.cloud_program, directory, now),
        labels=tuple(job.pair.labels),
        batch_size=job.pair.batch_size,
        train_step=str(directory / "train_step.onnx"),
        predict=str(directory / "predict.onnx"),
        parameters=str(directory / "parameters"),
        teacher=str(directory / "teacher.onnx"),
        frozen=str(directory / "frozen"),
        cloud_parameters=str(directory / "cloud_parameters"),
        recipe=job.pair.recipe,
        loss=_loss(job.pair, directory, now),
    )


def accept(job: TrainingJob, arguments: PreflightArguments, result: PreflightResult, now: datetime) -> Finish:
    """Mark the pair as ready."""
    train_step = store_file(path=Path(arguments.train_step), now=now)
    predict = store_file(path=Path(arguments.predict), now=now)
    initial_parameters = store_file(path=Path(arguments.parameters), now=now)
    assert arguments.teacher is not None
    teacher = store_file(path=Path(arguments.teacher), now=now) if result.teacher else None
    frozen = None if result.frozen is None else store_file(path=Path(arguments.frozen), now=now)
    assert arguments.cloud_parameters is not None
    cloud = store_file(path=Path(arguments.cloud_parameters), now=now) if result.cloud_parameters else None
    return lambda at: accept_pair(
        pair=job.pair,
        spec=result.model,
        train_step=train_step,
        predict=predict,
        initial_parameters=initial_parameters,
        initial_cloud_parameters=cloud,
        teacher_predict=teacher,
        teacher_parameters=result.teacher.parameters if result.teacher else (),
        frozen=frozen,
        report=result.report,
        now=at,
    )


def bootstrap_arguments(job: TrainingJob, directory: Path, now: datetime) -> BootstrapArguments:
    """The cloud program and the data set."""
    assert job.dataset is not None
    options = from_values(job.options, TrainingOptions)
    return BootstrapArguments(
        cloud=_path(job.pair.cloud_program, directory, now),
        dataset=_path(job.dataset.blob, directory, now),
        recipe=job.pair.recipe,
        loss=_loss(job.pair, directory, now),
        output=str(directory / "parameters"),
        epochs=options.epochs,
        learning_rate=options.learning_rate,
        batch_size=options.batch_size,
        least_gain=options.least_gain,
        seed=options.seed,
        strategy=options.strategy,
        precision=options.precision,
        compiled=options.compiled,
        checkpoints=str(checkpoints_of(job.pk)),
    )


def publish_cloud(job: TrainingJob, arguments: BootstrapArguments, result: BootstrapResult, now: datetime) -> Finish:
    """Publish a new version of the cloud model; the device model is distilled from it next."""
    parameters = store_file(path=Path(arguments.output), now=now)

    def finish(now: datetime) -> None:
        publish_version(
            pair_id=job.pair_id,
            role=Role.CLOUD,
            origin=ModelVersion.Origin.BOOTSTRAP,
            parent=champion(job.pair_id, Role.CLOUD),
            parameters=parameters,
            metrics=_measured(
                validation_accuracy=result.validation_accuracy,
                validation_loss=result.validation_loss,
                class_accuracy=result.class_accuracy or None,
                confusion=None if result.confusion is None else to_builtins(result.confusion),
                training_accuracy=result.training_accuracy,
                held_back=result.held_back,
                epochs=result.epochs,
            ),
            now=now,
        )
        conclude_job(job.pk, _outcome(result))
        if result.ended is not None:
            log(job.pk, result.ended, now)
        options = from_values(job.options, TrainingOptions)
        add_job(kind=TrainingJob.Kind.DISTILL, pair=job.pair, dataset=job.dataset, options=options, now=now)

    return finish


def _outcome(result: BootstrapResult) -> str:
    """The outcome of a bootstrap, for people; figures of few samples are marked as such."""
    figures = f"loss {result.validation_loss:.3g} on {result.held_back} samples held back"
    if result.validation_accuracy is not None and result.training_accuracy is not None:
        right = f"{result.validation_accuracy:.0%} of {result.held_back} samples held back"
        figures = f"right on {right}, {result.training_accuracy:.0%} of the others"
    told = figures if result.ended is None else f"{result.ended}; {figures}"
    return f"{told}: {result.warning}" if result.warning else told


def distill_arguments(job: TrainingJob, directory: Path, now: datetime) -> DistillArguments:
    """The teacher in use, the student's graphs, and the data set."""
    pair = job.pair
    teacher = champion(pair.pk, Role.CLOUD)
    assert job.dataset is not None and teacher is not None, "a bootstrap asks for distillation"
    assert pair.train_step is not None and pair.predict is not None and pair.initial_parameters is not None
    options = from_values(job.options, TrainingOptions)
    return DistillArguments(
        model=pair.model_spec(),
        train_step=_path(pair.train_step, directory, now),
        predict=_path(pair.predict, directory, now),
        parameters=_path(pair.initial_parameters, directory, now),
        cloud=_path(pair.cloud_program, directory, now),
        cloud_parameters=_path(teacher.parameters, directory, now),
        dataset=_path(job.dataset.blob, directory, now),
        frozen=None if pair.frozen is None else _path(pair.frozen, directory, now),
        recipe=pair.recipe,
        loss=_loss(pair, directory, now),
        output=str(directory / "parameters"),
        epochs=options.distil_epochs,
        learning_rate=options.distil_learning_rate,
        label_weight=options.label_weight,
        seed=options.seed,
        checkpoints=str(checkpoints_of(job.pk)),
    )


def publish_device(job: TrainingJob, arguments: DistillArguments, result: DistillResult, now: datetime) -> Finish:
    """Publish a new version of the device model."""
    parameters = store_file(path=Path(arguments.output), now=now)

    def finish(now: datetime) -> None:
        publish_version(
            pair_id=job.pair_id,
            role=Role.DEVICE,
            origin=ModelVersion.Origin.DISTILLATION,
            parent=champion(job.pair_id, Role.DEVICE),
            parameters=parameters,
            metrics=_measured(
                validation_accuracy=result.validation_accuracy,
                validation_loss=result.validation_loss,
                class_accuracy=result.class_accuracy or None,
                confusion=None if result.confusion is None else to_builtins(result.confusion),
                teacher_accuracy=result.teacher_accuracy,
                epochs=result.epochs,
            ),
            now=now,
        )
        if result.learning_rate < arguments.learning_rate:
            asked, taken = arguments.learning_rate, result.learning_rate
            log(job.pk, f"the loss did not stay finite with a step size of {asked:g}; it was {taken:g} instead", now)

    return finish


def quantise_arguments(job: TrainingJob, directory: Path, now: datetime) -> QuantiseArguments:
    """The version, its graph, and the data set."""
    pair, version = job.pair, job.version
    assert job.dataset is not None and version is not None and pair.predict is not None
    return QuantiseArguments(
        model=pair.model_spec(),
        predict=_path(pair.predict, directory, now),
        parameters=_path(version.parameters, directory, now),
        dataset=_path(job.dataset.blob, directory, now),
        frozen=None if pair.frozen is None else _path(pair.frozen, directory, now),
        output=str(directory / "int8.onnx"),
        max_loss_points=from_values(job.options, QuantiseOptions).max_loss_points,
    )


def keep_variant(job: TrainingJob, arguments: QuantiseArguments, result: QuantiseResult, now: datetime) -> Finish:
    """Store the version's int8 form, or why it has none."""
    version = job.version
    assert version is not None
    graph = None if result.graph is None else store_file(path=Path(arguments.output), now=now)

    def finish(now: datetime) -> None:
        record_variant(
            version=version, name=Variant.Name.INT8, graph=graph, refused=result.refused, measured=result, now=now
        )
        conclude_job(job.pk, _offer(result))

    return finish


def _offer(result: QuantiseResult) -> str:
    """The outcome of quantising, for people."""
    form = next((one for one in result.tried if one.method == result.offered), None)
    if form is None or form.measured is None:
        return "no int8 form is offered" if result.refused is None else f"none is offered: {result.refused.sentence}"
    smaller = result.float32.size_bytes / form.measured.size_bytes
    quicker = result.float32.p50_us / form.measured.p50_us
    costs = f"loses {form.loss_points:.2f} points on {result.samples} held-out samples"
    return f"int8 is {smaller:.1f} times smaller and {quicker:.1f} times as quick, and {costs}"


def simulation_arguments(job: TrainingJob, directory: Path, now: datetime) -> SimulationArguments:
    """The pair's graphs, the version that the first round starts from, samples, and the fleet."""
    pair, options = job.pair, from_values(job.options, SimulationOptions)
    cloud, cloud_data = _cloud_of(job, options)
    assert pair.train_step is not None and pair.predict is not None and pair.initial_parameters is not None
    return SimulationArguments(
        plan=options.plan,
        model=pair.model_spec(),
        train_step=_path(pair.train_step, directory, now),
        predict=_path(pair.predict, directory, now),
        parameters=_path(pair.initial_parameters if job.version is None else job.version.parameters, directory, now),
        dataset=None if job.dataset is None else _path(job.dataset.blob, directory, now),
        scenario=options.scenario,
        split=options.split,
        each=options.each,
        trace=None if job.fleet is None else _path(job.fleet, directory, now),
        profile=options.profile,
        drift=options.drift,
        cloud=None if cloud is None else _path(pair.cloud_program, directory, now),
        cloud_parameters=None if cloud is None else _path(cloud.parameters, directory, now),
        cloud_data=None if cloud_data is None else _path(cloud_data.blob, directory, now),
        devices=options.devices,
        rounds=options.rounds,
        days=options.days,
        seed=options.seed,
        keep=str(checkpoints_of(job.pk)),
        code=agent_code(),
    )


def _cloud_of(job: TrainingJob, options: SimulationOptions) -> tuple[ModelVersion | None, Dataset | None]:
    """The cloud model that the plan needs, and the initial cloud data. Raises VersionRemoved."""
    if options.cloud_version is None:
        return None, None
    assert job.federation is not None, "simulations have one"
    version = ModelVersion.objects.filter(pk=options.cloud_version).select_related("parameters").first()
    if version is None:
        raise VersionRemoved(version=options.cloud_version)
    return version, job.federation.cloud_data


def report_findings(job: TrainingJob, found: SimulationResult) -> Finish:
    """The outcome, for people; the job's row has all of it."""
    over = "while samples come" if found.moments else f"in {len(found.rounds)} rounds"
    sentence = (
        f"accuracy {found.begins_with:.3f} becomes {found.accuracy.middle:.3f} "
        f"({found.accuracy.low:.3f} to {found.accuracy.high:.3f}) {over}"
    )
    return lambda _: conclude_job(job.pk, sentence)


def _measured(**figures: Metric | None) -> dict[str, Metric]:
    """Those figures that the task has."""
    return {name: value for name, value in figures.items() if value is not None}


def _loss(pair: ModelPair, directory: Path, now: datetime) -> str | None:
    """The program of a loss of the pair's own."""
    return None if pair.loss_program is None else _path(pair.loss_program, directory, now)


def _path(blob: Blob, directory: Path, now: datetime) -> str:
    return str(sound_path(blob.sha256, directory, now=now))
