"""By what way a peer is reached: its door, a direct path, or a relay, which passes on what it cannot read."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack

import msgspec
import pytest

from coterie_agent.direct.paths import DirectPaths
from coterie_agent.exclusions import Exclusions
from coterie_agent.gossip import signalling
from coterie_agent.gossip.calling import PeerCalls, Replied
from coterie_agent.gossip.opened import open_gossip
from coterie_agent.gossip.pass_on_handler import PassOnHandler
from coterie_agent.gossip.reaching import REMEMBERED_S
from coterie_agent.gossip.signalling import PeerSignalling
from coterie_agent.link.failure import Unreachable
from coterie_agent.peer_server import PeerServer
from coterie_agent.situation import Situation
from coterie_wire.bundle import sign_content
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.meeting import MEETINGS_PATH, Envelope, Gathering, Roster
from coterie_wire.passing_on import PassedOn, PassOn, PeerSignal
from coterie_wire.paths import SIGNAL_S, SendSignal, Signal
from coterie_wire.relaying import DirectPeer, Peer, public_key, read_with_body, seal, unseal, with_body
from tests.coterie_agent.bundles import SIGNING_KEY, make_bundle

ROUND, EXPIRES_AT = "7", 1e12
NAMES = ("a", "b", "relay")
SECRETS = {name: bytes([ord(name[0])]) * 32 for name in NAMES}
SHUT = "127.0.0.1:9"
PLATFORM_KEY = make_bundle().platform_key


class Member:
    """A device of the round, with what it knows of the others."""

    def __init__(self, name: str) -> None:
        self.name, self.now = name, 0.0
        self.sent: list[str] = []
        self.gossip = open_gossip(
            device=name,
            exclusions=Exclusions(lambda: (PLATFORM_KEY,)),
            secret=SECRETS[name],
            record_sent=self._record_sent,
            is_relay=name == "relay",
        )
        self.gossip.reaching.clock = lambda: self.now
        others = {path: handler for path, handler in self.gossip.handlers.items() if path != MEETINGS_PATH}
        self.door = PeerServer(0, self.gossip.handler, path=MEETINGS_PATH, beside=others)
        threading.Thread(target=self.door.serve_forever, args=[0.01], daemon=True).start()
        self.paths: DirectPaths | None = None

    def attend(self, addresses: Mapping[str, str], *, paths: Sequence[str] = ()) -> None:
        peers = tuple(Peer(name, public_key(SECRETS[name]), address) for name, address in addresses.items())
        roster = Roster(1, ROUND, 3, peers, EXPIRES_AT)
        signed = sign_content(msgspec.json.encode(roster), SIGNING_KEY)
        told = Gathering(signed, meetings=9, settling=0, group=3, wait_s=9, paths=tuple(paths), relays=("relay",))
        self.gossip.handler.attend(signed)
        self.gossip.handler.set_position(5, b"model of %s" % self.name.encode())
        self.gossip.reaching.follow(roster, told)

    def open_paths(self, send: Callable[[SendSignal], None]) -> DirectPaths:
        self.paths = DirectPaths(own=self.name, secret=SECRETS[self.name], send=send, handlers=self.gossip.handlers)
        self.gossip.reaching.paths = self.paths
        return self.paths

    def call(self, name: str) -> Replied:
        """Ask a peer for its model."""
        calls = PeerCalls(
            device=self.name,
            secret=SECRETS[self.name],
            round_=ROUND,
            record_sent=self._record_sent,
            reaching=self.gossip.reaching,
        )
        peer = self.gossip.handler.peer(name)
        assert peer is not None
        return calls.call(peer, "your model", roster=self.gossip.handler.digest, meeting=5)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.door.server_port}"

    @property
    def passing(self) -> PassOnHandler:
        assert self.gossip.passing is not None
        return self.gossip.passing

    def shut(self) -> None:
        self.door.shutdown()
        self.door.server_close()
        if self.paths is not None:
            self.paths.close()

    def _record_sent(self, what: str, size_bytes: int) -> None:
        self.sent.append(what)


@pytest.fixture
def members() -> Iterator[dict[str, Member]]:
    with ExitStack() as stack:
        found = {name: Member(name) for name in NAMES}
        for member in found.values():
            stack.callback(member.shut)
        yield found


def apart(members: Mapping[str, Member], *, paths: Sequence[str] = ()) -> None:
    """The two reach no door but the relay's, which reaches all."""
    everywhere = {name: member.address for name, member in members.items()}
    for member in members.values():
        seen = {name: SHUT if name in ("a", "b") else address for name, address in everywhere.items()}
        member.attend(everywhere if member.name == "relay" else seen, paths=paths)


def ways_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "is reached" in record.getMessage()]


