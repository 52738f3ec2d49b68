"""Who is told whom it meets: the roster of a round, signed, of devices whose owners let them."""

import hashlib
from datetime import datetime

import msgspec
import pytest
from pytest_django.fixtures import Settings

from coterie.core.identity import verify_key
from coterie.fleet.services import revoke_device
from coterie.rounds.advancing import advance_federation
from coterie.rounds.models import Assignment, RoundEvent
from coterie.rounds.signalling import NoBusiness, send_signal
from coterie.rounds.uploads import offer_update
from coterie_wire.bundle import read_signed
from coterie_wire.exclusion import Excluded
from coterie_wire.meeting import Gathering, OfferToMeet, Roster
from coterie_wire.messages import Capabilities, OfferUpdate
from coterie_wire.paths import SendSignal
from coterie_wire.relaying import OfferToLead, public_key
from tests.coterie.world import ScriptedDevice, later, make_device, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


class Peer(ScriptedDevice):
    """A device that may meet others, or not."""

    def __init__(self, name: str, place: int, *, meets: bool = True, paths: bool = False, relays: bool = False) -> None:
        super().__init__(make_device(name))
        told = Capabilities(
            cores=4,
            memory_bytes=1 << 30,
            machine="aarch64 Linux",
            agent="0.2.0",
            peer_key=public_key(bytes([place + 1]) * 32),
            meets=OfferToMeet(address=f"10.0.0.{place}:8718") if meets else None,
            paths=paths,
            relay=OfferToLead(address=f"10.0.0.{place}:8717", members=8) if relays else None,
        )
        self.row.capabilities = msgspec.to_builtins(told)
        self.row.save()

    def gathering(self, now: datetime) -> Gathering | None:
        assignment = self.say(now).assignment
        assert assignment is not None
        return assignment.gathering


def opened(peers: list[Peer], topology: dict[str, object], now: datetime) -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, plan={"topology": topology}, target_updates=len(peers), min_updates=len(peers))
    for peer in peers:
        peer.say(now)
    for _ in range(2):
        advance_federation(federation_id=federation.pk, now=now)


def test_all_who_may_meet_have_the_same_roster() -> None:
    now = later(0)
    peers = [Peer(f"device-{place}", place, meets=place != 2) for place in range(4)]
    opened(peers, {"kind": "gossip", "meetings": 6, "settling": 1, "group": 3, "wait_s": 9}, now)
    told = [peer.gathering(now) for peer in peers]
    assert told[2] is None
    there = [one for one in told if one is not None]
    assert len({hashlib.sha256(one.roster.manifest).hexdigest() for one in there}) == 1
    assert [(one.meetings, one.settling, one.group, one.wait_s) for one in there] == [(6, 1, 3, 9)] * 3
    roster = read_signed(there[0].roster, Roster, verify_key())
    assert {one.device for one in roster.peers} == {str(peers[place].row.pk) for place in (0, 1, 3)}
    assert roster.expires_at > now.timestamp()


def test_who_meets_others_is_told_at_its_next_check_in_who_was_excluded() -> None:
    now, revoked_at = later(0), later(9)
    peers = [Peer(f"device-{place}", place) for place in range(3)]
    opened(peers, {"kind": "gossip"}, now)
    told = peers[0].say(now, excluded_at=0.0).excluded
    assert told is not None
    known_at = read_signed(told, Excluded, verify_key()).written_at
    assert peers[0].say(later(9), excluded_at=known_at).excluded is None
    revoke_device(device=peers[2].row, now=revoked_at)
    news = peers[0].say(later(10), excluded_at=known_at).excluded
    assert news is not None
    assert read_signed(news, Excluded, verify_key()).devices == (str(peers[2].row.pk),)
    assert peers[1].say(later(10)).excluded is None, "an older agent takes none"
    alone = ScriptedDevice(make_device("alone"))
    assert alone.say(later(10), excluded_at=0.0).excluded is None, "it has to do with nobody"


