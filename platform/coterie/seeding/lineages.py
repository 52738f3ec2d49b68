"""Pairs with weeks of versions behind them, and what trained them.

Parameters are real files that archives and comparisons can read; programs and graphs are empty, and nothing runs them.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

import msgspec
import numpy as np

from coterie.cloud_training.models import JobLine, TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.compile.device_classes import estimate_devices
from coterie.compile.pair_report import PairReport
from coterie.registry.content import BLOBS
from coterie.registry.models import Alias, Blob, Dataset, ModelPair, ModelVersion, Role
from coterie_wire.bundle import Head, ModelSpec, TensorSpec
from coterie_wire.tensors import encode_tensors


@dataclass(frozen=True)
class Task:
    """Something that a fleet learns."""

    name: str
    labels: tuple[str, ...]
    features: int
    hidden: int
    tag: str
    rounds: int
    start: float
    """Accuracy of the distilled model."""
    top: float
    """Accuracy that rounds approach."""
    slots: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """What of its federation's plan is its own."""
    taught: bool = False
    """Whether devices learn from its cloud model, and that from its data set."""


OF_EACH = 60
"""Held-out samples of each class."""
PEERS = {"help": {"kind": "cartel"}}
CANARY = {"rollout": {"kind": "canary", "share": 0.02, "within_s": 86_400.0}}
TUNED: Mapping[str, Mapping[str, object]] = {**CANARY, "personal": {"kind": "fine_tuned"}}
COLLA = {"local": {"kind": "distill"}, "merge": {"kind": "distill"}, "groups": {"kind": "affinity"}}
GAPS = ("full", "gap", "misplaced", "hidden")
TASKS = (
    Task("Handwritten digits", tuple("0123456789"), 64, 48, "kiosk", 96, 0.71, 0.962, PEERS),
    Task("Shelf gaps", GAPS, 128, 64, "shelf-camera", 60, 0.64, 0.913, COLLA, taught=True),
    Task("Wake word", ("other", "hello", "stop"), 40, 32, "handheld", 24, 0.83, 0.948, CANARY),
    Task("Plant health", ("healthy", "mildew", "rust", "aphids"), 96, 40, "greenhouse", 36, 0.68, 0.902, TUNED),
)


def _report(task: Task, spec: ModelSpec) -> PairReport:
    """Figures of a machine of the usual speed; the operators are those of a perceptron's step."""
    count = sum(int(np.prod(tensor.shape)) for tensor in spec.parameters)
    step_s, process_memory_bytes, gflops = 0.0002, 61_000_000, 50.0
    return PairReport(
        device_parameters=count,
        cloud_parameters=1_204_234,
        teacher_problem=None if task.taught else "its cloud model has an operator without a translation",
        operators={"Mul": 24, "Add": 13, "Sub": 9, "MatMul": 4, "ReduceSum": 4, "Relu": 1},
        train_step_bytes=9_400,
        predict_bytes=900,
        parameters_bytes=4 * count + 400,
        frozen_bytes=0,
        step_memory_bytes=6_000_000,
        step_s=step_s,
        process_memory_bytes=process_memory_bytes,
        gflops=gflops,
        devices=estimate_devices(step_s=step_s, process_memory_bytes=process_memory_bytes, gflops=gflops),
    )


def make_pair(task: Task, *, random: Random, now: datetime) -> tuple[ModelPair, Dataset]:
    """A ready pair with its first versions, the jobs that made them, and what its cloud model learned with."""
    slug = task.name.lower().replace(" ", "-")
    began = now - timedelta(days=62)
    spec = ModelSpec.of_classifier(
        inputs=(TensorSpec("x", "float32", (task.features,)),),
        classes=len(task.labels),
        batch_size=32,
        parameters=(
            TensorSpec("hidden.weight", "float32", (task.hidden, task.features)),
            TensorSpec("hidden.bias", "float32", (task.hidden,)),
            TensorSpec("out.weight", "float32", (len(task.labels), task.hidden)),
            TensorSpec("out.bias", "float32", (len(task.labels),)),
        ),
        head=Head("out.weight", "out.bias"),
    )
    empty = keep(b"seeded", began)
    pair = ModelPair.objects.create(
        name=task.name,
        slug=slug,
        state=ModelPair.State.READY,
        labels=list(task.labels),
        batch_size=32,
        device_program=empty,
        cloud_program=empty,
        spec=msgspec.to_builtins(spec),
        train_step=empty,
        predict=empty,
        initial_parameters=parameters(spec, random, began),
        report=msgspec.to_builtins(_report(task, spec)),
        teacher_predict=empty if task.taught else None,
        # The seeded versions of the cloud model have the device model's tensors, too.
        teacher_parameters=msgspec.to_builtins(spec.parameters) if task.taught else None,
        created_at=began,
    )
    dataset = Dataset.objects.create(
        name=f"{task.name}, collected by hand",
        blob=keep(f"samples of {slug}".encode(), began),
        rows=1_200,
        inputs=[{"name": "x", "dtype": "float32", "shape": [task.features]}],
        classes=len(task.labels),
        created_at=began,
    )
    made = {}
    for kind, role, accuracy, after_h in (
        (TrainingJob.Kind.BOOTSTRAP, Role.CLOUD, task.start + 0.2 * (1 - task.start), 1.0),
        (TrainingJob.Kind.DISTILL, Role.DEVICE, task.start, 2.0),
    ):
        at = began + timedelta(hours=after_h)
        _job(kind, pair, dataset, at)
        origin = ModelVersion.Origin.BOOTSTRAP if role == Role.CLOUD else ModelVersion.Origin.DISTILLATION
        made[role] = ModelVersion.objects.create(
            pair=pair,
            role=role,
            number=1,
            origin=origin,
            parameters=parameters(spec, random, at),
            metrics={
                "validation_accuracy": round(accuracy, 4),
                **by_class(task, accuracy, random),
                "epochs": 20,
            },
            created_at=at,
        )
        Alias.objects.create(pair=pair, role=role, name=Alias.Name.CHAMPION, version=made[role], moved_at=at)
    return pair, dataset


