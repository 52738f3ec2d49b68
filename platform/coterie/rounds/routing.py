"""The route of each update of a round: which devices are supernodes, and which devices send to them.

The route is decided when a device is invited, from what its neighbours have reported, and is stored with its reason. It
changes only by rerouting, which raises its epoch and voids what was agreed before.
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
from coterie.fleet.presence import is_on_time
from coterie.fleet.signalling import direct_peer_of
from coterie.rounds import reasons
from coterie.rounds.models import Assignment, Fold, Round, Route
from coterie.rounds.suitability import Suitability, suitabilities
from coterie_learning.partial_sums import saved_bytes
from coterie_wire.bundle import sign_content
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.messages import Capabilities
from coterie_wire.relaying import MAX_MEMBERS, SumRoute, Ticket
from coterie_wire.relaying import Route as RouteMessage
from coterie_wire.structs import from_values
from coterie_wire.version import PROTOCOL

CLOCK_SKEW = timedelta(hours=1)
"""How far a supernode's clock may be off: tickets expire this long after their round's deadline."""


class Candidate(NamedTuple):
    """A device that can be a supernode now."""

    device: Device
    room: int
    """How many more devices may send to it."""
    sent: int
    """How many devices send to it now."""
    suitability: Suitability


def route_parts(*, round_: Round, parts: Sequence[Assignment], now: datetime) -> None:
    """Decide the routes of `parts`, which were just created in `round_`."""
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
        routes += _routes_of_site(round_, site, own, leaders.get(site, ()), now)
    insert_all(routes)
    if any(route.supernode_id is not None for route in routes):  # supernodes, and those that may replace them
        wake_devices({str(candidate.device.pk) for found in leaders.values() for candidate in found})


def send_directly(*, round_: Round, supernode: Device, reason: Reason, now: datetime) -> None:
    """Reroute the devices that send to `supernode` to the platform: what it holds of theirs does not count.

    The caller holds the round's row.
    """
    routes = Route.objects.filter(
        supernode=supernode, assignment__round=round_, assignment__state__in=Assignment.UNENDED
    )
    concerned = list(routes.values_list("assignment__device_id", flat=True))
    held = routes.filter(held_at__isnull=False).count()
    Route.objects.filter(pk__in=list(routes.values_list("pk", flat=True))).update(**_direct_route(reason, now))
    round_.updates_in -= held
    round_.save(update_fields=["updates_in"])
    wake_devices(str(device) for device in concerned)
    notify_consoles("rounds")


def has_overloaded_supernodes(round_: Round) -> bool:
    """Whether a supernode of an open round now accepts fewer neighbours than it has."""
    return round_.parsed_plan().topology.fan_in() is not None and any(_surplus(round_))


def shed_members(*, round_: Round, now: datetime) -> None:
    """Reroute surplus neighbours of overloaded supernodes to others of their site, or to the platform.

    Devices whose update has not arrived yet are rerouted first. The caller holds the round's row.
    """
    for supernode, routes in _surplus(round_):
        offer = capabilities_of(supernode).relay
        assert offer is not None and offer.shedding is not None, "only those have a surplus"
        for left, route in zip(range(len(routes), 0, -1), routes, strict=True):
            _reroute(round_, route, supernode, offer.shedding.reason, together=left, now=now)
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


def _reroute(round_: Round, route: Route, supernode: Device, why: Reason, *, together: int, now: datetime) -> None:
    """Reroute one of `together` devices, by one compare-and-set."""
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
    changes = _direct_route(reason, now) | {"supernode": other}
    if Route.objects.filter(pk=route.pk, epoch=route.epoch, supernode=supernode).update(**changes) and route.held_at:
        round_.updates_in -= 1
        round_.save(update_fields=["updates_in"])


def take_directly(*, assignment: Assignment, now: datetime) -> bool:
    """Have an update that was sent to the platform count; False if a supernode holds one, which counts instead."""
    route = Route.objects.filter(pk=assignment.pk).first()
    if route is None or route.supernode_id is None:
        return True
    unclaimed = Route.objects.filter(pk=route.pk, epoch=route.epoch, held_at=None)
    return unclaimed.update(**_direct_route(reasons.SUPERNODE_AWAY, now)) == 1


def route_message(route: Route) -> RouteMessage | None:
    """The route as sent to the device; None: its update goes to the platform."""
    supernode = route.supernode
    if supernode is None:
        return None
    round_ = route.assignment.round
    way = route_to(supernode, route.assignment.device, assignment=route.pk, epoch=route.epoch, until=round_.deadline_at)
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


def route_to(
    supernode: Device, member: Device, *, assignment: UUID, epoch: int, until: datetime | None
) -> SumRoute | None:
    """Address and ticket for `member` to send to `supernode`; None where one of the two has not reported enough."""
    offer, own = capabilities_of(supernode), capabilities_of(member)
    if offer.relay is None or offer.peer_key is None or own.peer_key is None or until is None:
        return None
    ticket = Ticket(
        protocol=PROTOCOL,
        assignment=str(assignment),
        member=str(member.pk),
        member_key=own.peer_key,
        supernode=str(supernode.pk),
        epoch=epoch,
        expires_at=(until + CLOCK_SKEW).timestamp(),
    )
    return SumRoute(
        supernode=str(supernode.pk),
        address=offer.relay.address,
        key=offer.peer_key,
        epoch=epoch,
        ticket=sign_content(msgspec.json.encode(ticket), signing_key()),
        direct=direct_peer_of(supernode) if own.paths else None,
    )


def are_on_a_route(device: Device, other: Device) -> bool:
    """Whether one of the two sends its update, or its sum, to the other now."""
    live = Route.objects.filter(assignment__state__in=Assignment.UNENDED)
    pair = Q(supernode=other, assignment__device=device) | Q(supernode=device, assignment__device=other)
    sums = Q(supernode=device, parent=other) | Q(supernode=other, parent=device)
    return live.filter(pair).exists() or Fold.objects.filter(sums, state=Fold.State.ASKED).exists()


def check_seed(round_: Round, supernode: Device) -> bytes:
    """The seed of the fingerprints of updates that go through `supernode`, which never learns it.

    Where the plan has tiers, one seed for all supernodes, so that their fingerprints can be added.
    """
    whose = "all" if round_.parsed_plan().topology.tiers() else str(supernode.pk)
    return _seed(f"{round_.pk} {whose}")


def tier_seeds(round_: Round) -> tuple[bytes, ...]:
    """By tier, the seed with which supernodes check the sums that they add; each gets its own, devices get all."""
    return tuple(_seed(f"{round_.pk} tier {tier}") for tier in range(1, len(round_.parsed_plan().topology.tiers()) + 1))


def devices_knowing_seeds(round_: Round) -> frozenset[UUID]:
    """Devices that know the seeds and could alter a sum undetected: they sum nothing in this round."""
    routes = Route.objects.filter(Q(supernode__isnull=False) | Q(epoch__gt=1), assignment__round=round_)
    return frozenset(routes.values_list("assignment__device", flat=True))


def _seed(what: str) -> bytes:
    return salted_hmac("coterie.rounds.check", what, algorithm="sha256").digest()


def peer_key_of(device: Device) -> bytes | None:
    """The public key by which other devices authenticate it; None: it has reported none."""
    return capabilities_of(device).peer_key


def _routes_of_site(
    round_: Round, site: str, parts: Sequence[Assignment], leaders: Iterable[Candidate], now: datetime
) -> list[Route]:
    """The routes of devices of one site: its best supernode first, then the next, as long as summing saves bytes.

    Where the plan has tiers, no possible supernode sends its update to another: it would learn the seeds that check it.
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
            reason = reasons.by_supernode(site, candidate.device.name, candidate.suitability)
            routes += [_route(part, candidate.device.pk, reason, now) for part in taken]
            waiting = [part for part in waiting if part not in taken]
            why = reasons.supernodes_full(site)
    return routes + [_directly(part, why, now) for part in waiting]


