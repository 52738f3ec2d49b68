"""Direct paths between two devices of one network, and what goes over them."""

import socket
import threading
from collections.abc import Iterator, Mapping

import pytest

from coterie_agent.direct.paths import DirectPaths
from coterie_agent.link.failure import Unreachable
from coterie_agent.peer_server import PeerServer
from coterie_wire.errors import WireError
from coterie_wire.paths import SendSignal, Signal
from coterie_wire.relaying import DirectPeer, public_key, seal
from coterie_wire.stun import answer_stun

SECRETS: Mapping[str, bytes] = {"caller": b"c" * 32, "called": b"d" * 32}
CONTENT = bytes(range(256)) * 4096


class Echo:
    """A handler that says again what it is told, to whoever gives a name."""

    def admit(self, line: bytes) -> bytes:
        if line == b"stranger\n":
            raise WireError("relay.wrong_ticket", "a stranger")
        return line

    def receive(self, caller: bytes, sealed: bytes) -> bytes:
        return caller + sealed


class Post:
    """Passes signals on at once, as the platform would."""

    def __init__(self) -> None:
        self.is_broken = False
        self.stun: str | None = None
        self.signals: list[SendSignal] = []
        self.devices = {name: self._device(name) for name in SECRETS}

    def _device(self, name: str) -> DirectPaths:
        return DirectPaths(
            own=name, secret=SECRETS[name], send=lambda signal: self._pass_on(name, signal), handlers={"/echo": Echo()}
        )

    def way(self, name: str) -> DirectPeer:
        return DirectPeer(name, public_key(SECRETS[name]), self.stun)

    def _pass_on(self, sender: str, sent: SendSignal) -> None:
        if self.is_broken:
            raise Unreachable("no post today")
        self.signals.append(sent)
        passed = Signal(sent.path, self.way(sender), sent.sealed)
        threading.Thread(target=self.devices[sent.to].receive, args=[[passed, passed]]).start()


@pytest.fixture
def post() -> Iterator[Post]:
    post = Post()
    yield post
    for device in post.devices.values():
        device.close()


def test_a_large_body_comes_back(post: Post) -> None:
    caller, way = post.devices["caller"], post.way("called")
    assert caller.ask(way, "/echo", b"me\n" + CONTENT, at_most_bytes=2 << 20) == b"me\n" + CONTENT
    assert caller.ask(way, "/echo", b"me\nagain", at_most_bytes=100) == b"me\nagain"
    way_back = Signal(post.signals[1].path, way, post.signals[1].sealed)
    caller.receive([way_back])
    assert caller.ask(way, "/echo", b"me\nonce more", at_most_bytes=100) == b"me\nonce more"
    assert len(post.signals) == 2, "the path is used again, and a signal that comes again opens no other"


def test_a_device_is_asked_at_its_door_and_by_a_path_where_that_is_shut(post: Post) -> None:
    caller, way = post.devices["caller"], post.way("called")
    door = PeerServer(0, Echo(), path="/echo")
    threading.Thread(target=door.run, daemon=True).start()
    address = f"127.0.0.1:{door.server_port}"
    assert caller.ask_nearest(address, way, "/echo", b"me\n1", at_most_bytes=9) == b"me\n1"
    assert post.signals == []
    door.shutdown()
    door.server_close()
    for body in (b"me\n2", b"me\n3"):
        assert caller.ask_nearest(address, way, "/echo", body, at_most_bytes=9) == body
    assert len(post.signals) == 2
    post.is_broken = True
    with pytest.raises(Unreachable, match=r"does not answer: .*; no post today"):
        caller.ask_nearest(
            address.replace("127.0.0.1", "127.0.0.2"), DirectPeer("other", way.key), "/echo", b"", at_most_bytes=9
        )


def test_what_a_desk_refuses_is_told(post: Post) -> None:
    caller, way = post.devices["caller"], post.way("called")
    with pytest.raises(Unreachable, match="a stranger"):
        caller.ask(way, "/echo", b"stranger\n", at_most_bytes=100)
    with pytest.raises(Unreachable, match="does not answer at /other"):
        caller.ask(way, "/other", b"me\n", at_most_bytes=100)
    with pytest.raises(Unreachable, match="more than 3 bytes"):
        caller.ask(way, "/echo", b"me\nmore", at_most_bytes=3)


def test_a_device_that_cannot_be_told_rests(post: Post) -> None:
    post.is_broken = True
    caller, way = post.devices["caller"], post.way("called")
    for _ in range(2):
        with pytest.raises(Unreachable, match="no post today"):
            caller.ask(way, "/echo", b"me\n", at_most_bytes=100)
        post.is_broken = False


def test_a_path_that_the_other_side_ends_is_opened_anew(post: Post) -> None:
    caller, way = post.devices["caller"], post.way("called")
    caller.ask(way, "/echo", b"me\n", at_most_bytes=100)
    post.devices["called"].close()
    for _ in range(2):  # the first may notice only by what it sends
        try:
            assert caller.ask(way, "/echo", b"me\n", at_most_bytes=100) == b"me\n"
        except Unreachable:
            continue
        break
    else:
        pytest.fail("no other path was opened")


def test_a_signal_of_somebody_else_is_not_answered(post: Post) -> None:
    called = post.devices["called"]
    forged = seal(b"{}\n", secret=b"x" * 32, to=public_key(SECRETS["called"]))
    called.receive([Signal("0" * 32, post.way("caller"), forged)])
    assert post.signals == []


def test_the_address_that_others_see_is_asked_for(post: Post) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    threading.Thread(target=answer_stun, args=["0.0.0.0", port], daemon=True).start()
    post.stun = f"127.0.0.1:{port}"
    assert post.devices["caller"].ask(post.way("called"), "/echo", b"me\n", at_most_bytes=9) == b"me\n"
