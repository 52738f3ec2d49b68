"""A supernode's door on loopback: who gets in, what is taken, and what is vouched for."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie_agent.direct.paths import DirectPaths
from coterie_agent.discovery.book import AddressBook
from coterie_agent.errors import AgentError
from coterie_agent.exclusions import Exclusions
from coterie_agent.link.failure import Unreachable
from coterie_agent.peer_server import PeerServer
from coterie_agent.relay.handler import RelayHandler
from coterie_agent.store.opened import Store
from coterie_agent.supernode_upload import NeighbourRefused, SupernodeUpload
from coterie_learning.codec.int8 import Int8
from coterie_learning.fold import CountedUpdate, partial_aggregate
from coterie_learning.local.sgd import Sgd
from coterie_learning.partial_sums import Sums, added, encode_sums, fingerprint
from coterie_learning.update_files import Contents
from coterie_wire.bundle import SignedManifest, sign_content
from coterie_wire.discovery import AddressRecord, PeerTicket, write_record
from coterie_wire.exclusion import Excluded
from coterie_wire.paths import SendSignal, split_sealed
from coterie_wire.relaying import (
    PATH,
    ChildSum,
    DirectPeer,
    Lead,
    Order,
    Route,
    SignedReceipt,
    SumRoute,
    Ticket,
    Weighed,
    public_key,
    verify_receipt,
    verify_sum_receipt,
)
from coterie_wire.tensor_files import InMemory
from tests.coterie_agent.bundles import SIGNING_KEY, SPEC, make_bundle
from tests.coterie_agent.fake_platform import PLAN

SUPERNODE, MEMBER, STRANGER = (bytes([number]) * 32 for number in range(2, 5))
ASSIGNMENT = "00000000-0000-0000-0000-00000000000a"
NOW = 1e9
BUNDLE = make_bundle()
LEAD = Lead(round="7", plan=msgspec.Raw(msgspec.json.encode(PLAN)), manifest=BUNDLE.signed)


def update(seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    delta = {spec.name: 0.01 * rng.standard_normal(spec.shape, dtype=np.float32) for spec in SPEC.parameters}
    return Int8().encode(delta, seed=seed).payload


def excluding(*devices: str) -> SignedManifest:
    return sign_content(msgspec.json.encode(Excluded(1, devices, NOW)), SIGNING_KEY)


class Door:
    """A supernode that listens, and a neighbour's way to it."""

    def __init__(self, folder: Path, *, members: int = 10) -> None:
        self.handler = RelayHandler(
            device="supernode",
            trusted=lambda: (BUNDLE.platform_key,),
            secret=SUPERNODE,
            folder=folder / "relay",
            sums_folder=folder / "relay-sums",
            members=members,
            exclusions=Exclusions(lambda: (BUNDLE.platform_key,)),
            clock=lambda: NOW,
        )
        self.server = PeerServer(0, self.handler, path=PATH)
        threading.Thread(target=self.server.run, daemon=True).start()

    def route(self, assignment: str = ASSIGNMENT, **changes: object) -> Route:
        ticket = Ticket(1, assignment, "member", public_key(MEMBER), "supernode", 1, NOW + 60)
        signed = sign_content(msgspec.json.encode(msgspec.structs.replace(ticket, **changes)), SIGNING_KEY)
        address = f"127.0.0.1:{self.server.server_port}"
        return Route("supernode", address, public_key(SUPERNODE), 1, signed, bytes(32))

    def hand_over(
        self,
        payload: bytes,
        route: Route | None = None,
        *,
        secret: bytes = MEMBER,
        announced: bytes | None = None,
        exclusions: Exclusions | None = None,
        book: AddressBook | None = None,
        paths: DirectPaths | None = None,
    ) -> SignedReceipt:
        announced = payload if announced is None else announced
        sha256 = hashlib.sha256(announced).hexdigest()
        receipt = SupernodeUpload(
            route=route or self.route(),
            what="update to a supernode",
            sha256=sha256,
            size_bytes=len(announced),
            read=lambda offset, size: payload[offset : offset + size],
            secret=secret,
            chunk_bytes=200,
            record_sent=lambda _what, _bytes: None,
            exclusions=exclusions or Exclusions(lambda: (BUNDLE.platform_key,)),
            book=book,
            paths=paths,
        ).run(stop=lambda: False)
        assert receipt is not None
        return receipt


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    found = Door(tmp_path)
    found.handler.follow(LEAD)
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_an_update_comes_in_pieces_and_is_vouched_for_once(door: Door) -> None:
    receipt = door.hand_over(update(1))
    found = verify_receipt(receipt, public_key(SUPERNODE))
    norm = Contents(SPEC, Int8(), Sgd()).open(InMemory(update(1)), ()).extent().norm
    assert (found.assignment, found.sha256, found.epoch) == (ASSIGNMENT, hashlib.sha256(update(1)).hexdigest(), 1)
    assert found.norm == norm
    assert door.hand_over(update(1)) == receipt