def _candidates(round_: Round, sites: Iterable[str], *, now: datetime) -> Mapping[str, Sequence[Candidate]]:
    """By site, the devices that can be supernodes now, the best first; those that already are come before others."""
    topology = round_.parsed_plan().topology
    most, wanted = topology.fan_in() or 0, set(sites)
    offering = members(round_.federation).filter(
        is_on_time(now), capabilities__relay__isnull=False, quarantine="", paused_at=None
    )
    routes = Route.objects.filter(assignment__round=round_, supernode__isnull=False).order_by()
    sent = dict(routes.values_list("supernode").annotate(count=Count("pk")))
    knowing_seeds = devices_knowing_seeds(round_) if topology.tiers() else frozenset()
    found: defaultdict[str, list[tuple[Device, int]]] = defaultdict(list)
    for device in offering:
        site, capabilities = site_of(device, topology.site_tag()), capabilities_of(device)
        if site not in wanted or capabilities.relay is None or capabilities.peer_key is None or not has_power(device):
            continue
        if device.pk in knowing_seeds:
            continue
        room = max(0, room_of(device, most) - sent.get(device.pk, 0))
        found[site].append((device, room))
    suitability = suitabilities(round_, [device for own in found.values() for device, _ in own])
    return {
        site: sorted(
            (Candidate(device, room, sent.get(device.pk, 0), suitability[device.pk]) for device, room in own), key=_rank
        )
        for site, own in found.items()
    }


def _rank(candidate: Candidate) -> tuple[bool, float, UUID]:
    return not candidate.sent, -candidate.suitability.score, candidate.device.pk


def room_of(device: Device, fan_in: int) -> int:
    """How many neighbours it may have in a round of this fan-in, by its current offer."""
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
    """The tag of the device's site; None: it has none."""
    return next((tag for tag in sorted(device.tags) if tag.startswith(prefix)), None)


def capabilities_of(device: Device) -> Capabilities:
    """The device's capabilities, as reported."""
    return from_values(device.capabilities, Capabilities)


def _direct_route(reason: Reason, now: datetime) -> dict[str, object]:
    """The columns of a route that was changed to go directly to the platform."""
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
