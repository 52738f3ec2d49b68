"""What devices send to one another that mean ill, and what strangers on their network send to them.

An agent that is a supernode and one that meets its peers, each in a round with a hostile device that the platform has
named to it: its ticket and its place in the roster are real.
"""

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from coterie_learning.kind_names import own_kinds
from coterie_wire.conditions import Conditions
from coterie_wire.meeting import Envelope, MeetingCall, OfferToMeet, Roster
from coterie_wire.messages import Assignment, CheckIn, DataMetadata, Directive
from coterie_wire.relaying import PATH, HandOver, public_key, seal, with_body
from coterie_wire.version import PROTOCOL
from tests.benchmarks.hostile.kinds import request
from tests.free_ports import free_port
from tests.system.eventually import eventually
from tests.system.operator_client import OperatorClient
from tests.system.real_agent import READY, UNPLUGGED, RealAgent
from tests.system.scripted_device import CAPABILITIES, SAMPLES, ScriptedDevice

SLOW = "processor_share = 0.0001\n"
"""Its training outlasts every attack, and its round with it."""
HOUR_S = 3600
HOSTILE = 4
"""Devices of each round, so many that a supernode is worth while."""


class Neighbour(NamedTuple):
    """What a hostile device knows of the one that it calls."""

    line: bytes
    """Its first line, as it should be: a ticket, or an envelope."""
    secret: bytes
    key: bytes
    """Of the other one."""
    content: bytes
    """What it would say, were it honest: to be sealed, and followed by what it is about."""


Make = Callable[[Random, Neighbour], bytes]
NEIGHBOUR_KINDS: dict[str, Make] = {}


def neighbour(make: Make) -> Make:
    """Register what a function makes under its name in words."""
    NEIGHBOUR_KINDS[f"neighbour: {make.__name__.replace('_', ' ')}"] = make
    return make


def call(body: bytes, length: int | None = None) -> bytes:
    """To the supernode's path, which `at` replaces."""
    return request("POST", PATH, body=body, length=length)


def sealed(to: Neighbour, content: bytes, *, secret: bytes | None = None) -> bytes:
    return to.line + b"\n" + seal(content, secret=secret or to.secret, to=to.key)


def changed(to: Neighbour, **fields: object) -> bytes:
    """What it would say, with other fields, and with a number of its own where calls have one."""
    number = {"number": base64.b64encode(os.urandom(16)).decode()} if b'"number"' in to.content else {}
    return json.dumps({**json.loads(to.content), **number, **fields}).encode()


@neighbour
def random_bytes(rng: Random, to: Neighbour) -> bytes:
    return rng.randbytes(rng.randrange(1, 2000)) + b"\r\n\r\n"


@neighbour
def an_unknown_method(rng: Random, to: Neighbour) -> bytes:
    return request("BREW", PATH)


@neighbour
def another_version(rng: Random, to: Neighbour) -> bytes:
    return f"POST {PATH} HTTP/9.9\r\nHost: localhost\r\n\r\n".encode()


@neighbour
def an_unknown_path(rng: Random, to: Neighbour) -> bytes:
    return request("POST", "/../credential", body=b"x")


@neighbour
def a_long_address(rng: Random, to: Neighbour) -> bytes:
    return request("POST", "/" + "a" * 100_000)


@neighbour
def megabytes_of_headers(rng: Random, to: Neighbour) -> bytes:
    return request("POST", PATH, *(f"X-{number}: {'a' * 60_000}" for number in range(50)))


@neighbour
def half_a_head(rng: Random, to: Neighbour) -> bytes:
    return f"POST {PATH} HTTP/1.1\r\nContent-Le".encode()


@neighbour
def pipelined_calls(rng: Random, to: Neighbour) -> bytes:
    return call(sealed(to, changed(to))) * 50


@neighbour
def a_length_of_thousands_of_digits(rng: Random, to: Neighbour) -> bytes:
    return request("POST", PATH, f"Content-Length: {'9' * 5000}")


@neighbour
def a_line_without_an_end(rng: Random, to: Neighbour) -> bytes:
    return call(b"a" * 300_000, 17 << 20)


@neighbour
def rubbish_for_a_line(rng: Random, to: Neighbour) -> bytes:
    return call(rng.randbytes(200) + b"\n" + rng.randbytes(200))


