"""Devices at a meeting, on loopback: who is answered, who is not, and what a group comes to that loses members."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec
import numpy as np
import pytest

from coterie_agent.exclusions import Exclusions
from coterie_agent.gossip import handler
from coterie_agent.gossip.attendance import MeetingAttendance, MeetingOutcome
from coterie_agent.gossip.calling import PeerCalls
from coterie_agent.gossip.handler import GossipHandler
from coterie_agent.gossip.reaching import Reaching
from coterie_agent.gossip.waiting import Waiting
from coterie_agent.link.failure import Unreachable
from coterie_agent.peer_server import PeerServer
from coterie_learning.clipping import ClippedMeeting
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.meetings import Meeting, MeetingRules
from coterie_learning.walkers import walkers_of
from coterie_wire.bundle import SignedManifest, sign_content
from coterie_wire.errors import WireError
from coterie_wire.exclusion import Excluded
from coterie_wire.meeting import MEETINGS_PATH, Envelope, MeetingCall, MeetingReply, Roster
from coterie_wire.relaying import Peer, public_key, read_with_body, seal, unseal, with_body
from tests.coterie_agent.bundles import SIGNING_KEY, SPEC, make_bundle

NOW, ROUND = 1e9, "7"
NAMES = ("a", "b", "c")
SECRETS = {name: bytes([ord(name[0])]) * 32 for name in (*NAMES, "stranger")}
PLATFORM_KEY = make_bundle().platform_key


def _uncounted(what: str, size_bytes: int) -> None:
    pass


class Device:
    """One device of the round: its handler, its door, and its calls."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind: type[Meeting] = Meeting
        self.exclusions = Exclusions(lambda: (PLATFORM_KEY,))
        self.handler = GossipHandler(
            device=name,
            trusted=self.exclusions.trusted,
            secret=SECRETS[name],
            exclusions=self.exclusions,
            clock=lambda: NOW,
        )
        self.server = PeerServer(0, self.handler, path=MEETINGS_PATH)
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()
        reaching = Reaching(own=name, secret=SECRETS[name], record_sent=_uncounted, exclusions=self.exclusions)
        self.calls = PeerCalls(
            device=name, secret=SECRETS[name], round_=ROUND, record_sent=_uncounted, reaching=reaching
        )
        self.difference = {spec.name: np.full(spec.shape, ord(name) / 1000, np.float32) for spec in SPEC.parameters}

    @property
    def peer(self) -> Peer:
        return Peer(self.name, public_key(SECRETS[self.name]), f"127.0.0.1:{self.server.server_port}")

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def attend(
        self, number: int, peers: dict[str, Peer], *, wait_s: float = 20.0, stop: Callable[[], bool] = lambda: False
    ) -> tuple[MeetingOutcome | None, Meeting]:
        meeting = self.kind(
            own=self.name,
            group=tuple(peers),
            difference=self.difference,
            specs=SPEC.parameters,
            weight=1,
            codec=Float32Codec(),
            seed=number,
        )
        attending = MeetingAttendance(
            number=number,
            meeting=meeting,
            handler=self.handler,
            calls=self.calls,
            peers=peers,
            wait_s=wait_s,
            stop=stop,
            wait=lambda seconds: threading.Event().wait(min(seconds, 0.02)) and None,
        )
        return attending.run(), meeting


@pytest.fixture
def devices() -> Iterator[dict[str, Device]]:
    with ExitStack() as stack:
        found = {name: Device(name) for name in NAMES}
        for device in found.values():
            stack.callback(device.close)
        signed = roster(found)
        for device in found.values():
            device.handler.attend(signed)
        yield found


def roster(devices: dict[str, Device], *, expires_at: float = NOW + 60, round_: str = ROUND) -> SignedManifest:
    content = Roster(1, round_, 3, tuple(device.peer for device in devices.values()), expires_at)
    return sign_content(msgspec.json.encode(content), SIGNING_KEY)


