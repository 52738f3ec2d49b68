"""Who meets whom in a round of gossip: the signed roster by which devices recognise each other without the platform."""

from collections.abc import Sequence

import msgspec
from django.db.models import QuerySet

from coterie.core.identity import signing_key
from coterie.fleet.models import Device
from coterie.fleet.signalling import direct_peer_of
from coterie.rounds.models import Assignment, Round
from coterie.rounds.routing import CLOCK_SKEW
from coterie.rounds.suitability import suitabilities
from coterie_wire.bundle import sign_content
from coterie_wire.meeting import MAX_RELAYS, Gathering, Roster
from coterie_wire.messages import Capabilities
from coterie_wire.relaying import Peer
from coterie_wire.structs import from_values
from coterie_wire.version import PROTOCOL


def gathering_of(assignment: Assignment) -> Gathering | None:
    """With whom the device meets; None: the plan has no gossip, or the device's owner does not allow it.

    A device that is invited later, or ends its part, changes the roster; devices get the new one when they check in.
    """
    round_ = assignment.round
    rules = round_.parsed_plan().topology.meeting_rules()
    if rules is None:
        return None
    devices = meeting_devices(round_)
    peers = tuple(sorted(filter(None, map(_peer, devices)), key=lambda peer: peer.device))
    if all(peer.device != str(assignment.device_id) for peer in peers):
        return None
    assert round_.deadline_at is not None, "an open round has a deadline"
    opens = direct_peer_of(next(device for device in devices if device.pk == assignment.device_id))
    roster = Roster(
        protocol=PROTOCOL,
        round=str(round_.pk),
        seed=round_.seed,
        peers=peers,
        expires_at=(round_.deadline_at + CLOCK_SKEW).timestamp(),
    )
    return Gathering(
        roster=sign_content(msgspec.json.encode(roster), signing_key()),
        meetings=rules.meetings,
        settling=rules.settling,
        group=rules.group,
        wait_s=rules.wait_s,
        clips=rules.clips,
        turn_s=rules.turn_s,
        paths=tuple(str(device.pk) for device in devices if opens and direct_peer_of(device) is not None),
        stun=opens.stun if opens else None,
        relays=_relays(round_, devices),
    )


def meeting_devices(round_: Round) -> Sequence[Device]:
    """Devices that meet in the round and whose owners allow it."""
    return list(
        Device.objects.filter(
            assignments__in=_taking_part().filter(round=round_),
            capabilities__meets__isnull=False,
            quarantine="",
            state=Device.State.ENROLLED,
        )
    )


def are_in_a_meeting(device: Device, other: Device) -> bool:
    """Whether the two meet, in a round that is open."""
    own, its = (_taking_part().filter(device=one, round__state=Round.State.OPEN) for one in (device, other))
    rounds = Round.objects.filter(assignments__in=own).filter(assignments__in=its).select_related("federation")
    meets = all(one.capabilities.get("meets") for one in (device, other))
    return meets and any(round_.parsed_plan().topology.meeting_rules() is not None for round_ in rounds)


def _taking_part() -> QuerySet[Assignment]:
    """Assignments of all rounds that have not ended without an update."""
    return Assignment.objects.exclude(state__in=(Assignment.State.DROPPED, Assignment.State.RELEASED))


def _relays(round_: Round, devices: Sequence[Device]) -> tuple[str, ...]:
    """The most suitable devices whose owners let them serve their neighbours."""
    offering = [device for device in devices if device.capabilities.get("relay")]
    suitability = suitabilities(round_, offering) if offering else {}
    found = sorted(offering, key=lambda device: (-suitability[device.pk].score, device.pk))[:MAX_RELAYS]
    return tuple(str(device.pk) for device in found)


def _peer(device: Device) -> Peer | None:
    capabilities = from_values(device.capabilities, Capabilities)
    if capabilities.meets is None or capabilities.peer_key is None:
        return None
    return Peer(device=str(device.pk), key=capabilities.peer_key, address=capabilities.meets.address)