def test_a_peer_whose_door_is_shut_is_called_by_a_direct_path(
    members: dict[str, Member], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    apart(members, paths=("a", "b"))

    def pass_on(sender: str, sent: SendSignal) -> None:
        """As the platform does."""
        to = members[sent.to].paths
        assert to is not None
        signal = Signal(sent.path, DirectPeer(sender, public_key(SECRETS[sender])), sent.sealed)
        threading.Thread(target=to.receive, args=[[signal]]).start()

    members["a"].open_paths(lambda sent: pass_on("a", sent))
    members["b"].open_paths(lambda sent: pass_on("b", sent))
    for _ in range(2):
        assert members["a"].call("b").content == b"model of b"
    assert ways_in(caplog) == ["device b is reached by a direct path"]


def test_a_relay_brings_a_call_where_nothing_else_does(
    members: dict[str, Member], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    apart(members)
    assert members["a"].call("b").content == b"model of b"
    assert members["relay"].sent == ["passed on to a peer"]
    members["a"].attend({name: member.address for name, member in members.items()})
    assert members["a"].call("b").content == b"model of b"
    assert members["relay"].sent == ["passed on to a peer"] * 2, "the way that led there is taken again"
    members["a"].now = REMEMBERED_S
    assert members["a"].call("b").content == b"model of b"
    assert members["relay"].sent == ["passed on to a peer"] * 2
    assert ways_in(caplog)[-1] == "device b is reached at its address"


def test_whom_no_way_leads_to_is_unreachable_and_the_sentence_names_each(members: dict[str, Member]) -> None:
    apart(members)
    members["relay"].attend({"a": SHUT, "b": SHUT, "relay": members["relay"].address})
    with pytest.raises(Unreachable, match=r"at 127.0.0.1:9 does not answer.*; device relay does not pass it on: "):
        members["a"].call("b")


def test_signals_go_by_a_relay_while_the_platform_is_away(
    members: dict[str, Member], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(signalling, "POLL_S", 0.05)
    apart(members, paths=("a", "b"))
    situation = Situation()
    situation.link("offline", Reason("link.unreachable", "the platform does not answer"))
    to_platform: list[SendSignal] = []
    looking = []
    for name in ("a", "b"):
        passed_on = PeerSignalling(
            own=name,
            reaching=members[name].gossip.reaching,
            situation=situation,
            to_platform=to_platform.append,
        )
        paths = members[name].open_paths(passed_on.send)
        looking.append(threading.Thread(target=passed_on.attend, args=[paths.receive]))
        looking[-1].start()
    try:
        assert members["a"].call("b").content == b"model of b"
    finally:
        situation.stop()
        for thread in looking:
            thread.join()
    assert "device b is reached by a direct path" in ways_in(caplog)
    assert members["relay"].sent == []
    assert to_platform == []


def test_nobody_passes_signals_on_where_there_is_no_relay(members: dict[str, Member]) -> None:
    situation = Situation()
    situation.link("offline", Reason("link.unreachable", "the platform does not answer"))
    reaching = members["a"].gossip.reaching
    alone = PeerSignalling(own="a", reaching=reaching, situation=situation, to_platform=lambda _: None)
    with pytest.raises(Unreachable, match="no relay"):
        alone.send(SendSignal("0" * 32, "b", b"sealed"))


def asked(members: Mapping[str, Member], told: PassOn, *, by: str = "a") -> PassedOn:
    """What the relay answers."""
    handler = members["relay"].passing
    sealed = seal(with_body(told), secret=SECRETS[by], to=public_key(SECRETS["relay"]))
    answer = handler.receive(handler.admit(with_body(Envelope(ROUND, by))), sealed)
    return read_with_body(unseal(answer, secret=SECRETS[by], by=public_key(SECRETS["relay"])), PassedOn)[0]


@pytest.mark.parametrize(
    "told",
    [
        PassOn("b", "relay", bytes(16)),
        PassOn("a", "b", bytes(16)),
        PassOn("a", "relay", bytes(16), (PeerSignal("0" * 32, "b", "a", b""),)),
        PassOn("a", "relay", bytes(16), to="relay"),
        PassOn("a", "relay", bytes(16), to="stranger"),
    ],
)
def test_a_relay_passes_on_nothing_but_what_a_peer_sends_another(members: dict[str, Member], told: PassOn) -> None:
    apart(members)
    with pytest.raises(WireError) as refusal:
        asked(members, told)
    assert refusal.value.code == "meeting.not_a_peer"


def test_a_signal_is_kept_for_a_minute_for_whom_it_is_for(members: dict[str, Member]) -> None:
    apart(members)
    now = [0.0]
    members["relay"].passing.clock = lambda: now[0]
    signal = PeerSignal("0" * 32, "a", "b", b"sealed")
    assert asked(members, PassOn("a", "relay", bytes(16), (signal,))).signals == ()
    assert asked(members, PassOn("b", "relay", bytes(16)), by="b").signals == (signal,)
    now[0] = SIGNAL_S + 1
    assert asked(members, PassOn("b", "relay", bytes(16)), by="b").signals == ()
