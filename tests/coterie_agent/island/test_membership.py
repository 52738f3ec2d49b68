"""Voters that call one another over real doors: what is agreed outlives them, and nobody else is listened to."""

from pathlib import Path

import msgspec
import pytest

from coterie_agent.home import Home
from coterie_agent.island.thread import current_lead
from coterie_agent.link.failure import Unreachable
from coterie_agent.link.neighbour import ask_neighbour
from coterie_agent.situation import Situation, waits_for_window
from coterie_agent.store.database import Database
from coterie_agent.store.opened import open_store
from coterie_wire.bundle import sign_content
from coterie_wire.errors import WireError
from coterie_wire.exclusion import Excluded
from coterie_wire.island import ISLAND_PATH, Calling, Holding, Parcel
from coterie_wire.relaying import Lead, public_key, read_with_body, seal, unseal, with_body
from tests.coterie_agent.bundles import SIGNING_KEY
from tests.coterie_agent.island.supernodes import AWAY, BUNDLE, SECRETS, Supernode, lead_with, led
from tests.system.eventually import eventually


def test_who_leads_and_who_holds_outlive_the_leader_and_end_with_the_platforms_absence(
    island: dict[str, Supernode],
) -> None:
    voters = list(island.values())
    assert all(one.leader() is None for one in voters)
    for one in voters:
        one.lose_the_platform()
    first = eventually(lambda: led(voters))
    held = Holding("a", "5" * 64, first.name)
    assert eventually(lambda: first.membership.agree(held))
    first.kill()
    rest = [one for one in voters if one is not first]
    second = eventually(lambda: led(rest))
    assert eventually(lambda: second.membership.holders() == {"a": first.name})
    assert not rest[0 if rest[1] is second else 1].membership.agree(Holding("b", "6" * 64, "x")), "it does not lead"
    first.start(told=False)
    assert current_lead(first.situation.now, first.membership) is not None, "its store has it"
    first.lose_the_platform()
    assert eventually(lambda: first.membership.holders() == {"a": first.name})
    assert first.membership.keeper("a", "5" * 64) == first.name
    other = next(one for one in rest if one is not second)
    assert eventually(lambda: other.membership.keeper("b", "6" * 64) == led(voters).name)  # type: ignore[union-attr]
    for one in voters:
        one.situation.link("https")
    eventually(lambda: all(one.membership.status() is None for one in voters))
    assert second.membership.keeper("a", "5" * 64) is None
    assert {what for one in voters for what in one.sent} == {"roles of an island"}


def test_one_voter_alone_leads_nothing(island: dict[str, Supernode]) -> None:
    alone = island["one"]
    alone.lose_the_platform()
    eventually(lambda: alone.membership.status() is not None)
    assert not alone.membership.agree(Holding("a", "5" * 64, "one"))
    assert alone.leader() is None
    assert island["two"].membership.status() is None, "the others reach the platform, and take no part"


def test_who_is_no_voter_is_refused_and_a_parcel_that_comes_again_is_passed_over(
    island: dict[str, Supernode],
) -> None:
    one, two = island["one"], island["two"]
    known = one.membership._island
    assert known is not None
    stranger = with_body(Calling(known.name, "stranger"), b"x")
    address = known.voters[0].address
    with pytest.raises(Unreachable, match="403"):
        ask_neighbour(address, ISLAND_PATH, stranger, at_most_bytes=1000)
    with pytest.raises(WireError, match="not sealed"):
        one.membership.receive(known.voters[1], seal(b"{}\n", secret=SECRETS["three"], to=public_key(SECRETS["one"])))

    def send(told: bytes, number: int) -> Parcel:
        parcel = Parcel(known.name, "two", "one", b"s" * 16, told, number, ())
        sealed = seal(with_body(parcel), secret=SECRETS["two"], to=public_key(SECRETS["one"]))
        answer = one.membership.receive(known.voters[1], sealed)
        return read_with_body(unseal(answer, secret=SECRETS["two"], by=public_key(SECRETS["one"])), Parcel)[0]

    assert two.membership.status() is None
    session = send(bytes(16), 1).session
    one.lose_the_platform()
    eventually(lambda: one.membership.status() is not None)
    assert send(session, 2).told == b"s" * 16
    assert one.membership._last_parcels["two"] == (b"s" * 16, 2)
    send(session, 2)
    send(bytes(16), 3)
    assert one.membership._last_parcels["two"] == (b"s" * 16, 2)


def test_a_voter_that_the_platform_has_excluded_is_not_answered(island: dict[str, Supernode]) -> None:
    one = island["one"].membership
    known = one._island
    assert known is not None
    calling = with_body(Calling(known.name, "two"))
    assert one.admit(calling).device == "two"
    one.exclusions.receive(sign_content(msgspec.json.encode(Excluded(1, ("two",), 1e9)), SIGNING_KEY))
    with pytest.raises(WireError, match="has excluded device two"):
        one.admit(calling)


def test_voters_tell_each_other_who_is_excluded(island: dict[str, Supernode]) -> None:
    island["one"].membership.exclusions.receive(
        sign_content(msgspec.json.encode(Excluded(1, ("another",), 1e9)), SIGNING_KEY)
    )
    for voter in island.values():
        voter.lose_the_platform()
    eventually(lambda: all(voter.membership.exclusions.devices == {"another"} for voter in island.values()))


def test_a_device_that_has_not_tried_to_reach_the_platform_is_not_cut_off() -> None:
    situation = Situation()
    assert not situation.now.is_cut_off
    situation.link("offline", waits_for_window(3600.0))
    assert not situation.now.is_cut_off
    situation.link("offline", AWAY)
    assert situation.now.is_cut_off


def test_a_list_that_the_platform_did_not_sign_is_none(island: dict[str, Supernode]) -> None:
    one = island["one"]
    known = one.membership._island
    assert known is not None
    with pytest.raises(WireError, match="not signed"):
        one.membership.follow(lead_with(known, signed_by=bytes([9]) * 32), is_cut_off=True)
    assert one.membership.island is None


def test_a_voter_whose_disk_has_lost_its_vote_gives_none_in_this_island(tmp_path: Path) -> None:
    lead, home = Lead(round="7", plan=msgspec.Raw(b"{}"), manifest=BUNDLE.signed), Home(tmp_path)
    with open_store(home) as store:
        assert store.island.begin("island", lead) == b""
        store.island.save(b"voted")
    with open_store(home) as store:
        assert store.island.begin("island", lead) == b"voted"
        assert store.island.lead() == lead
    database = Database(home.database)
    with database.transaction() as cursor:
        cursor.execute("UPDATE island SET state = x'00'")
    database.close()
    for _ in range(2):
        with open_store(home) as store:
            assert store.island.begin("island", lead) is None
    with open_store(home) as store:
        store.island.end()
        assert store.island.lead() is None
        assert store.island.begin("island", lead) is None, "that it must not vote outlives the lead"
        assert store.island.begin("another", lead) == b""
