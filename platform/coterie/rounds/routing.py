"""By what way each update of a round comes: which devices are supernodes, and which send to them.

The way is decided when a device is asked, from what its neighbours have reported, and said with its reason. It changes
only by `send_directly`, which voids what was agreed before.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import msgspec
from django.db.models import Count, F, Q
from django.utils.crypto import salted_hmac

from coterie.core.events import notify_consoles, wake_devices
from coterie.core.identity import signing_key
from coterie.core.rows import insert_all
from coterie.federations.selectors import members
from coterie.fleet.models import Device
from coterie.fleet.presence import is_there
from coterie.fleet.signalling import way_to
from coterie.rounds import reasons
from coterie.rounds.models import Assignment, Fold, Round, Route
from coterie.rounds.suitability import Suitability, standings
from coterie_learning.partial_sums import saved_bytes
from coterie_wire.bundle import sign_content
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.messages import Capabilities
from coterie_wire.relaying import MAX_MEMBERS, SumRoute, Ticket
from coterie_wire.relaying import Route as RouteMessage
from coterie_wire.structs import from_values
from coterie_wire.version import PROTOCOL

CLOCKS_DIFFER = timedelta(hours=1)
"""By how much a supernode's clock may be wrong: tickets expire so long after their round's deadline."""


class Candidate(NamedTuple):
    """A device that can be a supernode now."""

    device: Device
    room: int
    """How many devices may still send to it."""
    sent: int
    """How many do."""
    standing: Suitability


def route_parts(*, round_: Round, parts: Sequence[Assignment], now: datetime) -> None:
    """Decide the ways of `parts`, which were just asked in `round_`."""
    topology = round_.parsed_plan().topology
    if topology.fan_in() is None or not parts:
        return
    devices = Device.objects.in_bulk([part.device_id for part in parts])
    sites: defaultdict[str, list[Assignment]] = defaultdict(list)
    routes: list[Route] = []
    for part in parts:
        site = site_of(devices[part.device_id], topology.site_tag())
        if site is None:
            routes.append(_directly(part, reasons.no_site(topology.site_tag()), now))
        elif capabilities_of(devices[part.device_id]).peer_key is None:
            routes.append(_directly(part, reasons.NO_PEER_KEY, now))
        else:
            sites[site].append(part)
    leaders = _candidates(round_, sites.keys(), now=now)
    for site, own in sites.items():
        routes += _within(round_, site, own, leaders.get(site, ()), now)
    insert_all(routes)
    if any(route.supernode_id is not None for route in routes):  # those, and who may stand in for them
        wake_devices({str(candidate.device.pk) for found in leaders.values() for candidate in found})


def send_directly(*, round_: Round, supernode: Device, reason: Reason, now: datetime) -> None:
    """Have the devices that send to `supernode` send to the platform: what it holds of theirs does not count.

    The caller holds the round's row.
    """
    routes = Route.objects.filter(
        supernode=supernode, assignment__round=round_, assignment__state__in=Assignment.UNENDED
    )
    concerned = list(routes.values_list("assignment__device_id", flat=True))
    held = routes.filter(held_at__isnull=False).count()
    Route.objects.filter(pk__in=list(routes.values_list("pk", flat=True))).update(**_detour(reason, now))
    round_.updates_in -= held
    round_.save(update_fields=["updates_in"])
    wake_devices(str(device) for device in concerned)
    notify_consoles("rounds")


def are_shed(round_: Round) -> bool:
    """Whether a supernode of an open round has less room by now than it has neighbours."""
    return round_.parsed_plan().topology.fan_in() is not None and any(_surplus(round_))


def shed(*, round_: Round, now: datetime) -> None:
    """Send the neighbours of supernodes that have less room by now to others of their site, or to the platform.

    Those go first whose update is not there yet. The caller holds the round's row.
    """
    for supernode, routes in _surplus(round_):
        offer = capabilities_of(supernode).relay
        assert offer is not None and offer.shedding is not None, "only those have a surplus"
        for left, route in zip(range(len(routes), 0, -1), routes, strict=True):
            _send_elsewhere(round_, route, supernode, offer.shedding.reason, together=left, now=now)
        wake_devices(str(route.assignment.device_id) for route in routes)
        notify_consoles("rounds")


def _surplus(round_: Round) -> Iterator[tuple[Device, Sequence[Route]]]:
    live = Route.objects.filter(assignment__round=round_, assignment__state__in=Assignment.UNENDED)
    shedding = live.filter(supernode__capabilities__relay__shedding__isnull=False).order_by()
    for supernode in Device.objects.in_bulk(list(shedding.values_list("supernode", flat=True).distinct())).values():
        own = live.filter(supernode=supernode).select_related("assignment__device")
        ordered = own.order_by(F("held_at").desc(nulls_first=True), "-changed_at", "pk")
        routes = list(ordered[: max(0, own.count() - room_of(supernode, MAX_MEMBERS))])
        if routes:
            yield supernode, routes


def _send_elsewhere(
    round_: Round, route: Route, supernode: Device, why: Reason, *, together: int, now: datetime
) -> None:
    """One of `together`; one compare-and-set."""
    plan, device = round_.parsed_plan(), route.assignment.device
    site = site_of(device, plan.topology.site_tag())
    found = () if site is None else _candidates(round_, [site], now=now).get(site, ())
    assert round_.base_version is not None, "an open round has a base"
    model = round_.base_version.pair.model_spec()
    others = [
        one.device
        for one in found
        if one.room
        and one.device.pk not in (supernode.pk, device.pk)
        and saved_bytes(plan.local, plan.codec, model, members=one.sent + together) > 0
    ]
    other = others[0] if others else None
    reason = reasons.shed(supernode.name, None if other is None else other.name, why.sentence)
    changes = _detour(reason, now) | {"supernode": other}
    if Route.objects.filter(pk=route.pk, epoch=route.epoch, supernode=supernode).update(**changes) and route.held_at:
        round_.updates_in -= 1
        round_.save(update_fields=["updates_in"])


def take_directly(*, assignment: Assignment, now: datetime) -> bool:
    """Count the update that the platform was sent itself; False if a supernode holds one, which counts instead."""
    route = Route.objects.filter(pk=assignment.pk).first()
    if route is None or route.supernode_id is None:
        return True
    mine = Route.objects.filter(pk=route.pk, epoch=route.epoch, held_at=None)
    return mine.update(**_detour(reasons.SUPERNODE_AWAY, now)) == 1


def route_message(route: Route) -> RouteMessage | None:
    """What the device is told; None: its update goes to the platform."""
    supernode = route.supernode
    if supernode is None:
        return None
    round_ = route.assignment.round
    way = way_in(supernode, route.assignment.device, assignment=route.pk, epoch=route.epoch, until=round_.deadline_at)
    if way is None:
        return None
    return RouteMessage(
        supernode=way.supernode,
        address=way.address,
        key=way.key,
        epoch=way.epoch,
        ticket=way.ticket,
        check_seed=check_seed(round_, supernode),
        tier_seeds=tier_seeds(round_),
        direct=way.direct,
    )


def way_in(
    supernode: Device, member: Device, *, assignment: UUID, epoch: int, until: datetime | None
) -> SumRoute | None:
    """Where, and with which ticket, `member` hands something in; None where one of the two has not told enough."""
    told, own = capabilities_of(supernode), capabilities_of(member)
    if told.relay is None or told.peer_key is None or own.peer_key is None or until is None:
        return None
    ticket = Ticket(
        protocol=PROTOCOL,
        assignment=str(assignment),
        member=str(member.pk),
        member_key=own.peer_key,
        supernode=str(supernode.pk),
        epoch=epoch,
        expires_at=(until + CLOCKS_DIFFER).timestamp(),
    )
    return SumRoute(
        supernode=str(supernode.pk),
        address=told.relay.address,
        key=told.peer_key,
        epoch=epoch,
        ticket=sign_content(msgspec.json.encode(ticket), signing_key()),
        direct=way_to(supernode) if own.paths else None,
    )


def are_on_a_route(device: Device, other: Device) -> bool:
    """Whether one of the two sends its update, or its sum, to the other now."""
    live = Route.objects.filter(assignment__state__in=Assignment.UNENDED)
    pair = Q(supernode=other, assignment__device=device) | Q(supernode=device, assignment__device=other)
    sums = Q(supernode=device, parent=other) | Q(supernode=other, parent=device)
    return live.filter(pair).exists() or Fold.objects.filter(sums, state=Fold.State.ASKED).exists()


def check_seed(round_: Round, supernode: Device) -> bytes:
    """What the fingerprints are drawn from of updates that go through `supernode`, which is never told it.

    Where sums of supernodes meet, one of them all, so that theirs can be added.
    """
    whose = "all" if round_.parsed_plan().topology.tiers() else str(supernode.pk)
    return _seed(f"{round_.pk} {whose}")


def tier_seeds(round_: Round) -> tuple[bytes, ...]:
    """By which supernodes of each tier check the sums that they add; each is told its own, and devices all."""
    return tuple(_seed(f"{round_.pk} tier {tier}") for tier in range(1, len(round_.parsed_plan().topology.tiers()) + 1))


def devices_told_seeds(round_: Round) -> frozenset[UUID]:
    """Those that could alter a sum and not be found out: they sum nothing in this round."""
    routes = Route.objects.filter(Q(supernode__isnull=False) | Q(epoch__gt=1), assignment__round=round_)
    return frozenset(routes.values_list("assignment__device", flat=True))


def _seed(what: str) -> bytes:
    return salted_hmac("coterie.rounds.check", what, algorithm="sha256").digest()


def peer_key_of(device: Device) -> bytes | None:
    """By which other devices know it."""
    return capabilities_of(device).peer_key


def _within(
    round_: Round, site: str, parts: Sequence[Assignment], leaders: Iterable[Candidate], now: datetime
) -> list[Route]:
    """The ways of devices of one site: as many as pay go to its best supernode, the rest to the next.

    Where sums meet again, no device that may sum hands its update to another: it would learn by what it is checked.
    """
    plan, routes = round_.parsed_plan(), []
    assert round_.base_version is not None, "an open round has a base"
    model = round_.base_version.pair.model_spec()
    found = list(leaders)
    leading = {candidate.device.pk for candidate in (found if plan.topology.tiers() else found[:1])}
    waiting = [part for part in parts if part.device_id not in leading]
    routes += [_directly(part, reasons.LEADS, now) for part in parts if part.device_id in leading]
    why = reasons.no_supernode(site)
    for candidate in found:
        taken = [part for part in waiting if part.device_id != candidate.device.pk][: candidate.room]
        together = candidate.sent + len(taken)
        if not taken:
            why = reasons.supernodes_full(site)
        elif saved_bytes(plan.local, plan.codec, model, members=together) <= 0:
            why = reasons.no_saving(site, together)
        else:
            reason = reasons.by_supernode(site, candidate.device.name, candidate.standing)
            routes += [_route(part, candidate.device.pk, reason, now) for part in taken]
            waiting = [part for part in waiting if part not in taken]
            why = reasons.supernodes_full(site)
    return routes + [_directly(part, why, now) for part in waiting]


def _candidates(round_: Round, sites: Iterable[str], *, now: datetime) -> Mapping[str, Sequence[Candidate]]:
    """By site, the devices that can be supernodes now, the best first; those that are ones already stay it."""
    topology = round_.parsed_plan().topology
    most, wanted = topology.fan_in() or 0, set(sites)
    offering = members(round_.federation).filter(
        is_there(now), capabilities__relay__isnull=False, quarantine="", paused_at=None
    )
    routes = Route.objects.filter(assignment__round=round_, supernode__isnull=False).order_by()
    sent = dict(routes.values_list("supernode").annotate(count=Count("pk")))
    told_seeds = devices_told_seeds(round_) if topology.tiers() else frozenset()
    found: defaultdict[str, list[tuple[Device, int]]] = defaultdict(list)
    for device in offering:
        site, told = site_of(device, topology.site_tag()), capabilities_of(device)
        if site not in wanted or told.relay is None or told.peer_key is None or not has_power(device):
            continue
        if device.pk in told_seeds:
            continue
        room = max(0, room_of(device, most) - sent.get(device.pk, 0))
        found[site].append((device, room))
    standing = standings(round_, [device for own in found.values() for device, _ in own])
    return {
        site: sorted(
            (Candidate(device, room, sent.get(device.pk, 0), standing[device.pk]) for device, room in own), key=_rank
        )
        for site, own in found.items()
    }


def _rank(candidate: Candidate) -> tuple[bool, float, UUID]:
    return not candidate.sent, -candidate.standing.score, candidate.device.pk


def room_of(device: Device, fan_in: int) -> int:
    """How many neighbours it may have in a round of this fan-in, as it says now."""
    offer = capabilities_of(device).relay
    if offer is None:
        return 0
    most = min(fan_in, offer.members, MAX_MEMBERS)
    return most if offer.shedding is None else min(most, offer.shedding.keep)


def has_power(device: Device) -> bool:
    """Whether it can receive and sum: it is not on battery, and its network is not metered."""
    conditions = from_values(device.conditions, Conditions)
    return conditions.charging != "no" and conditions.network not in ("metered", "none")


def site_of(device: Device, prefix: str) -> str | None:
    """The tag by which its neighbours are found; None: it has none."""
    return next((tag for tag in sorted(device.tags) if tag.startswith(prefix)), None)


def capabilities_of(device: Device) -> Capabilities:
    """As it reported them."""
    return from_values(device.capabilities, Capabilities)


def _detour(reason: Reason, now: datetime) -> dict[str, object]:
    """The columns of a route that ends."""
    return {
        "supernode": None,
        "epoch": F("epoch") + 1,
        "reason_code": reason.code,
        "reason_sentence": reason.sentence,
        "changed_at": now,
        "held_at": None,
        "norm": None,
        "fingerprint": None,
        "tier_fingerprints": [],
    }


def _route(part: Assignment, supernode: UUID | None, reason: Reason, now: datetime) -> Route:
    return Route(
        assignment=part,
        supernode_id=supernode,
        reason_code=reason.code,
        reason_sentence=reason.sentence,
        changed_at=now,
    )


def _directly(part: Assignment, reason: Reason, now: datetime) -> Route:
    return _route(part, None, reason, now)
