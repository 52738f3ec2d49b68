"""Changes to the registry: pairs are submitted and checked, versions published, aliases moved, data sets added."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, cast
from uuid import UUID

import msgspec
import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils.text import slugify

from coterie.audit.recording import audited, check_permitted, record
from coterie.compile.pair_report import PairReport
from coterie.compile.recipe import parse_recipe, recipe_document
from coterie.compile.recipe.loss.custom import Custom
from coterie.core.errors import Field
from coterie.core.events import notify_consoles
from coterie.core.names import checked_name
from coterie.registry.content import BLOBS
from coterie.registry.errors import (
    BadLabels,
    BlobRemoved,
    LossProgramMismatch,
    NameTaken,
    NothingToRollBackTo,
    NotReady,
    NoUploadedWeights,
    UnknownVersion,
    UploadTooLarge,
    VersionArchived,
    VersionRemoved,
)
from coterie.registry.jobs import CHECK_PAIR
from coterie.registry.models import (
    BASE,
    Alias,
    Blob,
    Dataset,
    Description,
    Metric,
    ModelPair,
    ModelVersion,
    Role,
    TeacherWeights,
    Variant,
    VersionDifference,
    Withdrawal,
)
from coterie.registry.npz import MAX_BYTES, DatasetFacts, inspect_dataset
from coterie.registry.selectors import ancestry, champion, has_teacher_weights
from coterie.registry.verifying import check, open_blob
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_learning.teacher import quantise_weights
from coterie_wire.bundle import BlobRef, ModelSpec, Task, TensorSpec
from coterie_wire.conditions import Reason
from coterie_wire.tensors import decode_tensors, read_header

MAX_PROGRAM_BYTES = 1 << 30
NO_FIELDS: Mapping[str, Field] = MappingProxyType({})


class EncodedDifference(NamedTuple):
    """The difference of a version from its parent, as encoded."""

    blob: Blob
    codec: str
    """The kind that encoded it."""
    residual: Blob | None
    """The encoding error against the merge's result; None: none is stored."""


def store_file(*, path: Path, now: datetime) -> Blob:
    """Store a file's bytes in the registry; the same bytes are stored once."""
    return _stored(lambda: BLOBS.put_file(path), now)


def submit_pair(
    *,
    name: str,
    device_program: Path,
    cloud_program: Path,
    labels: Sequence[str],
    batch_size: int,
    recipe: object = None,
    loss_program: Path | None = None,
    now: datetime,
) -> ModelPair:
    """Create a pair of uploaded `torch.export` programs and have them checked. They are not opened here.

    `recipe` is JSON as `coterie.compile.recipe` reads it; none is cross-entropy and SGD over all parameters.
    `loss_program` is the loss where the recipe's is `custom`. Raises WireError ``recipe.invalid``, LossProgramMismatch,
    BadName, BadLabels, UploadTooLarge or NameTaken.
    """
    check_permitted("registry.submit_pair")
    parsed = parse_recipe({} if recipe is None else recipe)
    _check_labels(labels, parsed.loss.task)
    if isinstance(parsed.loss, Custom) != (loss_program is not None):
        raise LossProgramMismatch(loss=parsed.loss.name)
    programs = [device_program, cloud_program, *([loss_program] if loss_program else [])]
    for program in programs:
        _check_size("The program", program, MAX_PROGRAM_BYTES)
    kept = [store_file(path=program, now=now) for program in programs]  # no transaction waits for the disk
    return _add_pair(name, labels, batch_size, recipe_document(parsed), kept, now)


@audited("registry.submit_pair")
def _add_pair(
    name: str, labels: Sequence[str], batch_size: int, recipe: object, programs: Sequence[Blob], now: datetime
) -> ModelPair:
    device_program, cloud_program, *others = programs
    slug = slugify(name)[:100] or "pair"
    try:
        with transaction.atomic():
            pair = ModelPair.objects.create(
                name=checked_name(name),
                slug=slug,
                labels=list(labels),
                batch_size=batch_size,
                recipe=recipe,
                device_program=device_program,
                cloud_program=cloud_program,
                loss_program=others[0] if others else None,
                created_at=now,
            )
            CHECK_PAIR.send(pair=str(pair.id))
    except IntegrityError as error:
        raise NameTaken(slug=slug) from error
    return pair


