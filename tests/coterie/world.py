"""A small fleet for tests: a pair whose model is a softmax regression, devices, a federation, and their updates."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import msgspec
import numpy as np

from coterie.child.job import Progress
from coterie.cloud.averaging import merge_stored
from coterie.cloud.averaging_job import MergeArguments, MergeResult
from coterie.core.credentials import hash_secret
from coterie.federations.models import Federation
from coterie.federations.services import create_federation, start_federation
from coterie.fleet.models import Device
from coterie.fleet.presence import settle
from coterie.fleet.services import apply_check_in, expect_check_in, record_check_ins
from coterie.merging.running import run_merge
from coterie.registry.content import BLOBS
from coterie.registry.models import Blob, Dataset, ModelPair, ModelVersion, Role
from coterie.registry.services import publish_version
from coterie.rounds import directives, uploads
from coterie.rounds.advancing import advance_federation, sweep
from coterie.rounds.models import Round
from coterie_learning.codec.int8 import Int8
from coterie_wire.bundle import Head, ModelSpec, TensorSpec
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.messages import CheckIn, DataMetadata, Directive, OfferUpdate, UploadState
from coterie_wire.messages import Progress as DeviceProgress
from coterie_wire.tensors import Tensors, encode_tensors
from coterie_wire.version import PROTOCOL

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
MODEL = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (4,)),),
    classes=3,
    batch_size=8,
    parameters=(TensorSpec("weight", "float32", (3, 4)), TensorSpec("bias", "float32", (3,))),
    head=Head("weight", "bias"),
)
ON_BATTERY = Reason("conditions.on_battery", "on battery; the federation asks for charging")


def in_this_process(arguments: MergeArguments, _cancel: object = None) -> MergeResult:
    """Merging without the quarter of a second that a child process takes to start."""
    return merge_stored(arguments, _ignore)


def _ignore(_progress: Progress) -> None:
    pass


def keep(content: bytes) -> Blob:
    """A blob of `content`."""
    reference = BLOBS.put_bytes(content)
    blob, _ = Blob.objects.get_or_create(
        sha256=reference.sha256, defaults={"size_bytes": reference.size_bytes, "created_at": START}
    )
    return blob


def parameters(seed: int) -> Tensors:
    """Random numbers in the shape of the model's parameters."""
    rng = np.random.default_rng(seed)
    return {spec.name: rng.standard_normal(spec.shape, dtype=np.float32) for spec in MODEL.parameters}


def make_pair(slug: str = "pair", *, predict: bytes = b"predict") -> ModelPair:
    """A ready pair without versions."""
    return ModelPair.objects.create(
        name=slug,
        slug=slug,
        state=ModelPair.State.READY,
        labels=["a", "b", "c"],
        batch_size=MODEL.batch_size,
        device_program=keep(b"device program"),
        cloud_program=keep(b"cloud program"),
        spec=msgspec.to_builtins(MODEL),
        train_step=keep(b"train step"),
        predict=keep(predict),
        initial_parameters=keep(encode_tensors(parameters(0))),
        created_at=START,
    )


def make_version(pair: ModelPair, *, seed: int = 0, role: Role = Role.DEVICE) -> ModelVersion:
    """The pair's next version, made champion."""
    return publish_version(
        pair_id=pair.pk,
        role=role,
        origin=ModelVersion.Origin.DISTILLATION,
        parent=None,
        parameters=keep(encode_tensors(parameters(seed))),
        metrics={},
        now=START,
    )


def make_dataset(*, shape: tuple[int, ...] = (4,), classes: int = 3) -> Dataset:
    """A data set's row; nobody opens its file."""
    return Dataset.objects.create(
        name="data",
        blob=keep(b"data"),
        rows=10,
        inputs=[{"name": "x", "dtype": "float32", "shape": list(shape)}],
        classes=classes,
        created_at=START,
    )


def make_device(name: str, *, tags: tuple[str, ...] = ()) -> Device:
    """An enrolled device that has not checked in."""
    return Device.objects.create(name=name, tags=list(tags), credential_hash=hash_secret(name), enrolled_at=START)