@neighbour
def a_line_of_deep_JSON(rng: Random, to: Neighbour) -> bytes:  # noqa: N802
    return call(b"[" * 8000 + b"\n")


@neighbour
def a_line_that_was_changed(rng: Random, to: Neighbour) -> bytes:
    spoilt = bytearray(to.line)
    spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(7)
    return call(bytes(spoilt) + b"\n" + rng.randbytes(100))


@neighbour
def a_line_that_somebody_else_signed(rng: Random, to: Neighbour) -> bytes:
    content = base64.b64encode(rng.randbytes(200)).decode()
    signature = base64.b64encode(rng.randbytes(64)).decode()
    return call(json.dumps({"manifest": content, "signature": signature}).encode() + b"\n" + rng.randbytes(100))


@neighbour
def a_stranger_in_the_roster(rng: Random, to: Neighbour) -> bytes:
    return call(with_body(Envelope("nobody", os.urandom(16).hex()), rng.randbytes(100)))


@neighbour
def a_body_of_megabytes_that_never_comes(rng: Random, to: Neighbour) -> bytes:
    return call(to.line + b"\n" + rng.randbytes(1000), 17 << 20)


@neighbour
def megabytes_that_nobody_sealed(rng: Random, to: Neighbour) -> bytes:
    return call(to.line + b"\n" + rng.randbytes(1000) * 2000)


@neighbour
def a_seal_of_rubbish(rng: Random, to: Neighbour) -> bytes:
    return call(to.line + b"\n" + rng.randbytes(rng.randrange(500)))


@neighbour
def a_seal_of_somebody_else(rng: Random, to: Neighbour) -> bytes:
    return call(sealed(to, changed(to), secret=os.urandom(32)))


@neighbour
def rubbish_under_a_seal(rng: Random, to: Neighbour) -> bytes:
    return call(sealed(to, rng.randbytes(500)))


@neighbour
def deep_JSON_under_a_seal(rng: Random, to: Neighbour) -> bytes:  # noqa: N802
    return call(sealed(to, b"[" * 50_000))


@neighbour
def unknown_fields_under_a_seal(rng: Random, to: Neighbour) -> bytes:
    return call(sealed(to, changed(to, obey=True)))


@neighbour
def numbers_out_of_range(rng: Random, to: Neighbour) -> bytes:
    fields = {"size_bytes": 1 << 52, "offset": -1, "weight": 1 << 60, "meeting": 1 << 52}
    known = {name: value for name, value in fields.items() if name.encode() in to.content}
    return call(sealed(to, changed(to, **known)))


@neighbour
def an_update_of_terabytes(rng: Random, to: Neighbour) -> bytes:
    return call(sealed(to, changed(to, **({"size_bytes": 1 << 41} if b"size_bytes" in to.content else {}))))


@neighbour
def a_piece_from_far_ahead(rng: Random, to: Neighbour) -> bytes:
    ahead = changed(to, **({"offset": 1 << 20} if b"offset" in to.content else {"meeting": 1 << 20}))
    return call(sealed(to, ahead + b"\n" + rng.randbytes(100)))


@neighbour
def what_it_is_not(rng: Random, to: Neighbour) -> bytes:
    return call(sealed(to, changed(to) + b"\n" + rng.randbytes(8000)))


@neighbour
def the_same_once_more(rng: Random, to: Neighbour) -> bytes:
    return call(REPLAYED.setdefault(to.line, sealed(to, to.content + b"\nrecorded")))


REPLAYED: dict[bytes, bytes] = {}


def at(path: str) -> dict[str, Make]:
    """The same kinds for the door at `path`."""

    def moved(make: Make) -> Make:
        return lambda rng, to: make(rng, to).replace(f" {PATH} ".encode(), f" {path} ".encode())

    return {name: moved(make) for name, make in NEIGHBOUR_KINDS.items()}


class Doors(NamedTuple):
    """Two agents that listen to others, and what a hostile device knows of them."""

    supernode: RealAgent
    supernode_port: int
    to_supernode: Neighbour
    peer: RealAgent
    peer_port: int
    to_peer: Neighbour


