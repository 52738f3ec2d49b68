"""Queries on pairs, versions and blobs."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from uuid import UUID

import msgspec
from django.db.models import Exists, ForeignObjectRel, Model, OuterRef, Q
from msgspec import UNSET

from coterie.core.identity import signing_key
from coterie.evaluation.datasets import choices
from coterie.registry.errors import BlobDamaged, UnknownBlob
from coterie.registry.models import (
    BASE,
    Alias,
    Blob,
    Dataset,
    ModelPair,
    ModelVersion,
    Role,
    TeacherWeights,
    Variant,
    VersionDifference,
    Withdrawal,
)
from coterie_learning.teacher import Teacher, sign_teacher
from coterie_wire.bundle import BlobRef, Difference, Manifest, SignedManifest, TensorSpec, sign_manifest
from coterie_wire.contract import at_length
from coterie_wire.messages import MAX_WITHDRAWN
from coterie_wire.variants import Variant as VariantForm
from coterie_wire.variants import Variants, sign_variants
from coterie_wire.version import PROTOCOL

SHA256 = re.compile(r"[0-9a-f]{64}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def champion(pair_id: UUID, role: Role, lineage: str = BASE) -> ModelVersion | None:
    """The version in use; None before the first is published."""
    return ModelVersion.objects.filter(
        aliases__pair=pair_id, aliases__role=role, aliases__lineage=lineage, aliases__name=Alias.Name.CHAMPION
    ).first()


def champions(pair_ids: Collection[UUID], role: Role) -> Mapping[tuple[UUID, str], UUID]:
    """The versions in use of several pairs, by pair and lineage."""
    aliases = Alias.objects.filter(pair__in=pair_ids, role=role, name=Alias.Name.CHAMPION).order_by()
    return {(pair, lineage): version for pair, lineage, version in aliases.values_list("pair", "lineage", "version")}


def misfit(pair: ModelPair, dataset: Dataset) -> str | None:
    """Why the models of a ready pair cannot take the samples of a data set; None: they can."""
    model = pair.model_spec()
    inputs, given = model.inputs, dataset.input_specs()
    if len(inputs) == 1 and set(given) == {"x"}:
        given = {inputs[0].name: msgspec.structs.replace(given["x"], name=inputs[0].name)}
    if model.length is not UNSET:
        length = model.length.found_in({name: tensor.shape for name, tensor in given.items()})
        model = at_length(model, model.length.longest if length is None else length)
    inputs, target = model.inputs, model.target
    if {tensor.name: tensor for tensor in inputs} != given:
        found, taken = (_shown(tensors) for tensors in (given.values(), inputs))
        return f"its samples are {found}, the model takes {taken}"
    if (list(target.shape), target.dtype) != (dataset.target_shape, dataset.target_dtype):
        found = f"{dataset.target_dtype} {dataset.target_shape}"
        return f"its targets are {found}, the model learns {target.dtype} {list(target.shape)}"
    known = choices(model.task, model.output)
    if known is not None and dataset.classes > known:
        return f"it has {dataset.classes} classes, the model knows {known}"
    return None


def _shown(tensors: Iterable[TensorSpec]) -> str:
    return ", ".join(f"{tensor.name} {tensor.dtype} {list(tensor.shape)}" for tensor in tensors)


def ancestry(version: ModelVersion) -> list[ModelVersion]:
    """`version` and its ancestors, youngest first."""
    relatives = ModelVersion.objects.filter(pair=version.pair_id, role=version.role)
    family = {relative.id: relative for relative in relatives.select_related("parameters").prefetch_related("aliases")}
    lineage = [family[version.id]]
    while (parent := lineage[-1].parent_id) is not None:
        lineage.append(family[parent])
    return lineage


def latest_ancestors(version: ModelVersion, *, count: int) -> list[UUID]:
    """`version` and its ancestors, youngest first, `count` at most."""
    parents = dict(
        ModelVersion.objects.filter(
            pair=version.pair_id, role=version.role, lineage=version.lineage, number__lte=version.number
        )
        .order_by("-number")
        .values_list("pk", "parent")
    )
    found: list[UUID] = []
    oldest: UUID | None = version.pk
    while oldest in parents and len(found) < count:
        found.append(oldest)
        oldest = parents[oldest]
    return found


def withdrawn_versions(pair_id: UUID) -> tuple[UUID, ...]:
    """Versions of the pair's device model that were rolled back and are not in use again: the newest, newest first.

    A device that missed more of them than a directive holds keeps its personal model.
    """
    withdrawn = Withdrawal.objects.filter(version__pair=pair_id).order_by("-version__created_at", "-version__number")
    return tuple(withdrawn.values_list("version", flat=True)[:MAX_WITHDRAWN])


def device_blob(sha256: str) -> Blob:
    """A blob that devices may read: a graph, a device model's parameters and what a merge remembers beside them, a
    variant, or a teacher's; never programs or data sets.

    Raises UnknownBlob, also for blobs that exist for others, or whose bytes were removed, or BlobDamaged.
    """
    if SHA256.fullmatch(sha256) is None:  # PostgreSQL takes no zero bytes
        raise UnknownBlob(sha256=sha256)
    graphs = ModelPair.objects.filter(
        Q(train_step=OuterRef("pk"))
        | Q(predict=OuterRef("pk"))
        | Q(frozen=OuterRef("pk"))
        | Q(teacher_predict=OuterRef("pk"))
    )
    weights = TeacherWeights.objects.filter(blob=OuterRef("pk"))
    differences = VersionDifference.objects.filter(blob=OuterRef("pk"))
    of_version = Q(parameters=OuterRef("pk")) | Q(server_state=OuterRef("pk"))
    parameters = ModelVersion.objects.filter(of_version, role=Role.DEVICE)
    variants = Variant.objects.filter(graph=OuterRef("pk"))
    readable = Exists(graphs) | Exists(parameters) | Exists(weights) | Exists(differences) | Exists(variants)
    blob = Blob.objects.filter(readable, pk=sha256, removed_at=None).first()
    if blob is None:
        raise UnknownBlob(sha256=sha256)
    if blob.damaged_at is not None:
        raise BlobDamaged(sha256=sha256)
    return blob


def uses_of(sha256: str) -> list[str]:
    """The rows that need a blob: their kinds and names, in alphabetical order."""
    return sorted(
        {
            f"{model._meta.verbose_name} {row}"
            for model, column in references()
            for row in model._default_manager.filter(**{column: sha256})
        }
    )


def pairs_that_need(sha256: str) -> list[ModelPair]:
    """Pairs that have it among their programs, graphs and versions, by name."""
    needs = Q(versions__parameters=sha256) | Q(versions__server_state=sha256)
    for model, column in references():
        if model is ModelPair:
            needs |= Q(**{column: sha256})
    return list(ModelPair.objects.filter(needs).distinct().order_by("slug"))


def references() -> Iterator[tuple[type[Model], str]]:
    """Every column of any table that refers to a blob, so that tables that are added later keep their blobs too."""
    for relation in Blob._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel):
            yield relation.field.model, relation.field.name


@lru_cache(maxsize=256)
def signed_manifest(version_id: UUID, *, with_state: bool = False) -> SignedManifest:
    """What a device downloads for a version of a device model, signed. Versions never change, so neither does this.

    It names the server state beside the version too, `with_state` and where there is one.
    """
    version = ModelVersion.objects.select_related(
        "pair__train_step", "pair__predict", "pair__frozen", "parameters", "server_state"
    ).get(pk=version_id, role=Role.DEVICE)
    pair = version.pair
    assert pair.train_step is not None and pair.predict is not None, "only a ready pair has versions"
    manifest = Manifest(
        protocol=PROTOCOL,
        pair=str(pair.id),
        version=str(version.id),
        number=version.number,
        model=pair.model_spec(),
        labels=tuple(pair.labels),
        train_step=pair.train_step.reference(),
        predict=pair.predict.reference(),
        frozen=None if pair.frozen is None else pair.frozen.reference(),
        parameters=version.parameters.reference(),
        server_state=version.server_state.reference() if with_state and version.server_state is not None else UNSET,
    )
    return sign_manifest(manifest, signing_key())


def difference_between(held: str, version_id: UUID, *, has_codec: Callable[[str], bool]) -> Difference | None:
    """The difference from the version `held` to the next; None where it is not the next, or is no larger whole.

    `has_codec` tells whether the device has the codec of a name.
    """
    found = VersionDifference.objects.select_related("blob", "version__parent", "version__parameters")
    difference = found.filter(version=version_id, blob__removed_at=None, blob__damaged_at=None).first()
    if difference is None or difference.version.parent is None or str(difference.version.parent_id) != held:
        return None
    if not has_codec(difference.codec) or difference.blob.size_bytes >= difference.version.parameters.size_bytes:
        return None
    return Difference(base=difference.version.parent.parameters_id, blob=difference.blob.reference())


def offered_variants(versions: Collection[str]) -> Mapping[str, SignedManifest]:
    """By version, the signed list of its smaller forms; only of those of `versions` that have one."""
    known = {UUID(version) for version in versions if _UUID.fullmatch(version)}
    offered: dict[UUID, list[Variant]] = {}
    for variant in Variant.objects.filter(version__in=known, graph__isnull=False).select_related("graph"):
        offered.setdefault(variant.version_id, []).append(variant)
    return {
        str(version): _signed_variants(
            str(version), tuple((form.name, form.graph.reference()) for form in forms if form.graph is not None)
        )
        for version, forms in offered.items()
    }


@lru_cache(maxsize=256)
def _signed_variants(version: str, forms: tuple[tuple[str, BlobRef], ...]) -> SignedManifest:
    listed = tuple(VariantForm(name, graph) for name, graph in forms)
    return sign_variants(Variants(PROTOCOL, version, listed), signing_key())


def has_teacher_weights(version: ModelVersion) -> bool:
    """Whether devices can download a version of a cloud model."""
    return TeacherWeights.objects.filter(version=version).exists()


@lru_cache(maxsize=256)
def signed_teacher(version_id: UUID) -> SignedManifest:
    """What a device downloads of a version of a cloud model that has teacher weights, signed; it never changes."""
    weights = TeacherWeights.objects.select_related("version__pair__teacher_predict", "blob").get(version=version_id)
    pair = weights.version.pair
    assert pair.teacher_predict is not None, "weights are made for a graph"
    model = pair.model_spec()
    teacher = Teacher(
        protocol=PROTOCOL,
        pair=str(pair.id),
        version=str(version_id),
        inputs=model.inputs,
        classes=model.classes,
        parameters=pair.teacher_specs(),
        predict=pair.teacher_predict.reference(),
        weights=weights.blob.reference(),
    )
    return sign_teacher(teacher, signing_key())