def test_a_supernode_that_no_address_leads_to_is_reached_by_a_direct_path(door: Door) -> None:
    class Tunnel(DirectPaths):
        def ask(self, way: DirectPeer, handler: str, body: bytes, *, at_most_bytes: int) -> bytes:
            line, sealed = split_sealed(body)
            return self.handlers[handler].receive(self.handlers[handler].admit(line), sealed)

    def send(_signal: SendSignal) -> None:
        """Nobody is written to."""

    tunnel = Tunnel(own="member", secret=MEMBER, send=send, handlers={PATH: door.handler})
    direct = DirectPeer("supernode", public_key(SUPERNODE))
    route = msgspec.structs.replace(door.route(), address="127.0.0.1:1", direct=direct)
    assert door.hand_over(update(1), route, paths=tunnel) == door.hand_over(update(1))
    with pytest.raises(Unreachable):
        door.hand_over(update(1), msgspec.structs.replace(route, direct=None), paths=tunnel)


def test_a_supernode_that_is_not_where_the_route_says_is_found_by_its_record(door: Door, store: Store) -> None:
    book = AddressBook(
        own="member",
        store=store.neighbours,
        trusted=lambda: (BUNDLE.platform_key,),
        exclusions=Exclusions(lambda: (BUNDLE.platform_key,)),
        secret=MEMBER,
        addresses=dict,
        clock=lambda: NOW,
    )
    ticket = PeerTicket(1, "supernode", public_key(SUPERNODE), NOW + 60)
    record = AddressRecord("supernode", NOW, NOW + 60, updates=door.route().address)
    signed = write_record(record, sign_content(msgspec.json.encode(ticket), SIGNING_KEY), SUPERNODE)
    book.take(signed, "table")
    gone = msgspec.structs.replace(door.route(), address="127.0.0.1:1")
    with pytest.raises(Unreachable):
        door.hand_over(update(1), gone, book=book)
    assert verify_receipt(door.hand_over(update(1), gone, book=book), public_key(SUPERNODE)).assignment == ASSIGNMENT


def test_a_neighbour_that_the_platform_has_excluded_is_turned_away_with_a_ticket_that_holds(door: Door) -> None:
    door.hand_over(update(1))
    door.handler.exclusions.receive(excluding("member"))
    with pytest.raises(Unreachable, match="403"):
        door.hand_over(update(1))


def test_a_supernode_that_the_platform_has_excluded_is_sent_nothing(door: Door) -> None:
    heard = Exclusions(lambda: (BUNDLE.platform_key,))
    door.hand_over(update(1), exclusions=heard)
    heard.receive(excluding("supernode"))
    with pytest.raises(Unreachable, match="has excluded device supernode"):
        door.hand_over(update(1), exclusions=heard)


def test_a_neighbour_and_its_supernode_tell_each_other_who_is_excluded(door: Door) -> None:
    """Whichever of the two has heard of it: the supernode hears with the second piece at the latest."""
    neighbour = Exclusions(lambda: (BUNDLE.platform_key,))
    neighbour.receive(excluding("another"))
    door.hand_over(update(1), exclusions=neighbour)
    assert door.handler.exclusions.devices == {"another"}
    other = Exclusions(lambda: (BUNDLE.platform_key,))
    door.hand_over(update(1), exclusions=other)
    assert other.devices == {"another"}