def meet(devices: dict[str, Device], names: tuple[str, ...], *, wait_s: float = 20.0) -> dict[str, tuple[int, bytes]]:
    """By device, how many met, and what it goes on with."""
    peers = {name: device.peer for name, device in devices.items()}
    with ThreadPoolExecutor(len(names)) as pool:
        ended = {name: pool.submit(devices[name].attend, 0, peers, wait_s=wait_s) for name in names}
    found = {}
    for name, future in ended.items():
        attended, meeting = future.result()
        assert attended is not None
        found[name] = (attended.met, b"".join(tensor.tobytes() for tensor in meeting.end().values()))
    return found


def test_all_of_a_group_end_with_the_same_bits(devices: dict[str, Device]) -> None:
    found = meet(devices, NAMES)
    assert [met for met, _ in found.values()] == [3, 3, 3]
    assert len({content for _, content in found.values()}) == 1
    mean = np.float32(sum(map(ord, NAMES)) / 3000)
    assert np.frombuffer(found["a"][1], np.float32)[0] == pytest.approx(mean, abs=1e-6)


def test_who_does_not_come_is_left_out(devices: dict[str, Device]) -> None:
    found = meet(devices, ("b", "c"), wait_s=1.0)
    assert [met for met, _ in found.values()] == [2, 2]
    assert len({content for _, content in found.values()}) == 1


def excluding(*names: str, by: bytes = SIGNING_KEY, at: float = NOW) -> SignedManifest:
    return sign_content(msgspec.json.encode(Excluded(1, names, at)), by)


def test_who_is_excluded_meets_nobody_who_has_heard_of_it(devices: dict[str, Device]) -> None:
    for name in ("a", "b"):
        devices[name].exclusions.receive(excluding("c"))
    found = meet(devices, NAMES, wait_s=1.0)
    assert [met for met, _ in found.values()] == [2, 2, 1]
    assert found["a"] == found["b"]


def test_devices_that_meet_hear_from_one_another_who_is_excluded(devices: dict[str, Device]) -> None:
    """Only a has heard of it, before the platform went away; c is out from the next meeting on."""
    devices["a"].exclusions.receive(excluding("c"))
    meet(devices, ("a", "b"), wait_s=1.0)
    assert devices["b"].exclusions.devices == {"c"}
    found = meet(devices, ("b", "c"), wait_s=1.0)
    assert [met for met, _ in found.values()] == [1, 1]


def test_a_device_that_nobody_can_call_tells_those_that_it_calls_who_is_excluded(devices: dict[str, Device]) -> None:
    a, b = devices["a"], devices["b"]
    a.exclusions.receive(excluding("c"))
    for _ in range(2):  # the first answer says that b has not heard of it
        a.calls.call(b.peer, "who is there", roster=a.handler.digest, meeting=0)
    assert b.exclusions.devices == {"c"}


def test_a_list_of_excluded_devices_that_the_platform_has_not_signed_excludes_nobody(
    devices: dict[str, Device],
) -> None:
    a, b = devices["a"], devices["b"]
    forged = excluding("a", by=SECRETS["c"], at=NOW + 9)
    a.exclusions.written_at, a.exclusions.signed = NOW + 9, forged
    for _ in range(2):
        replied = a.calls.call(b.peer, "who is there", roster=a.handler.digest, meeting=0)
    assert replied.answer.exclusions.written_at == 0
    assert b.exclusions.devices == frozenset()


def test_one_that_sends_poison_is_named_and_moves_the_others_no_further_than_they_lie_apart(
    devices: dict[str, Device],
) -> None:
    devices["c"].difference = {name: tensor * 1000 for name, tensor in devices["c"].difference.items()}
    for device in devices.values():
        device.kind = ClippedMeeting
    peers = {name: device.peer for name, device in devices.items()}
    with ThreadPoolExecutor(3) as pool:
        ended = {name: pool.submit(devices[name].attend, 0, peers) for name in NAMES}
    for name in ("a", "b"):
        attended, meeting = ended[name].result()
        own, mixed = devices[name].difference, meeting.end()
        assert attended is not None
        assert (attended.met, list(meeting.far)) == (3, ["c"])
        assert all(np.abs(mixed[one] - own[one]).max() < 0.001 for one in own), "a and b lie 0.001 apart"


