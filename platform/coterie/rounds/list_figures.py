"""Figures that lists show beside a row's own columns: read for a whole page in as many queries as for one row."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.db.models import Count, F, Model, OuterRef, QuerySet, Subquery, Window
from django.db.models.functions import RowNumber

from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet.selectors import enrolled_devices, holders
from coterie.merging.models import Update
from coterie.registry.models import BASE, Alias, ModelPair, ModelVersion, Role
from coterie.rounds.models import Assignment, Round

M = TypeVar("M", bound=Model)
POINTS = 30
"""At most so many points in a sparkline: more cannot be distinguished in it."""


@dataclass(frozen=True)
class InUse:
    """The version of a device model that is in use."""

    version: UUID
    number: int
    accuracy: float | None


@dataclass(frozen=True)
class FederationFigures:
    """How a federation does."""

    federation: UUID
    champion: InUse | None
    accuracies: tuple[float, ...]
    """Of its latest published rounds, oldest first."""
    last_round: Round | None
    """The latest that has ended."""
    next_round: Round | None
    """The one that is planned or under way."""
    on_champion: int
    on_others: int
    """Members that hold another version, most often an older one."""
    on_none: int


@dataclass(frozen=True)
class PairFigures:
    """How the device model of a pair does."""

    pair: UUID
    champion: InUse | None
    accuracies: tuple[float, ...]
    """Of the pair's own latest versions, oldest first."""
    versions: int
    devices: int
    """Enrolled devices that hold any of its versions."""


@dataclass(frozen=True)
class VersionFigures:
    """How a version does."""

    version: UUID
    accuracy: float | None
    accuracy_change: float | None
    """Against the version that it was made from."""
    devices: int
    """Enrolled devices that hold it."""


@dataclass(frozen=True)
class DeviceFigures:
    """How a device does."""

    device: UUID
    version: ModelVersion | None
    """What it holds, where it is a version that the platform knows."""
    versions_behind: int | None
    """The number of the champion of its lineage less its own; None: it holds none, or nothing is in use there."""
    last_part: Assignment | None
    accuracy: float | None
    """Of the version that it last began with, on its own samples."""
    updates: int
    """Updates of it that count."""


def accuracy_of(metrics: Mapping[str, object]) -> float | None:
    """On held-out samples; where there are none, the mean of what devices measured."""
    values = (metrics.get(name) for name in ("accuracy", "mean_accuracy"))
    return next((float(value) for value in values if isinstance(value, int | float)), None)


def rounds_before(rounds: Iterable[Round]) -> Mapping[int, Round]:
    """By round, the one that was published before it in its federation, as far as there is one."""
    earlier = Round.objects.filter(
        federation=OuterRef("federation"), number__lt=OuterRef("number"), state=Round.State.PUBLISHED
    ).order_by("-number")
    asked = Round.objects.filter(pk__in=[round_.pk for round_ in rounds]).order_by()
    before = dict(asked.values_list("pk", Subquery(earlier.values("pk")[:1])))
    by_key = _rounds().in_bulk({key for key in before.values() if key is not None})
    return {key: by_key[other] for key, other in before.items() if other is not None}


def federation_figures(federations: Sequence[Federation]) -> list[FederationFigures]:
    """Of each of `federations`, in their order."""
    in_use = _champions({federation.pair_id for federation in federations})
    rounds = _latest_rounds(federations)
    fleet = holders()
    found = []
    for federation in federations:
        ended = [round_ for round_ in rounds.get(federation.pk, []) if round_.state not in Round.ACTIVE]
        active = [round_ for round_ in rounds.get(federation.pk, []) if round_.state in Round.ACTIVE]
        champions = {
            lineage: version
            for (pair, lineage), version in in_use.items()
            if pair == federation.pair_id and _moves(federation, lineage)
        }
        holding = Counter[str]()
        for some in fleet:
            if some.belong(federation.project_id, federation.device_tag):
                holding[some.version] += some.devices
        on_champion = sum(holding[str(version.pk)] for version in champions.values())
        champion = champions.get(federation.lineage())
        accuracies = [accuracy_of(one.metrics) for one in reversed(ended) if one.state == Round.State.PUBLISHED]
        found.append(
            FederationFigures(
                federation=federation.pk,
                champion=None if champion is None else _in_use(champion),
                accuracies=tuple(value for value in accuracies if value is not None),
                last_round=ended[0] if ended else None,
                next_round=active[0] if active else None,
                on_champion=on_champion,
                on_others=holding.total() - on_champion - holding[""],
                on_none=holding[""],
            )
        )
    return found


def pair_figures(pairs: Sequence[ModelPair]) -> list[PairFigures]:
    """Of each of `pairs`, in their order."""
    in_use = _champions({pair.pk for pair in pairs})
    own = ModelVersion.objects.filter(pair__in=pairs, role=Role.DEVICE, lineage=BASE)
    latest: dict[UUID, list[float]] = {}
    for version in _newest(own, "pair", "number", POINTS).order_by("number"):
        accuracy = accuracy_of(version.metrics)
        if accuracy is not None:
            latest.setdefault(version.pair_id, []).append(accuracy)
    versions = ModelVersion.objects.filter(pair__in=pairs).order_by().values_list("pair")
    counts = dict(versions.annotate(count=Count("pk")))
    held = _held()
    pair_of = dict(ModelVersion.objects.filter(pk__in=list(held)).order_by().values_list("pk", "pair"))
    devices = Counter[UUID]()
    for version_id, pair in pair_of.items():
        devices[pair] += held[version_id]
    return [
        PairFigures(
            pair=pair.pk,
            champion=_in_use(in_use[pair.pk, BASE]) if (pair.pk, BASE) in in_use else None,
            accuracies=tuple(latest.get(pair.pk, [])),
            versions=counts.get(pair.pk, 0),
            devices=devices[pair.pk],
        )
        for pair in pairs
    ]


