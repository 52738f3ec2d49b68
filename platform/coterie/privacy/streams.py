"""Streams of releases with correlated noise: the index of each release, and which devices pause between two.

A release is a merge whose sum was formed and judged, published or not. Rounds that are abandoned before that are none.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from coterie.federations.models import Federation
from coterie.federations.selectors import members
from coterie.fleet.models import Device
from coterie.privacy import reasons
from coterie.privacy.models import Charge, StreamRelease
from coterie_learning.plan import Plan
from coterie_learning.privacy import Stream
from coterie_wire.conditions import Reason


def stream_of(plan: Plan) -> Stream | None:
    """The stream of a plan's releases, if it holds rounds that have one."""
    return plan.privacy.stream() if plan.pace.holds_rounds() else None


def index_of(federation: Federation, stream: Stream, *, release: str | None = None) -> int:
    """The index in the stream, from 0, of the release of that name, or of the next one."""
    before = _releases(federation, stream)
    index = before.filter(release=release).values_list("index", flat=True).first() if release else None
    return before.count() if index is None else index


def sums_before(federation: Federation, stream: Stream, *, index: int) -> Sequence[str]:
    """The digests of the releases before number `index`, oldest first."""
    return list(_releases(federation, stream).filter(index__lt=index).values_list("digest", flat=True))


def secret_of(federation: Federation, stream: Stream) -> bytes:
    """The secret from which the stream's noise is drawn [32 bytes]; it is derived each time, and never stored."""
    name = f"{federation.pk} {stream.apart}"
    return salted_hmac("coterie.privacy.stream", name, algorithm="sha256").digest()


def record_release(*, federation: Federation, stream: Stream, release: str, digest: str, now: datetime) -> None:
    """Record what was summed, before any result is released. A repeated merge keeps its index."""
    StreamRelease.objects.update_or_create(
        federation=federation,
        apart=stream.apart,
        index=index_of(federation, stream, release=release),
        defaults={"release": release, "digest": digest, "at": now},
    )


def resting(devices: Collection[UUID], federation: Federation, stream: Stream, *, index: int) -> frozenset[UUID]:
    """The devices that took part in a release too close to number `index` to take part in that one."""
    return frozenset(_resting(federation, stream, index).filter(device__in=devices).values_list("device", flat=True))


def rested(devices: QuerySet[Device], federation: Federation, plan: Plan) -> QuerySet[Device]:
    """The devices that may take part in the next release; all where the plan has no stream."""
    stream = stream_of(plan)
    if stream is None:
        return devices
    index = index_of(federation, stream)
    return devices.exclude(pk__in=_resting(federation, stream, index).values("device"))


def why_resting(device: Device, federation: Federation, plan: Plan) -> Reason | None:
    """Why the device may not take part in the next release yet; None: it may."""
    stream = stream_of(plan)
    if stream is None:
        return None
    index = index_of(federation, stream)
    charged = _resting(federation, stream, index).filter(device=device).values("release")
    latest = _releases(federation, stream).filter(release__in=charged).order_by("-index").first()
    return None if latest is None else reasons.resting(latest.index + stream.apart - index)


def why_ended(federation: Federation, plan: Plan) -> Reason | None:
    """Why no further round is held: all releases that the guarantee covers were made; None: some are left."""
    stream = stream_of(plan)
    if stream is None or index_of(federation, stream) < stream.rounds:
        return None
    return reasons.stream_ended(stream.rounds)


def why_never(federation: Federation, plan: Plan, *, needed: int) -> Reason | None:
    """Why waiting for devices is useless: pausing ones return after rounds for which the others are too few.

    None: it is not useless.
    """
    stream, fleet = stream_of(plan), members(federation)
    if stream is None or fleet.count() < needed:
        return None
    others = rested(fleet, federation, plan).count()
    return None if others >= needed else reasons.too_few_rested(needed=needed, others=others, apart=stream.apart)


def releases_to_come(federation: Federation, stream: Stream) -> int:
    """How many releases are left until the stream ends."""
    return max(0, stream.rounds - index_of(federation, stream))


def _releases(federation: Federation, stream: Stream) -> QuerySet[StreamRelease]:
    return StreamRelease.objects.filter(federation=federation, apart=stream.apart)


def _resting(federation: Federation, stream: Stream, index: int) -> QuerySet[Charge]:
    """Charges for releases fewer than `apart` before number `index`."""
    near = _releases(federation, stream).filter(index__lt=index, index__gt=index - stream.apart)
    return Charge.objects.filter(federation=federation, release__in=near.order_by().values("release")).order_by()