@transaction.atomic
def accept_pair(
    *,
    pair: ModelPair,
    spec: ModelSpec,
    train_step: Blob,
    predict: Blob,
    initial_parameters: Blob,
    initial_cloud_parameters: Blob | None = None,
    frozen: Blob | None = None,
    teacher_predict: Blob | None = None,
    teacher_parameters: Sequence[TensorSpec] = (),
    report: PairReport,
    now: datetime,
) -> None:
    """Record that the pair passed its pre-flight; nothing happens if it was judged before."""
    notify_consoles("registry")
    judged = ModelPair.objects.filter(pk=pair.pk, state=ModelPair.State.CHECKING).update(
        state=ModelPair.State.READY,
        spec=msgspec.to_builtins(spec),
        train_step=train_step,
        predict=predict,
        initial_parameters=initial_parameters,
        initial_cloud_parameters=initial_cloud_parameters,
        teacher_predict=teacher_predict,
        teacher_parameters=None if teacher_predict is None else msgspec.to_builtins(teacher_parameters),
        frozen=frozen,
        report=msgspec.to_builtins(report),
    )
    if judged:
        announce(Event.PAIR_JUDGED, {"pair": pair.slug, "state": ModelPair.State.READY.value}, about=pair, now=now)


@transaction.atomic
def reject_pair(*, pair: ModelPair, reason: Reason, fields: Mapping[str, Field] = NO_FIELDS, now: datetime) -> None:
    """Record that the pair failed its pre-flight; nothing happens if it was judged before.

    `fields` are those of the error, as the operator and the module that it names.
    """
    notify_consoles("registry")
    judged = ModelPair.objects.filter(pk=pair.pk, state=ModelPair.State.CHECKING).update(
        state=ModelPair.State.REJECTED,
        reason_code=reason.code,
        reason_sentence=reason.sentence,
        reason_fields=dict(fields),
    )
    if judged:
        told = {"pair": pair.slug, "state": ModelPair.State.REJECTED.value}
        announce(Event.PAIR_JUDGED, {**told, "code": reason.code, "sentence": reason.sentence}, about=pair, now=now)


@transaction.atomic
def publish_version(
    *,
    pair_id: UUID,
    role: Role,
    origin: ModelVersion.Origin,
    parent: ModelVersion | None,
    parameters: Blob,
    metrics: Mapping[str, Metric],
    now: datetime,
    lineage: str = BASE,
    server_state: Blob | None = None,
    difference: EncodedDifference | None = None,
    in_use: bool = True,
) -> ModelVersion:
    """Add the next version of a model and, where it is to be `in_use`, make it the champion of its lineage.

    `difference` makes its parameters of the parent's.
    Raises NotReady.
    """
    pair = ModelPair.objects.select_for_update(no_key=True).get(pk=pair_id)
    if pair.state != ModelPair.State.READY:
        raise NotReady(pair=pair.slug, state=pair.state)
    newest = ModelVersion.objects.filter(pair=pair, role=role, lineage=lineage).aggregate(number=Max("number"))[
        "number"
    ]
    version = ModelVersion.objects.create(
        pair=pair,
        role=role,
        lineage=lineage,
        number=(newest or 0) + 1,
        parent=parent,
        origin=origin,
        parameters=parameters,
        server_state=server_state,
        metrics=dict(metrics),
        created_at=now,
    )
    if difference is not None:
        VersionDifference.objects.create(version=version, **difference._asdict())
    if in_use:
        move_champion(version=version, now=now)
    else:
        notify_consoles("registry")
    return version


def repair_blob(*, blob: Blob, now: datetime) -> Blob:
    """Read a blob again, and replace it by a copy if it is still damaged. Raises BlobDamaged or BlobRemoved."""
    check_permitted("registry.repair_blob")
    if blob.removed_at is not None:
        raise BlobRemoved(sha256=blob.pk)
    was_damaged_at = blob.damaged_at
    replaced = check(blob.pk, now=now)  # of gigabytes perhaps: no transaction waits for the disk
    blob.refresh_from_db()
    if replaced or was_damaged_at is not None:
        before, after = {"damaged_at": was_damaged_at}, {"damaged_at": None, "replaced": replaced}
        record("registry.repair_blob", row=blob, before=before, after=after)
    return blob