def make_troubled_jobs(pair: ModelPair, *, now: datetime) -> None:
    """One that runs, and a pair whose pre-flight said no."""
    dataset = Dataset.objects.order_by("created_at")[0]
    running = _job(TrainingJob.Kind.BOOTSTRAP, pair, dataset, now - timedelta(minutes=7))
    TrainingJob.objects.filter(pk=running.pk).update(
        state=TrainingJob.State.FAILED,
        reason_code="child.out_of_memory",
        reason_sentence="the child process needed more than the 8 GiB that it may have",
    )
    rejected = ModelPair.objects.create(
        name="Speech enhancer",
        slug="speech-enhancer",
        state=ModelPair.State.REJECTED,
        reason_code="compile.unsupported_operator",
        reason_sentence="aten._fft_r2c has no translation; compute the spectrum before the model",
        labels=["clean", "noisy"],
        batch_size=32,
        device_program=pair.device_program,
        cloud_program=pair.cloud_program,
        created_at=now - timedelta(hours=5),
    )
    _job(TrainingJob.Kind.PREFLIGHT, rejected, None, now - timedelta(hours=5))
    TrainingJob.objects.filter(pair=rejected).update(
        state=TrainingJob.State.FAILED, reason_code=rejected.reason_code, reason_sentence=rejected.reason_sentence
    )


def by_class(task: Task, accuracy: float, random: Random) -> dict[str, object]:
    """Accuracy of each class, around that of all, and which are taken for which: mostly their neighbours."""
    classes = len(task.labels)
    mistakes: Counter[tuple[int, int]] = Counter()
    for actual in range(classes):
        wrong = round(OF_EACH * (1 - min(1.0, max(0.0, accuracy + random.gauss(0, 0.03)))))
        for _ in range(wrong):
            mistakes[actual, (actual + random.choice([1, 1, 1, -1, 2])) % classes] += 1
    wrong_of = Counter({actual: sum(n for (of, _), n in mistakes.items() if of == actual) for actual in range(classes)})
    return {
        "class_accuracy": [round(1 - wrong_of[actual] / OF_EACH, 4) for actual in range(classes)],
        "confusion": {
            "samples": [OF_EACH] * classes,
            "mistakes": [
                {"actual": actual, "predicted": predicted, "samples": samples}
                for (actual, predicted), samples in mistakes.most_common()
                if actual != predicted
            ],
            "others": 0,
        },
    }


def parameters(spec: ModelSpec, random: Random, now: datetime) -> Blob:
    """Random numbers in the model's shape."""
    numbers = np.random.default_rng(random.getrandbits(32))
    tensors = {
        tensor.name: numbers.standard_normal(tensor.shape, dtype=np.float32) * np.float32(0.1)
        for tensor in spec.parameters
    }
    return keep(encode_tensors(tensors), now)


def keep(content: bytes, now: datetime) -> Blob:
    """The bytes, in the registry."""
    reference = BLOBS.put_bytes(content)
    blob, _ = Blob.objects.get_or_create(
        sha256=reference.sha256, defaults={"size_bytes": reference.size_bytes, "created_at": now}
    )
    return blob


def _job(kind: TrainingJob.Kind, pair: ModelPair, dataset: Dataset | None, at: datetime) -> TrainingJob:
    job = TrainingJob.objects.create(
        kind=kind,
        pair=pair,
        dataset=dataset,
        options=msgspec.to_builtins(TrainingOptions()),
        state=TrainingJob.State.SUCCEEDED,
        progress=1.0,
        progress_sentence="training 20 of 20, loss 0.21",
        attempts=1,
        created_at=at - timedelta(minutes=6),
        started_at=at - timedelta(minutes=6),
        finished_at=at,
    )
    texts = ["a worker begins", *(f"training {n} of 20, loss {1.6 / (1 + n / 4):.3f}" for n in range(0, 21, 2))]
    JobLine.objects.bulk_create(
        JobLine(job=job, at=at - timedelta(minutes=6) + timedelta(seconds=25 * n), text=text)
        for n, text in enumerate(texts)
    )
    return job
