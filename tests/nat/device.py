"""A device: ``python -m tests.nat.device helper`` gives content; ``… asker BYTES`` fetches it, and says how.

It asks the helper by a direct path. Where there is none, the helper brings the content to the post, and it comes from
there: the order of ways of a portion. ``… upload BYTES`` only brings something to the post, by TCP, and says how long
that took.
"""

import sys
import threading
import time
from http.client import HTTPConnection
from typing import NamedTuple

import msgspec

from coterie_agent.direct.paths import DirectPaths
from coterie_agent.link.failure import Unreachable
from coterie_wire.paths import SendSignal, Signal
from coterie_wire.relaying import DirectPeer, public_key
from tests.nat.network import SERVER
from tests.nat.post import PORT, STUN_PORT

SECRETS = {"asker": b"a" * 32, "helper": b"h" * 32}
DESK = "/content"
LOOK_S = 0.1


class Fetched(NamedTuple):
    """What came, and how."""

    way: str
    first_s: float
    """Until the first byte had come, paths and all."""
    rest_s: float
    """For the content."""
    why: str


class Giver:
    """Gives as many bytes as it is asked for, to anybody."""

    def admit(self, line: bytes) -> int:
        return int(line)

    def receive(self, caller: int, sealed: bytes) -> bytes:
        return bytes(caller) + sealed


def post(path: str, body: bytes | None = None) -> bytes:
    connection = HTTPConnection(SERVER, PORT, timeout=60)
    connection.request("GET" if body is None else "POST", path, body)
    content = connection.getresponse().read()
    connection.close()
    return content


def way_to(name: str) -> DirectPeer:
    return DirectPeer(name, public_key(SECRETS[name]), f"{SERVER}:{STUN_PORT}")


def opened(own: str) -> DirectPaths:
    """The paths of a device whose signals go by the post."""

    def send(sent: SendSignal) -> None:
        signal = Signal(sent.path, way_to(own), sent.sealed)
        post(f"/signals/{sent.to}", msgspec.json.encode(signal))

    def look() -> None:
        while True:
            paths.receive(msgspec.json.decode(post(f"/signals/{own}"), type=list[Signal]))
            time.sleep(LOOK_S)

    paths = DirectPaths(own=own, secret=SECRETS[own], send=send, handlers={DESK: Giver()})
    threading.Thread(target=look, daemon=True).start()
    return paths


def help_others() -> None:
    opened("helper")
    while True:
        if size := post("/wanted"):
            post("/wanted", b"")
            post("/content", bytes(int(size)))
        time.sleep(LOOK_S)


def ask(size_bytes: int) -> Fetched:
    paths, begun = opened("asker"), time.monotonic()
    try:
        paths.ask(way_to("helper"), DESK, b"1\n", at_most_bytes=1)
        first = time.monotonic()
        paths.ask(way_to("helper"), DESK, b"%d\n" % size_bytes, at_most_bytes=size_bytes)
        return Fetched("direct", first - begun, time.monotonic() - first, "")
    except Unreachable as error:
        first = time.monotonic()
        post("/wanted", b"%d" % size_bytes)
        while len(post("/content")) != size_bytes:
            time.sleep(LOOK_S)
        return Fetched("relayed", first - begun, time.monotonic() - first, error.detail)


if __name__ == "__main__":
    if sys.argv[1] == "helper":
        help_others()
    elif sys.argv[1] == "upload":
        begun = time.monotonic()
        post("/content", bytes(int(sys.argv[2])))
        print(time.monotonic() - begun, flush=True)
    else:
        print(msgspec.json.encode(ask(int(sys.argv[2]))).decode(), flush=True)