def test_a_device_in_quarantine_or_out_of_the_fleet_is_in_none() -> None:
    now = later(0)
    peers = [Peer(f"device-{place}", place) for place in range(3)]
    opened(peers, {"kind": "gossip"}, now)
    peers[1].row.quarantine = "fold.altered"
    peers[1].row.save()
    told = peers[0].gathering(now)
    assert told is not None
    roster = read_signed(told.roster, Roster, verify_key())
    assert {one.device for one in roster.peers} == {str(peers[place].row.pk) for place in (0, 2)}


def test_a_device_that_most_of_the_others_name_is_put_into_quarantine_and_not_waited_for() -> None:
    now = later(0)
    peers = [Peer(f"device-{place}", place) for place in range(5)]
    opened(peers, {"kind": "gossip"}, now)
    accused = peers[4]
    for said_by, peer in enumerate(peers[:3], start=1):
        offer(peer, (str(accused.row.pk), str(accused.row.pk)), now)
        offer(peer, (str(accused.row.pk),), now)  # the same once more
        accused.row.refresh_from_db()
        events = RoundEvent.objects.filter(kind=RoundEvent.Kind.SUSPECTED, device=accused.row)
        assert [event.reason_sentence.split(" its")[0] for event in events] == [
            f"at most meetings with device-{place}" for place in range(said_by)
        ]
        assert bool(accused.row.quarantine) is (said_by == 3)
    assert accused.row.quarantine.startswith("3 of 4 devices of its round say that its model lay far off")
    part = accused.row.assignments.get()
    assert (part.state, part.reason_code) == (Assignment.State.REJECTED, "rounds.poisoned")


def test_a_device_names_neither_itself_nor_strangers_and_one_that_does_not_meet_names_nobody() -> None:
    now = later(0)
    peers = [Peer(f"device-{place}", place, meets=place != 2) for place in range(3)]
    opened(peers, {"kind": "gossip"}, now)
    stranger = make_device("stranger")
    offer(peers[0], (str(peers[0].row.pk), str(stranger.pk), "nonsense"), now)
    offer(peers[2], (str(peers[1].row.pk),), now)
    assert not RoundEvent.objects.filter(kind=RoundEvent.Kind.SUSPECTED).exists()


def offer(peer: Peer, suspects: tuple[str, ...], now: datetime) -> None:
    assignment = peer.say(now).assignment
    assert assignment is not None
    told = OfferUpdate(assignment.assignment, "0" * 64, 5_000, 20, 5, 5, 1.5, 1.0, 0.5, 0.1, suspects=suspects)
    offer_update(device=peer.row, offer=told, now=now)


def test_under_a_star_nobody_meets() -> None:
    now = later(0)
    peers = [Peer(f"device-{place}", place) for place in range(2)]
    opened(peers, {"kind": "star"}, now)
    assert [peer.gathering(now) for peer in peers] == [None, None]


def test_who_opens_paths_is_told_who_else_does_and_all_are_told_of_relays(settings: Settings) -> None:
    settings.STUN = "stun.example:3478"
    now = later(0)
    peers = [Peer(f"device-{place}", place, paths=place < 2, relays=place == 2) for place in range(3)]
    opened(peers, {"kind": "gossip"}, now)
    told = [one for one in (peer.gathering(now) for peer in peers) if one is not None]
    both = {str(peer.row.pk) for peer in peers[:2]}
    assert [set(one.paths) for one in told] == [both, both, set()]
    assert [one.stun for one in told] == ["stun.example:3478", "stun.example:3478", None]
    assert [one.relays for one in told] == [(str(peers[2].row.pk),)] * 3


def test_signals_pass_between_devices_that_meet_and_to_nobody_else() -> None:
    now = later(0)
    peers = [Peer(f"device-{place}", place, paths=True, meets=place != 2) for place in range(3)]
    opened(peers, {"kind": "gossip"}, now)
    own, other, stays_away = (str(peer.row.pk) for peer in peers)
    send_signal(device=peers[0].row, message=SendSignal("0" * 32, other, b"sealed"), now=now)
    (signal,) = peers[1].say(now).signals
    assert (signal.way.device, signal.sealed) == (own, b"sealed")
    stranger = Peer("stranger", 3, paths=True)
    for receiver in (stays_away, str(stranger.row.pk)):
        with pytest.raises(NoBusiness):
            send_signal(device=peers[0].row, message=SendSignal("1" * 32, receiver, b"sealed"), now=now)
