"""Changes to the registry: pairs are submitted and judged, versions published, aliases moved, data sets added."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import cast
from uuid import UUID

import msgspec
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils.text import slugify

from coterie.audit.recording import audited
from coterie.registry.content import BLOBS
from coterie.registry.errors import (
    BadLabels,
    NameTaken,
    NothingToRollBackTo,
    NotReady,
    UnknownVersion,
    UploadTooLarge,
)
from coterie.registry.jobs import CHECK_PAIR
from coterie.registry.models import Alias, Blob, Dataset, ModelPair, ModelVersion, Role
from coterie.registry.npz import MAX_BYTES, inspect_dataset
from coterie.registry.selectors import champion
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.conditions import Reason

MAX_PROGRAM_BYTES = 1 << 30


def keep_file(*, path: Path, now: datetime) -> Blob:
    """A file's bytes in the registry; the same bytes are kept once."""
    return _recorded(BLOBS.put_file(path), now)


@audited("registry.submit_pair")
def submit_pair(
    *, name: str, device_program: Path, cloud_program: Path, labels: Sequence[str], batch_size: int, now: datetime
) -> ModelPair:
    """Take a pair of uploaded `torch.export` programs and have them checked. They are not opened here.

    Raises BadLabels, UploadTooLarge or NameTaken.
    """
    if len(labels) < 2 or len(set(labels)) != len(labels) or not all(labels):
        raise BadLabels(problem=f"{len(labels)} given, {len(set(filter(None, labels)))} of them different")
    for program in (device_program, cloud_program):
        _check_size("The program", program, MAX_PROGRAM_BYTES)
    kept = [keep_file(path=program, now=now) for program in (device_program, cloud_program)]
    slug = slugify(name)[:100] or "pair"
    try:
        with transaction.atomic():
            pair = ModelPair.objects.create(
                name=name,
                slug=slug,
                labels=list(labels),
                batch_size=batch_size,
                device_program=kept[0],
                cloud_program=kept[1],
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
    report: Mapping[str, object],
) -> None:
    """The pair passed its pre-flight; nothing happens if it was judged before."""
    ModelPair.objects.filter(pk=pair.pk, state=ModelPair.State.CHECKING).update(
        state=ModelPair.State.READY,
        spec=msgspec.to_builtins(spec),
        train_step=train_step,
        predict=predict,
        initial_parameters=initial_parameters,
        report=dict(report),
    )


@transaction.atomic
def reject_pair(*, pair: ModelPair, reason: Reason) -> None:
    """The pair failed its pre-flight; nothing happens if it was judged before."""
    ModelPair.objects.filter(pk=pair.pk, state=ModelPair.State.CHECKING).update(
        state=ModelPair.State.REJECTED, reason_code=reason.code, reason_sentence=reason.sentence
    )


@transaction.atomic
def publish_version(
    *,
    pair_id: UUID,
    role: Role,
    origin: ModelVersion.Origin,
    parent: ModelVersion | None,
    parameters: Blob,
    metrics: Mapping[str, float],
    now: datetime,
) -> ModelVersion:
    """Add the next version of a model and make it the champion. Raises NotReady."""
    pair = ModelPair.objects.select_for_update().get(pk=pair_id)
    if pair.state != ModelPair.State.READY:
        raise NotReady(pair=pair.slug, state=pair.state)
    newest = ModelVersion.objects.filter(pair=pair, role=role).aggregate(number=Max("number"))["number"]
    version = ModelVersion.objects.create(
        pair=pair,
        role=role,
        number=(newest or 0) + 1,
        parent=parent,
        origin=origin,
        parameters=parameters,
        metrics=dict(metrics),
        created_at=now,
    )
    move_champion(version=version, now=now)
    return version


@transaction.atomic
def move_champion(*, version: ModelVersion, now: datetime) -> None:
    """Use `version` from now on, whether it is newer or older than the one in use."""
    Alias.objects.update_or_create(
        pair_id=version.pair_id,
        role=version.role,
        name=Alias.Name.CHAMPION,
        defaults={"version": version, "moved_at": now},
    )


def _champion_alias(arguments: Mapping[str, object]) -> Alias | None:
    return Alias.objects.filter(
        pair=cast(ModelPair, arguments["pair"]), role=cast(Role, arguments["role"]), name=Alias.Name.CHAMPION
    ).first()


@audited("registry.roll_back", subject=_champion_alias)
def roll_back(*, pair: ModelPair, role: Role, to: UUID | None, now: datetime) -> ModelVersion:
    """Move the champion to version `to`, or to its parent where None. Raises UnknownVersion or NothingToRollBackTo."""
    ModelPair.objects.select_for_update().get(pk=pair.pk)
    if to is None:
        current = champion(pair.pk, role)
        version = current.parent if current is not None else None
        if version is None:
            raise NothingToRollBackTo(pair=pair.slug)
    else:
        version = ModelVersion.objects.filter(pair=pair, role=role, pk=to).first()
        if version is None:
            raise UnknownVersion(version=str(to))
    move_champion(version=version, now=now)
    return version


@audited("registry.add_dataset")
def add_dataset(*, name: str, path: Path, now: datetime) -> Dataset:
    """Take an uploaded .npz of samples. Raises UploadTooLarge or BadDataset."""
    _check_size("The data set", path, MAX_BYTES)
    facts = inspect_dataset(path)
    return Dataset.objects.create(
        name=name,
        blob=keep_file(path=path, now=now),
        rows=facts.rows,
        feature_shape=list(facts.feature_shape),
        feature_dtype=facts.feature_dtype,
        classes=facts.classes,
        created_at=now,
    )


def _recorded(reference: BlobRef, now: datetime) -> Blob:
    blob, _ = Blob.objects.get_or_create(
        sha256=reference.sha256, defaults={"size_bytes": reference.size_bytes, "created_at": now}
    )
    return blob


def _check_size(what: str, path: Path, limit_bytes: int) -> None:
    size_bytes = path.stat().st_size
    if size_bytes > limit_bytes:
        raise UploadTooLarge(what=what, size_bytes=size_bytes, limit_bytes=limit_bytes)
