"""Who meets whom in a round of gossip: the roster that devices know each other by, with or without the platform."""

from datetime import timedelta

import msgspec

from coterie.core.identity import signing_key
from coterie.fleet.models import Device
from coterie.rounds.models import Assignment
from coterie_wire.bundle import sign_content
from coterie_wire.meeting import Gathering, Roster
from coterie_wire.messages import Capabilities
from coterie_wire.relaying import Peer
from coterie_wire.structs import from_values
from coterie_wire.version import PROTOCOL

CLOCKS_DIFFER = timedelta(hours=1)
"""By how much a device's clock may be wrong: rosters expire so long after their round's deadline."""


def gathering_of(assignment: Assignment) -> Gathering | None:
    """With whom the device meets; None: with nobody, by the plan or because its owner does not let it.

    A device that is asked later, or ends its part, changes the roster; devices have the new one when they check in.
    """
    round_ = assignment.round
    rules = round_.parsed_plan().topology.meeting_rules()
    if rules is None:
        return None
    asked = Assignment.objects.filter(round=round_).exclude(
        state__in=(Assignment.State.DROPPED, Assignment.State.RELEASED)
    )
    devices = Device.objects.filter(
        assignments__in=asked, capabilities__meets__isnull=False, quarantine="", state=Device.State.ENROLLED
    )
    peers = tuple(sorted(filter(None, map(_peer, devices)), key=lambda peer: peer.device))
    if all(peer.device != str(assignment.device_id) for peer in peers):
        return None
    assert round_.deadline_at is not None, "an open round has a deadline"
    roster = Roster(
        protocol=PROTOCOL,
        round=str(round_.pk),
        seed=round_.seed,
        peers=peers,
        expires_at=(round_.deadline_at + CLOCKS_DIFFER).timestamp(),
    )
    return Gathering(
        roster=sign_content(msgspec.json.encode(roster), signing_key()),
        meetings=rules.meetings,
        settling=rules.settling,
        group=rules.group,
        wait_s=rules.wait_s,
    )


def _peer(device: Device) -> Peer | None:
    told = from_values(device.capabilities, Capabilities)
    if told.meets is None or told.peer_key is None:
        return None
    return Peer(device=str(device.pk), key=told.peer_key, address=told.meets.address)