def test_a_device_whose_peers_are_gone_goes_on_alone(devices: dict[str, Device]) -> None:
    devices["a"].server.shutdown()
    devices["a"].server.server_close()
    found = meet({name: devices[name] for name in ("a", "b")}, ("b",), wait_s=0.3)
    assert found["b"][0] == 1
    own = b"".join(tensor.tobytes() for _, tensor in sorted(devices["b"].difference.items()))
    assert found["b"][1] == own


def test_a_latecomer_is_told_how_far_the_others_are(devices: dict[str, Device]) -> None:
    """The others have gone on; their models are there for it."""
    devices["a"].handler.set_position(5, b"model after five meetings")
    attended, _ = devices["b"].attend(0, {name: devices[name].peer for name in ("a", "b")}, wait_s=5)
    assert attended is not None
    assert attended.ahead == 5
    replied = devices["b"].calls.call(devices["a"].peer, "your model", roster=devices["b"].handler.digest, meeting=5)
    assert replied.content == b"model after five meetings"


def test_a_device_that_is_to_stop_leaves_everything_as_it_was(devices: dict[str, Device]) -> None:
    attended, meeting = devices["b"].attend(0, {name: devices[name].peer for name in NAMES}, stop=lambda: True)
    assert attended is None
    assert meeting.members == ()


def answered(device: Device, sender: str, *, to: str = "a", key: str = "", number: int = 0) -> bytes:
    """What `device` answers to a call to device a, as `sender` would put it, sealed by `key`."""
    call = MeetingCall(sender, to, number.to_bytes(16, "big"), device.handler.digest, 0, "who is there")
    sealed = seal(with_body(call), secret=SECRETS[key or sender], to=public_key(SECRETS["a"]))
    return device.handler.receive(device.handler.admit(with_body(Envelope(ROUND, sender))), sealed)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ({"sender": "stranger"}, "meeting.not_a_peer"),
        ({"sender": "b", "to": "c"}, "meeting.not_a_peer"),
        ({"sender": "b", "key": "stranger"}, "relay.not_sealed"),
        ({"sender": "b", "key": "c"}, "relay.not_sealed"),
    ],
)
def test_others_get_no_answer(devices: dict[str, Device], call: dict[str, str], code: str) -> None:
    with pytest.raises(WireError) as refusal:
        answered(devices["a"], **call)
    assert refusal.value.code == code


def test_nobody_is_answered_under_an_expired_roster(devices: dict[str, Device]) -> None:
    devices["a"].handler.clock = lambda: NOW + 61
    with pytest.raises(WireError, match="expired"):
        answered(devices["a"], "b")
    with pytest.raises(WireError, match="expired"):
        devices["b"].handler.attend(roster(devices, expires_at=NOW - 1))


def test_a_roster_that_the_platform_did_not_sign_is_refused(devices: dict[str, Device]) -> None:
    signed = roster(devices)
    with pytest.raises(WireError, match="signed"):
        devices["a"].handler.attend(
            SignedManifest(signed.manifest.replace(b'"round":"7"', b'"round":"8"'), signed.signature)
        )


def test_another_round_begins_anew(devices: dict[str, Device]) -> None:
    devices["a"].handler.set_position(9, b"model")
    devices["a"].handler.attend(roster(devices, round_="8"))
    with pytest.raises(WireError, match="roster"):
        answered(devices["a"], "b")


def test_groups_are_the_same_only_under_the_same_roster(devices: dict[str, Device]) -> None:
    """A device that was asked later has another list; neither shares with the other until both have the same."""
    devices["c"].handler.attend(roster(devices, expires_at=NOW + 99))
    replied = devices["c"].calls.call(devices["a"].peer, "who is there", roster=devices["c"].handler.digest, meeting=0)
    assert not replied.answer.same_roster
    assert not replied.answer.is_there


class Replaying:
    """Gives everybody the same answer."""

    def __init__(self, recorded: bytes) -> None:
        self._recorded = recorded

    def admit(self, line: bytes) -> None:
        pass

    def receive(self, caller: None, sealed: bytes) -> bytes:
        return self._recorded