@contextmanager
def doors(url: str, operator_token: str, pairs: tuple[str, str], directory: Path) -> Iterator[Doors]:
    """As long as the block lasts."""
    with ExitStack() as stack:
        operator = stack.enter_context(OperatorClient(url, operator_token))
        to_lead = _Party(operator, url, directory, pair=pairs[0], topology="supernodes", stack=stack)
        to_meet = _Party(operator, url, directory, pair=pairs[1], topology="gossip", stack=stack)
        yield Doors(
            to_lead.agent, to_lead.port, _with_a_ticket(to_lead), to_meet.agent, to_meet.port, _in_the_roster(to_meet)
        )


class _Party:
    """A federation of an agent and some hostile devices, with a round that is open."""

    def __init__(
        self, operator: OperatorClient, url: str, directory: Path, *, pair: str, topology: str, stack: ExitStack
    ) -> None:
        self.port = free_port()
        pace = {"kind": "sync", "target_updates": HOSTILE + 1, "min_updates": HOSTILE + 1, "over_selection": 1}
        plan = {
            "topology": {"kind": topology, "wait_s": 600},
            "codec": {"kind": "float32"},
            "pace": {**pace, "deadline_s": HOUR_S, "absent_s": HOUR_S},
        }
        federation = operator.start_federation(topology, pair=pair, plan=plan)
        stack.callback(operator.post, f"/federations/{federation}/finish/")
        token = operator.enrolment_token(tag=topology, also=["site:hall-3"], uses=HOSTILE + 1)
        here = f'address = "127.0.0.1"\nport = {self.port}\n'
        table = "[relay]\nmax_load = 1000.0" if topology == "supernodes" else "[gossip]\nmeet = true"
        settings = f"{SLOW}{table}\n{here}"
        self.agent = RealAgent(directory / topology, url, token, settings=settings, local_api=True)
        stack.callback(self.agent.kill)
        self.agent.set_conditions(UNPLUGGED)
        self.agent.start("relay" if topology == "supernodes" else "run")
        device = f"/devices/{self.agent.id}/"
        eventually(lambda: operator.get(device)["capabilities"].get("peer_key"))
        self._devices = [Hostile(url, token, f"hostile-{topology}-{number}") for number in range(HOSTILE)]
        for one in self._devices:
            stack.callback(one.close)
            one.tell()
        self.agent.set_conditions(READY)

    def told(self, wanted: Callable[[Assignment], object]) -> "tuple[Hostile, Assignment]":
        """One of the hostile devices, and its assignment, once that has what is wanted."""

        def look() -> tuple[Hostile, Assignment] | None:
            for one in self._devices:
                assignment = one.tell().assignment
                if assignment is not None and wanted(assignment):
                    return one, assignment
            return None

        return eventually(look)


class Hostile(ScriptedDevice):
    """Can be a neighbour and a peer, as far as the platform knows."""

    def __init__(self, url: str, token: str, name: str) -> None:
        super().__init__(url, token, name)
        self.secret = os.urandom(32)

    def tell(self) -> Directive:
        """Check in with its keys."""
        able = msgspec.structs.replace(
            CAPABILITIES,
            agent="0.2.0",
            kinds=own_kinds(),
            peer_key=public_key(self.secret),
            meets=OfferToMeet("127.0.0.1:9"),
        )
        message = CheckIn(
            protocol=PROTOCOL,
            conditions=Conditions(charging="yes", network="wifi"),
            metadata=DataMetadata(samples=SAMPLES),
            capabilities=able,
        )
        directive = self.call(message)
        assert isinstance(directive, Directive)
        return directive


def _with_a_ticket(party: _Party) -> Neighbour:
    device, assignment = party.told(lambda found: found.route)
    assert assignment.route is not None
    content = with_body(HandOver(sha256="0" * 64, size_bytes=8000, offset=0)).rstrip(b"\n")
    line = with_body(assignment.route.ticket).rstrip(b"\n")
    return Neighbour(line, device.secret, assignment.route.key, content)


def _in_the_roster(party: _Party) -> Neighbour:
    device, assignment = party.told(lambda found: found.gathering)
    assert assignment.gathering is not None
    signed = assignment.gathering.roster
    roster = msgspec.json.decode(signed.manifest, type=Roster)
    (peer,) = (one for one in roster.peers if one.device == party.agent.id)
    digest = hashlib.sha256(signed.manifest).hexdigest()
    said = MeetingCall(device.id, peer.device, os.urandom(16), digest, 0, "your model")
    line = with_body(Envelope(roster.round, device.id)).rstrip(b"\n")
    return Neighbour(line, device.secret, peer.key, with_body(said).rstrip(b"\n"))
