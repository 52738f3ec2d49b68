"""Where a device brings its update while the platform is away: to whoever leads, with the ticket for another."""

import hashlib
import time
from collections.abc import Mapping

import msgspec
import pytest

from coterie_agent.delivering import Delivering
from coterie_agent.exclusions import Exclusions
from coterie_agent.link.failure import Unreachable
from coterie_agent.link.http import HttpLink
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store
from coterie_agent.store.work import Spooled
from coterie_agent.supernode_upload import NeighbourRefused, SupernodeUpload
from coterie_wire.bundle import sign_content
from coterie_wire.messages import Assignment, OfferUpdate
from coterie_wire.relaying import Peer, Route, Ticket, public_key, verify_receipt
from tests.coterie_agent.bundles import SIGNING_KEY
from tests.coterie_agent.island.supernodes import AWAY, BUNDLE, SECRETS, Supernode, led
from tests.coterie_agent.relay.test_relay import ASSIGNMENT, MEMBER, update
from tests.system.eventually import eventually

PAYLOAD = update(1)
SHA256 = hashlib.sha256(PAYLOAD).hexdigest()


def voter_of(island: Mapping[str, Supernode], name: str) -> Peer:
    known = island[name].membership._island
    assert known is not None
    voter = known.voter(name)
    assert voter is not None
    return voter


def route_to(island: Mapping[str, Supernode], name: str, *, epoch: int = 1, by: str | None = None) -> Route:
    """The platform's route to one voter; `by` another, which is called instead."""
    eventually(lambda: all(one.membership._island for one in island.values()))
    ticket = Ticket(1, ASSIGNMENT, "member", public_key(MEMBER), name, epoch, time.time() + 60)
    signed = sign_content(msgspec.json.encode(ticket), SIGNING_KEY)
    called = voter_of(island, by or name)
    kept = island[name].membership.stored_lead
    assert kept is not None
    return Route(called.device, called.address, called.key, epoch, signed, bytes(32), island=kept.island)


def handing_over(route: Route, *, is_away: bool = True) -> SupernodeUpload:
    return SupernodeUpload(
        route=route,
        what="update to a supernode",
        sha256=SHA256,
        size_bytes=len(PAYLOAD),
        read=lambda offset, size: PAYLOAD[offset : offset + size],
        secret=MEMBER,
        chunk_bytes=200,
        record_sent=lambda _what, _bytes: None,
        exclusions=Exclusions(lambda: (BUNDLE.platform_key,)),
        is_away=is_away,
    )


def cut_off(island: Mapping[str, Supernode]) -> tuple[Supernode, list[Supernode]]:
    """Who leads then, and the others."""
    for one in island.values():
        one.lose_the_platform()
    leader = eventually(lambda: led(list(island.values())))
    return leader, [one for one in island.values() if one is not leader]


def test_the_leader_takes_it_with_the_ticket_for_another_and_others_name_the_leader(
    island: dict[str, Supernode],
) -> None:
    leader, (first, second) = cut_off(island)
    with pytest.raises(NeighbourRefused) as refused:
        handing_over(route_to(island, first.name)).run(stop=lambda: False)
    assert (refused.value.code, refused.value.ask) == ("relay.not_the_leader", leader.name)
    receipt = handing_over(route_to(island, first.name, by=leader.name)).run(stop=lambda: False)
    assert receipt is not None
    assert verify_receipt(receipt, public_key(SECRETS[leader.name])).sha256 == SHA256
    eventually(lambda: second.membership.holders() == {ASSIGNMENT: leader.name})
    with pytest.raises(NeighbourRefused) as refused:  # a ticket for another is good for nothing else
        handing_over(route_to(island, first.name, by=leader.name), is_away=False).run(stop=lambda: False)
    assert refused.value.code == "relay.not_leading"


def test_once_the_platform_is_there_only_its_routes_hold_and_what_is_held_is_not_sent_again(
    island: dict[str, Supernode],
) -> None:
    leader, (first, _) = cut_off(island)
    elsewhere = route_to(island, first.name, by=leader.name)
    assert handing_over(elsewhere).run(stop=lambda: False) is not None
    for one in island.values():
        one.situation.link("https")
    eventually(lambda: leader.membership.island is None)
    with pytest.raises(Unreachable, match="403"):
        handing_over(elsewhere).run(stop=lambda: False)
    anew = handing_over(route_to(island, leader.name, epoch=2), is_away=False)
    answer = anew._send(0, b"")
    assert answer.receipt is not None, "it has come before, by another route"
    assert verify_receipt(answer.receipt, public_key(SECRETS[leader.name])).epoch == 2


def test_a_device_goes_on_until_it_finds_the_leader_and_rests_until_the_platform_is_there(
    island: dict[str, Supernode], store: Store
) -> None:
    leader, (first, second) = cut_off(island)
    second.kill()
    route = route_to({name: one for name, one in island.items() if one is not second}, first.name)
    assignment = Assignment(ASSIGNMENT, "digits", 1, msgspec.Raw(b"{}"), BUNDLE.signed, 11, 60.0, route=route)
    offer = OfferUpdate(ASSIGNMENT, SHA256, len(PAYLOAD), 4, 1, 2, 1.0, 0.5, 0.25, 0.1)
    store.work.accept(assignment)
    store.work.spool(Spooled(offer, "digits", PAYLOAD, {}))
    situation = Situation()
    delivering = Delivering(
        link=HttpLink("http://127.0.0.1:1", credential="", record_sent=lambda _what, _bytes: None),
        work=store.work,
        situation=situation,
        trusted=lambda: (BUNDLE.platform_key,),
        peer_secret=MEMBER,
        chunk_bytes=200,
        record_sent=lambda _what, _bytes: None,
        exclusions=Exclusions(lambda: (BUNDLE.platform_key,)),
    )
    with pytest.raises(Unreachable):
        delivering.run(assignment, offer)  # it does not know yet that the platform is away
    situation.link("offline", AWAY)
    situation.set_conditions(situation.now.conditions, ())
    assert delivering.run(assignment, offer) == "held"
    assert delivering.is_held(assignment, situation.now)
    assert leader.membership.holders() == {ASSIGNMENT: leader.name}
    situation.link("https")
    assert not delivering.is_held(assignment, situation.now)
    second.start()