def test_a_call_that_is_sent_again_is_not_answered_again(devices: dict[str, Device]) -> None:
    answered(devices["a"], "b", number=1)
    with pytest.raises(WireError) as refusal:
        answered(devices["a"], "b", number=1)
    assert refusal.value.code == "meeting.repeated"
    answered(devices["a"], "c", number=1)
    answered(devices["a"], "b", number=2)


def test_however_many_call_memory_is_bounded(devices: dict[str, Device], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "REMEMBERED_CALLS", 2)
    for number in (1, 2, 3, 1):
        answered(devices["a"], "b", number=number)


def test_an_answer_that_is_sent_again_is_not_taken(devices: dict[str, Device]) -> None:
    """Nor can a device's own calls be sent back to it as answers: they name no number that it asks for."""
    recorded = answered(devices["a"], "b")
    answer, _ = read_with_body(unseal(recorded, secret=SECRETS["b"], by=public_key(SECRETS["a"])), MeetingReply)
    assert answer.number == bytes(16)
    replaying = PeerServer(0, Replaying(recorded), path=MEETINGS_PATH)
    threading.Thread(target=replaying.serve_forever, args=[0.01], daemon=True).start()
    liar = msgspec.structs.replace(devices["a"].peer, address=f"127.0.0.1:{replaying.server_port}")
    with pytest.raises(Unreachable, match="older answer"):
        devices["b"].calls.call(liar, "who is there", roster=devices["b"].handler.digest, meeting=0)
    replaying.shutdown()
    replaying.server_close()


def waiting(device: Device, others: dict[str, Device], *, stop: Callable[[], bool] = lambda: False) -> Waiting:
    rules = MeetingRules(30, 0, 1, wait_s=0.3, turn_s=20.0)
    content = Roster(1, ROUND, 3, tuple(other.peer for other in others.values()), NOW + 60)
    return Waiting(
        own=device.name,
        roster=content,
        digest=device.handler.digest,
        rules=rules,
        calls=device.calls,
        stop=stop,
        wait=lambda seconds: time.sleep(min(seconds, 0.02)),
        clock=time.monotonic,
    )


def drawn_after(devices: dict[str, Device], name: str) -> tuple[int, str]:
    """A meeting for which `name` is drawn and was not just before, and who was at the one before."""
    before = [walkers_of(NAMES, number, walkers=1, seed=3) for number in range(30)]
    number = next(at for at in range(2, 30) if before[at] == (name,) and before[at - 1] != (name,))
    return number, before[number - 1][0]


def test_whoever_waits_goes_on_with_the_model_of_one_that_has_met_before(devices: dict[str, Device]) -> None:
    number, before = drawn_after(devices, "a")
    devices[before].handler.set_position(number - 1, b"on its way")
    one = waiting(devices["a"], devices)
    threading.Timer(0.8, devices[before].handler.set_position, [number, b"has met"]).start()
    assert one.next_meeting(number) == number
    began = time.monotonic()
    assert one.turn(number, number - 1) == number
    assert time.monotonic() - began > 0.4, "not as soon as one that had not begun would be passed over"
    assert next(one.models(number - 1, number)) == b"has met"


def test_those_before_that_do_not_answer_are_passed_over(devices: dict[str, Device]) -> None:
    number, before = drawn_after(devices, "a")
    devices[before].server.shutdown()
    devices[before].server.server_close()
    one = waiting(devices["a"], devices)
    assert one.turn(number, number - 1) == number
    assert list(one.models(number - 1, number)) == []


def test_whoever_is_late_is_told_where_the_others_are(devices: dict[str, Device]) -> None:
    drawn = [walkers_of(NAMES, number, walkers=1, seed=3)[0] for number in range(30)]
    number = next(at for at in range(2, 30) if drawn[at] == "a" and {*drawn[at - 2 : at]} == {"b", "c"})
    for other in ("b", "c"):
        devices[other].handler.set_position(number + 4, b"beyond")
    assert waiting(devices["a"], devices).turn(number, number - 2) == number + 4


def test_one_that_is_to_stop_waits_no_more(devices: dict[str, Device]) -> None:
    number, _ = drawn_after(devices, "a")
    assert waiting(devices["a"], devices, stop=lambda: True).turn(number, number - 1) is None