def make_federation(
    pair: ModelPair,
    *,
    held_out: Dataset | None = None,
    cloud_data: Dataset | None = None,
    tolerance: float = 0.02,
    plan: Mapping[str, object] = MappingProxyType({}),
    name: str = "digits",
    device_tag: str = "",
    **pace: float,
) -> Federation:
    """A running federation."""
    federation = create_federation(
        name=name,
        device_tag=device_tag,
        pair=pair,
        plan={"pace": {"kind": "sync", **pace}, **plan},
        held_out=held_out,
        cloud_data=cloud_data,
        tolerance=tolerance,
        now=START,
    )
    start_federation(federation=federation, now=START)
    return federation


def hear(device: Device, check_in: CheckIn, now: datetime, *, check_in_s: float = 10.0) -> None:
    """What the platform does with a check-in, as far as the fleet is concerned."""
    checked_in = apply_check_in(device=device, check_in=check_in, now=now)
    expect_check_in(device=device, check_in_s=check_in_s)
    record_check_ins(checked_in=[checked_in], now=now)


@dataclass
class ScriptedDevice:
    """A device that does as it is told, one message at a time."""

    row: Device
    version: str | None = None

    def check_in(
        self,
        now: datetime,
        *,
        blockers: tuple[Reason, ...] = (),
        progress: DeviceProgress | None = None,
        excluded_at: float | None = None,
    ) -> Directive:
        """Check in, and once more after the sweep has come by, which may have woken the device."""
        self.say(now, blockers=blockers, progress=progress)
        sweep(now=now)
        return self.say(now, blockers=blockers, progress=progress)

    def say(
        self,
        now: datetime,
        *,
        blockers: tuple[Reason, ...] = (),
        progress: DeviceProgress | None = None,
        excluded_at: float | None = None,
    ) -> Directive:
        """One check-in, by itself."""
        settle(now=now)
        self.row.refresh_from_db()
        message = CheckIn(
            protocol=PROTOCOL,
            conditions=Conditions(),
            blockers=blockers,
            progress=progress,
            version=self.version,
            metadata=DataMetadata(samples=40),
            excluded_at=excluded_at,
        )
        return directives.check_in(device=self.row, message=message, now=now)

    def payload(self, seed: int) -> bytes:
        return Int8().encode(parameters(seed), seed=seed).payload

    def offer(self, assignment: str, payload: bytes, now: datetime, **facts: float) -> UploadState:
        offer = OfferUpdate(
            assignment=assignment,
            sha256=hashlib.sha256(payload).hexdigest(),
            size_bytes=len(payload),
            samples=20,
            steps_done=5,
            steps_total=5,
            loss_before=1.5,
            loss_after=1.0,
            accuracy_before=0.5,
            train_s=0.1,
        )
        return uploads.offer_update(device=self.row, offer=msgspec.structs.replace(offer, **facts), now=now)

    def send(self, assignment: str, content: bytes, offset: int, now: datetime) -> UploadState:
        """What the gateway does with one chunk."""
        uploads.open_upload(self.row, assignment, offset, now).write(offset, content)
        return uploads.complete_upload(self.row, assignment, now)

    def deliver(self, assignment: str, now: datetime, *, seed: int) -> UploadState:
        payload = self.payload(seed)
        state = self.offer(assignment, payload, now)
        return self.send(assignment, payload[state.offset :], state.offset, now)


def merge_round(round_: Round, *, clock: Callable[[], datetime], **work: Callable[..., object]) -> None:
    """What a worker does for a merging round, and what the sweep that follows makes of it."""
    round_.refresh_from_db()
    assert round_.merge_id is not None
    run_merge(merge_id=round_.merge_id, clock=clock, **work)
    advance_federation(federation_id=round_.federation_id, now=clock())
    round_.refresh_from_db()


def fleet_of(count: int, *, tag: str = "") -> list[ScriptedDevice]:
    """So many enrolled devices, with a tag where one is given."""
    tags = (tag,) if tag else ()
    return [ScriptedDevice(make_device(f"{tag or 'device'}-{number}", tags=tags)) for number in range(count)]


def later(seconds: float) -> datetime:
    """So many seconds after the start."""
    return START + timedelta(seconds=seconds)