def make_teacher(*, version: ModelVersion, now: datetime) -> None:
    """Make a version of a cloud model downloadable for devices, if it is not yet. The pair must have a graph."""
    if has_teacher_weights(version):
        return
    wanted = {spec.name for spec in version.pair.teacher_specs()}
    with open_blob(version.parameters_id, now=now) as file:
        content = file.read()
    stored = decode_tensors(content, expected=tuple(read_header(content).specs.values()))
    weights = quantise_weights({name: stored[name].astype(np.float32, copy=False) for name in wanted})
    blob = _stored(lambda: BLOBS.put_bytes(weights), now)
    TeacherWeights.objects.get_or_create(version=version, defaults={"blob": blob})


@transaction.atomic
def record_variant(
    *,
    version: ModelVersion,
    name: Variant.Name,
    graph: Blob | None,
    refused: Reason | None,
    measured: msgspec.Struct,
    now: datetime,
) -> Variant:
    """Store the result of making a smaller form of a version, its graph or why there is none; replaces a former one."""
    notify_consoles("registry")
    variant, _ = Variant.objects.update_or_create(
        version=version,
        name=name,
        defaults={
            "graph": graph,
            "reason_code": "" if refused is None else refused.code,
            "reason_sentence": "" if refused is None else refused.sentence,
            "measured": msgspec.to_builtins(measured),
            "made_at": now,
        },
    )
    return variant


@transaction.atomic
def move_champion(*, version: ModelVersion, now: datetime) -> None:
    """Use `version` from now on, whether it is newer or older than the one in use; its lineage is withdrawn no more."""
    notify_consoles("registry")
    withdrawn = Withdrawal.objects.filter(version__pair=version.pair_id, version__role=version.role)
    if withdrawn.exists():
        withdrawn.filter(version__in=ancestry(version)).delete()
    Alias.objects.update_or_create(
        pair_id=version.pair_id,
        role=version.role,
        lineage=version.lineage,
        name=Alias.Name.CHAMPION,
        defaults={"version": version, "moved_at": now},
    )
    told = {"pair": version.pair.slug, "role": version.role, "lineage": version.lineage}
    announce(
        Event.CHAMPION_CHANGED,
        {**told, "version": str(version.pk), "version_number": version.number},
        about=version,
        now=now,
    )


def _champion_alias(arguments: Mapping[str, object]) -> Alias | None:
    """The alias that is moved: of the given version's lineage, else of the given lineage."""
    aliases = Alias.objects.filter(
        pair=cast(ModelPair, arguments["pair"]), role=cast(Role, arguments["role"]), name=Alias.Name.CHAMPION
    )
    to = cast(UUID | None, arguments.get("to"))
    named = None if to is None else ModelVersion.objects.filter(pk=to).first()
    return aliases.filter(lineage=arguments.get("lineage", BASE) if named is None else named.lineage).first()


@audited("registry.roll_back", subject=_champion_alias)
def roll_back(
    *,
    pair: ModelPair,
    role: Role,
    to: UUID | None,
    now: datetime,
    lineage: str = BASE,
    why: str = "",  # noqa: ARG001 - stands in the audit log
) -> ModelVersion:
    """Move the champion of version `to`'s lineage to it; where None, that of `lineage` to its last ancestor there.

    Devices drop personal models that were trained from versions between the two. Raises UnknownVersion,
    NothingToRollBackTo, VersionArchived or VersionRemoved.
    """
    ModelPair.objects.select_for_update(no_key=True).get(pk=pair.pk)
    if to is None:
        current = champion(pair.pk, role, lineage)
        before = [] if current is None else ancestry(current)[1:]
        version = next((former for former in before if former.lineage == lineage), None)
        if version is None:
            raise NothingToRollBackTo(pair=pair.slug)
    else:
        version = ModelVersion.objects.filter(pair=pair, role=role, pk=to).first()
        if version is None:
            raise UnknownVersion(version=str(to))
    if Description.objects.filter(version=version).exclude(archived_at=None).exists():
        raise VersionArchived(version=str(version))
    hold_version(version)
    left = champion(pair.pk, role, version.lineage)
    move_champion(version=version, now=now)
    if left is not None and role == Role.DEVICE:
        for former in set(ancestry(left)) - set(ancestry(version)):
            if former.lineage == version.lineage:  # another federation's stays in use there
                withdraw_version(version=former, now=now)
    version.refresh_from_db()  # its aliases were read before one was moved
    return version


