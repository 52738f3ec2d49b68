"""Receipts: everything that left a device, which privacy mechanism covered it, and how it was used."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

import msgspec
from django.db.models import OuterRef, Subquery

from coterie.device_logs.models import DeviceLog
from coterie.fleet.models import Device
from coterie.merging.models import Merge, Update
from coterie.rounds.models import Assignment, Round
from coterie.secure_sums.models import Party
from coterie.transfer.models import ReportedDay, Transfer
from coterie_learning.device_plan import PRIVACY
from coterie_wire.helping import SampleNoise
from coterie_wire.structs import from_values

Kind = Literal["update", "masked update", "portion", "profiles", "log"]
Fate = Literal["waits", "being merged", "counted", "left out", "of no use", "sent on", "kept"]


class Receipt(msgspec.Struct, frozen=True):
    """Something that left a device."""

    at: datetime
    kind: Kind
    size_bytes: int
    count: int
    """How many: more than one only of profiles, which are counted by the day."""
    federation: str
    """Blank: it was for none."""
    privacy: str
    """The kind of the plan that covered it, e.g. ``secure_aggregation``, or ``profile_noise``; blank: none does."""
    fate: Fate
    sentence: str
    """The same for its owner, e.g. ``counted in version 31``."""
    version: int | None = None
    """The first version that holds it."""
    accuracy: float | None = None
    """Of the version that the device began with, on samples that it held out; None: it did not tell."""
    sample: SampleNoise | None = None
    """What profiles under noise tell of one sample, by the device's word; None: they have no noise."""


class _Covered(msgspec.Struct, frozen=True):
    privacy: "_Kind"


class _Kind(msgspec.Struct, frozen=True):
    kind: str


def receipts_of(device: Device) -> list[Receipt]:
    """The receipts of everything that left the device, oldest first."""
    found = [*_updates(device), *_masked(device), *_portions(device), *_profiles(device), *_logs(device)]
    return sorted(found, key=lambda receipt: receipt.at)


def _updates(device: Device) -> Iterator[Receipt]:
    # The round that asked for it: its assignment may have been folded into it.
    asked = Round.objects.filter(pk=OuterRef("cohort"))
    updates = (
        Update.objects.filter(device=device)
        .select_related("federation", "merge__result_version", "partial", "assignment__round")
        .annotate(covering_plan=Subquery(asked.values("plan")))
    )
    for update in updates.iterator(chunk_size=500):
        fate, sentence, version = _fate_of(update)
        if update.partial is not None:
            sentence += "; it came in the sum of a neighbour, which alone read it"
        yield Receipt(
            at=update.received_at,
            kind="update",
            size_bytes=update.size_bytes,
            count=1,
            federation=update.federation.slug,
            privacy=_privacy(update.covering_plan),
            fate=fate,
            sentence=sentence,
            version=version,
            accuracy=update.accuracy_before,
        )


def _fate_of(update: Update) -> tuple[Fate, str, int | None]:
    if update.fault_code:
        return "left out", f"left out: {update.fault_sentence}", None
    if update.merge is None:
        ended = update.assignment.round.state == Round.State.ABANDONED and update.assignment.taken_by_id is not None
        return ("of no use", "its round was abandoned", None) if ended else ("waits", "waits for its merge", None)
    if update.merge.state == Merge.State.PUBLISHED and (update.kept is False or update.merge_weight == 0):
        return "left out", "left out: it differed too much from the others", None
    return _fate_of_merge(update.merge)


def _fate_of_merge(merge: Merge) -> tuple[Fate, str, int | None]:
    if merge.state == Merge.State.RUNNING:
        return "being merged", "is being merged", None
    if merge.result_version is None:
        return "of no use", f"no version was made of it: {merge.reason_sentence}", None
    number = merge.result_version.number
    return "counted", f"counted in version {number}", number


def _masked(device: Device) -> Iterator[Receipt]:
    parties = Party.objects.filter(device=device, delivered_at__isnull=False)
    for party in parties.select_related("sum__federation", "sum__merge__result_version").iterator(chunk_size=500):
        assert party.delivered_at is not None
        merge = getattr(party.sum, "merge", None)
        fate: tuple[Fate, str, int | None] = ("waits", "waits to be summed with others", None)
        if party.out_of_budget:
            fate = ("left out", "left out: no privacy budget paid for it", None)
        elif merge is not None:
            fate = _fate_of_merge(merge)
        elif party.sum.ended_at is not None and _is_abandoned(party):
            fate = ("of no use", f"no sum came of it: {party.sum.reason_sentence}", None)
        yield Receipt(
            at=party.delivered_at,
            kind="masked update",
            size_bytes=party.vector_bytes,
            count=1,
            federation=party.sum.federation.slug,
            privacy=_privacy(party.sum.plan),
            fate=fate[0],
            sentence=fate[1],
            version=fate[2],
        )


def _is_abandoned(party: Party) -> bool:
    return Assignment.objects.filter(pk=party.pk, round__state=Round.State.ABANDONED).exists()


def _portions(device: Device) -> Iterator[Receipt]:
    portions = Transfer.objects.filter(helper=device, delivered_at__isnull=False)
    for portion in portions.select_related("request__federation").iterator(chunk_size=500):
        assert portion.delivered_at is not None
        is_kept = portion.state == Transfer.State.KEPT
        yield Receipt(
            at=portion.delivered_at,
            kind="portion",
            size_bytes=portion.size_bytes,
            count=1,
            federation=portion.request.federation.slug,
            privacy="",
            fate="kept" if is_kept else "sent on",
            sentence="sent to another device, which " + ("kept it" if is_kept else f"ended with: {portion.state}"),
        )


def _profiles(device: Device) -> Iterator[Receipt]:
    reported = ReportedDay.objects.filter(device=device)
    for row in reported.select_related("federation").iterator(chunk_size=500):
        sample = SampleNoise(row.epsilon, row.delta) if 0 < row.noised == row.reports else None
        yield Receipt(
            at=row.latest_at,
            kind="profiles",
            size_bytes=row.size_bytes,
            count=row.reports,
            federation=row.federation.slug,
            privacy="" if sample is None else "profile_noise",
            fate="kept",
            sentence="told the platform which data the device has, to find it help",
            sample=sample,
        )


def _logs(device: Device) -> Iterator[Receipt]:
    for log in DeviceLog.objects.filter(device=device, state=DeviceLog.State.DELIVERED):
        assert log.ended_at is not None and log.keep_until is not None
        yield Receipt(
            at=log.ended_at,
            kind="log",
            size_bytes=log.size_bytes,
            count=1,
            federation="",
            privacy="",
            fate="kept",
            sentence=f"{log.line_count} lines for the operator who asked; they are removed on {log.keep_until:%F}",
        )


def _privacy(plan: object) -> str:
    """The plan's privacy kind that covered it, even if its package is no longer installed."""
    name = from_values(plan, _Covered).privacy.kind
    kind = PRIVACY.kinds.get(name)
    return "" if kind is not None and kind.leaves_as_is else name