def version_figures(versions: Sequence[ModelVersion]) -> list[VersionFigures]:
    """Of each of `versions`, in their order."""
    parents = ModelVersion.objects.in_bulk({version.parent_id for version in versions if version.parent_id is not None})
    held = _held([version.pk for version in versions])
    found = []
    for version in versions:
        accuracy = accuracy_of(version.metrics)
        parent = parents.get(version.parent_id) if version.parent_id is not None else None
        before = None if parent is None else accuracy_of(parent.metrics)
        change = None if accuracy is None or before is None else accuracy - before
        found.append(VersionFigures(version.pk, accuracy, change, held[version.pk]))
    return found


def device_figures(devices: Sequence[Device]) -> list[DeviceFigures]:
    """Of each of `devices`, in their order."""
    keys = [device.pk for device in devices]
    held = {key for device in devices if (key := _version_id(device.held_version)) is not None}
    versions = ModelVersion.objects.select_related("pair").prefetch_related("aliases").in_bulk(held)
    in_use = _champions({version.pair_id for version in versions.values()})
    parts = _latest_parts(keys)
    updates = Update.objects.filter(device__in=keys).order_by()
    counts = dict(updates.values_list("device").annotate(count=Count("pk")))
    accuracies = dict(_newest(updates, "device", "received_at").values_list("device", "accuracy_before"))
    found = []
    for device in devices:
        key = _version_id(device.held_version)
        version = None if key is None else versions.get(key)
        found.append(
            DeviceFigures(
                device=device.pk,
                version=version,
                versions_behind=None if version is None else _behind(version, in_use),
                last_part=parts.get(device.pk),
                accuracy=accuracies.get(device.pk),
                updates=counts.get(device.pk, 0),
            )
        )
    return found


def _champions(pairs: Collection[UUID]) -> Mapping[tuple[UUID, str], ModelVersion]:
    """The device models in use, by pair and lineage."""
    aliases = Alias.objects.filter(pair__in=pairs, role=Role.DEVICE, name=Alias.Name.CHAMPION)
    return {(alias.pair_id, alias.lineage): alias.version for alias in aliases.select_related("version")}


def _in_use(version: ModelVersion) -> InUse:
    return InUse(version.pk, version.number, accuracy_of(version.metrics))


def _moves(federation: Federation, lineage: str) -> bool:
    """Whether the federation's rounds produce the versions of this lineage of its pair."""
    owner, is_own, _ = lineage.partition("/")
    return owner == federation.slug and bool(is_own) if federation.own_versions else not is_own


def _rounds() -> QuerySet[Round]:
    """Rounds without the large columns that lists do not show."""
    return Round.objects.select_related("merge").defer("plan", "merge__plan")


def _latest_rounds(federations: Sequence[Federation]) -> Mapping[UUID, list[Round]]:
    """The latest rounds of each, newest first."""
    found: dict[UUID, list[Round]] = {}
    latest = _newest(_rounds().filter(federation__in=federations), "federation", "number", POINTS)
    for round_ in latest.order_by("-number"):
        found.setdefault(round_.federation_id, []).append(round_)
    return found


def _latest_parts(devices: Collection[UUID]) -> Mapping[UUID, Assignment]:
    parts = _newest(Assignment.objects.filter(device__in=devices).order_by(), "device", "offered_at")
    return {part.device_id: part for part in parts.select_related("round__federation").defer("round__plan")}


def _newest(rows: QuerySet[M], of: str, by: str, count: int = 1) -> QuerySet[M]:
    """Of each `of` the `count` rows whose `by` is greatest."""
    nth = Window(RowNumber(), partition_by=[F(of)], order_by=F(by).desc())
    return rows.filter(pk__in=rows.order_by().annotate(nth=nth).filter(nth__lte=count).values("pk"))


def _held(versions: Collection[UUID] | None = None) -> Counter[UUID]:
    """How many enrolled devices hold each version, or each of `versions`."""
    devices = enrolled_devices().order_by()
    if versions is not None:
        devices = devices.filter(held_version__in=[str(version) for version in versions])
    found = Counter[UUID]()
    for held, count in devices.values_list("held_version").annotate(count=Count("*")):
        version = _version_id(held)
        if version is not None:
            found[version] = count
    return found


def _version_id(held: str) -> UUID | None:
    """The version that a device says it holds; None: it says none, or what is no version's id."""
    with suppress(ValueError):
        return UUID(held)
    return None


def _behind(version: ModelVersion, in_use: Mapping[tuple[UUID, str], ModelVersion]) -> int | None:
    champion = in_use.get((version.pair_id, version.lineage))
    return None if champion is None else champion.number - version.number