def copy_champion(*, pair_id: UUID, role: Role, source: str, target: str, now: datetime) -> ModelVersion | None:
    """The champion of lineage `source` as the next version, in use, of lineage `target`; None where there is none.

    Nothing happens where the target's champion has those parameters already. The server state is not copied. Raises
    NotReady or VersionRemoved.
    """
    version, current = champion(pair_id, role, source), champion(pair_id, role, target)
    if version is None or (current is not None and current.parameters_id == version.parameters_id):
        return current
    hold_version(version)
    return publish_version(
        pair_id=pair_id,
        role=role,
        lineage=target,
        origin=ModelVersion.Origin.COPY,
        parent=version,
        parameters=version.parameters,
        metrics=version.metrics,
        now=now,
    )


@audited("registry.use_uploaded_weights", subject=_champion_alias)
def use_uploaded_weights(*, pair: ModelPair, role: Role, now: datetime) -> ModelVersion:
    """The weights with which a model was uploaded as its next version, in use; the one in use where it has them.

    Raises NotReady or NoUploadedWeights.
    """
    if pair.state != ModelPair.State.READY:
        raise NotReady(pair=pair.slug, state=pair.state)
    parameters = pair.initial_cloud_parameters if role == Role.CLOUD else pair.initial_parameters
    if parameters is None:
        raise NoUploadedWeights(pair=pair.slug, role=role)
    current = champion(pair.pk, role)
    if current is not None and current.parameters_id == parameters.pk:
        return current
    return publish_version(
        pair_id=pair.pk,
        role=role,
        origin=ModelVersion.Origin.UPLOAD,
        parent=current,
        parameters=parameters,
        metrics={},
        now=now,
    )


def hold_version(version: ModelVersion) -> None:
    """Protect a version's parameters until the transaction ends, when a row must refer to it. Raises VersionRemoved."""
    if Blob.objects.select_for_update(no_key=True).get(pk=version.parameters_id).removed_at is not None:
        raise VersionRemoved(version=str(version.pk))


def withdraw_version(*, version: ModelVersion, now: datetime) -> None:
    """Have devices drop personal models trained from this version; nothing happens if they do already."""
    Withdrawal.objects.get_or_create(version=version, defaults={"withdrawn_at": now})


def add_dataset(*, name: str, path: Path, now: datetime) -> Dataset:
    """Take an uploaded .npz of samples. Raises BadName, UploadTooLarge or BadDataset."""
    check_permitted("registry.add_dataset")
    _check_size("The data set", path, MAX_BYTES)
    facts = inspect_dataset(path)
    return _add_dataset(name, facts, store_file(path=path, now=now), now)  # no transaction waits for the disk


@audited("registry.add_dataset")
def _add_dataset(name: str, facts: DatasetFacts, blob: Blob, now: datetime) -> Dataset:
    return Dataset.objects.create(
        name=checked_name(name),
        blob=blob,
        rows=facts.rows,
        inputs=msgspec.to_builtins(facts.inputs),
        target_shape=list(facts.target_shape),
        target_dtype=facts.target_dtype,
        classes=facts.classes,
        created_at=now,
    )


def _check_labels(labels: Sequence[str], task: Task) -> None:
    """Check that there are at least two labels for classes, one for labels of a sample, and none for other tasks."""
    fewest = {"classes": 2, "labels": 1}.get(task, 0)
    if len(labels) < fewest or len(set(labels)) != len(labels) or not all(labels):
        raise BadLabels(problem=f"{len(labels)} given, {len(set(filter(None, labels)))} of them different")
    if fewest == 0 and labels:
        raise BadLabels(problem=f"{len(labels)} given, but the recipe's loss is for {task}, which have none")


def _stored(put: Callable[[], BlobRef], now: datetime) -> Blob:
    """Record the bytes that `put` stores; they are stored again where they were removed meanwhile, or are damaged."""
    reference = put()
    with transaction.atomic():
        Blob.objects.get_or_create(
            sha256=reference.sha256, defaults={"size_bytes": reference.size_bytes, "created_at": now}
        )
        blob = Blob.objects.select_for_update(no_key=True).get(pk=reference.sha256)
        was_removed, was_damaged = blob.removed_at is not None, blob.damaged_at is not None
        blob.kept_at, blob.removed_at, blob.damaged_at = now, None, None
        blob.save(update_fields=["kept_at", "removed_at", "damaged_at"])
        if was_damaged:
            BLOBS.delete(blob.pk)
    if was_removed or was_damaged:
        put()
    return blob


def _check_size(what: str, path: Path, limit_bytes: int) -> None:
    size_bytes = path.stat().st_size
    if size_bytes > limit_bytes:
        raise UploadTooLarge(what=what, size_bytes=size_bytes, limit_bytes=limit_bytes)