def test_what_it_holds_outlives_it(door: Door, tmp_path: Path) -> None:
    receipt = door.hand_over(update(1))
    again = Door(tmp_path)
    again.handler.follow(LEAD)
    assert again.hand_over(update(1)) == receipt
    again.server.shutdown()
    again.server.server_close()


@pytest.mark.parametrize(
    ("change", "secret"),
    [
        ({"supernode": "another"}, MEMBER),
        ({"expires_at": NOW - 1}, MEMBER),
        ({"member_key": public_key(STRANGER)}, MEMBER),
        ({}, STRANGER),
    ],
)
def test_who_has_no_ticket_is_turned_away(door: Door, change: dict[str, object], secret: bytes) -> None:
    with pytest.raises(Unreachable, match="403"):
        door.hand_over(update(1), door.route(**change), secret=secret)


def test_a_ticket_that_the_platform_did_not_sign_is_none(door: Door) -> None:
    route = door.route()
    forged = msgspec.structs.replace(route, ticket=sign_content(route.ticket.manifest, STRANGER))
    with pytest.raises(Unreachable, match="403"):
        door.hand_over(update(1), forged)


def test_whoever_else_answers_is_not_the_supernode(door: Door) -> None:
    with pytest.raises(Unreachable):
        door.hand_over(update(1), msgspec.structs.replace(door.route(), key=public_key(STRANGER)))


def test_only_updates_of_the_plan_are_taken(door: Door) -> None:
    with pytest.raises(NeighbourRefused) as refused:
        door.hand_over(b"x" * len(update(1)))
    assert refused.value.code == "update.malformed"
    with pytest.raises(NeighbourRefused) as refused:
        door.hand_over(b"x" * 100_000)
    assert refused.value.code == "relay.too_large"
    with pytest.raises(NeighbourRefused) as refused:
        door.hand_over(update(1), announced=update(2))
    assert refused.value.code == "relay.wrong_hash"
    door.hand_over(update(1))


def test_nothing_is_taken_before_the_platform_says_so_or_beyond_what_the_owner_lets(tmp_path: Path) -> None:
    door = Door(tmp_path, members=1)
    with pytest.raises(NeighbourRefused) as refused:
        door.hand_over(update(1))
    assert refused.value.code == "relay.not_leading"
    door.handler.follow(LEAD)
    door.hand_over(update(1))
    with pytest.raises(NeighbourRefused) as refused:
        door.hand_over(update(2), door.route(ASSIGNMENT.replace("a", "b")))
    assert refused.value.code == "relay.full"
    door.server.shutdown()
    door.server.server_close()


def test_it_sums_what_it_is_told_to_and_nothing_that_was_damaged(door: Door, tmp_path: Path) -> None:
    other = ASSIGNMENT.replace("a", "b")
    door.hand_over(update(1))
    door.hand_over(update(2), door.route(other))
    hashes = [hashlib.sha256(update(seed)).hexdigest() for seed in (1, 2)]
    order = Order(fold="f", shares=(Weighed(ASSIGNMENT, hashes[0], 3), Weighed(other, hashes[1], 0)))
    file = Contents(SPEC, Int8(), Sgd()).open(InMemory(update(1)), ())
    alone = partial_aggregate(SPEC.parameters, [CountedUpdate(lambda: nullcontext(file), 3)], parts=("delta",))
    assert door.handler.sum(order) == encode_sums(alone, of="f")
    (tmp_path / "relay" / "7" / f"{other}.update").write_bytes(b"damaged")
    with pytest.raises(AgentError) as lost:
        door.handler.sum(order)
    assert lost.value.code == "relay.update_lost"


def test_updates_of_other_rounds_go(door: Door, tmp_path: Path) -> None:
    door.hand_over(update(1))
    door.handler.follow(msgspec.structs.replace(LEAD, round="8"))
    assert [path.name for path in (tmp_path / "relay").iterdir()] == ["8"]


INNER = bytes([5]) * 32
SEED = bytes([6]) * 32
PART = ASSIGNMENT.replace("a", "c")


class Above:
    """A door that is to add the sum of another supernode to its own."""

    def __init__(self, door: Door) -> None:
        self.door, self.sums = door, alone(update(2), weight=3)
        self.payload = encode_sums(self.sums, of=PART)
        door.hand_over(update(1))
        found = fingerprint(SEED, self.sums.items())
        part = ChildSum(fold=PART, supernode="inner", weight=3, seed=SEED, fingerprint=found, roll="7" * 64)
        share = Weighed(ASSIGNMENT, hashlib.sha256(update(1)).hexdigest(), 5)
        self.order = Order(fold="whole", shares=(share,), parts=(part,))
        door.handler.follow(msgspec.structs.replace(LEAD, order=self.order))

    def hand_over(self, payload: bytes, *, member: str = "inner") -> SignedReceipt:
        ticket = Ticket(1, PART, member, public_key(INNER), "supernode", 4, NOW + 60)
        signed = sign_content(msgspec.json.encode(ticket), SIGNING_KEY)
        address = f"127.0.0.1:{self.door.server.server_port}"
        receipt = SupernodeUpload(
            route=SumRoute("supernode", address, public_key(SUPERNODE), 4, signed),
            what="sum to a supernode",
            sha256=hashlib.sha256(payload).hexdigest(),
            size_bytes=len(payload),
            read=lambda offset, size: payload[offset : offset + size],
            secret=INNER,
            chunk_bytes=500,
            record_sent=lambda _what, _bytes: None,
            exclusions=Exclusions(lambda: (BUNDLE.platform_key,)),
        ).run(stop=lambda: False)
        assert receipt is not None
        return receipt


def alone(payload: bytes, *, weight: int) -> Sums:
    file = Contents(SPEC, Int8(), Sgd()).open(InMemory(payload), ())
    return partial_aggregate(SPEC.parameters, [CountedUpdate(lambda: nullcontext(file), weight)], parts=("delta",))


def test_the_sum_of_another_is_checked_and_vouched_for_and_added(door: Door) -> None:
    above = Above(door)
    assert door.handler.waits_for(above.order) == 1
    receipt = above.hand_over(above.payload)
    found = verify_sum_receipt(receipt, public_key(SUPERNODE))
    assert (found.fold, found.epoch, found.roll) == (PART, 4, "7" * 64)
    assert above.hand_over(above.payload) == receipt
    assert door.handler.waits_for(above.order) == 0
    whole = added([alone(update(1), weight=5), above.sums])
    assert door.handler.sum(above.order) == encode_sums(whole, of="whole")


def test_a_sum_that_is_not_that_of_its_updates_is_refused_and_may_be_sent_again(door: Door) -> None:
    above = Above(door)
    one_off = {name: numbers + (np.arange(numbers.size) == 0) for name, numbers in above.sums.items()}
    for wrong, code in (
        (encode_sums(one_off, of=PART), "partial.altered"),
        (encode_sums(above.sums, of="another"), "partial.malformed"),
        (b"x" * 100_000, "relay.too_large"),
    ):
        with pytest.raises(NeighbourRefused) as refused:
            above.hand_over(wrong)
        assert refused.value.code == code
    with pytest.raises(NeighbourRefused) as refused:
        above.hand_over(above.payload, member="stranger")
    assert refused.value.code == "relay.not_expected"
    assert above.hand_over(above.payload)


def test_a_sum_that_was_damaged_since_is_not_added(door: Door, tmp_path: Path) -> None:
    above = Above(door)
    above.hand_over(above.payload)
    (tmp_path / "relay-sums" / "7" / f"{PART}.update").write_bytes(b"damaged")
    with pytest.raises(AgentError) as lost:
        door.handler.sum(above.order)
    assert lost.value.code == "relay.update_lost"
