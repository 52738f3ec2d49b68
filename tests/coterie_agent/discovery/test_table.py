"""Tables and look-ups, without a network, and among hundreds of simulated devices."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_agent.discovery.lookup import PARALLEL, Lookup
from coterie_agent.discovery.table import MISSES, RoutingTable
from coterie_wire.discovery import NEAR, place_of
from tests.coterie_agent.discovery.simulated import Named, Network, look_ups

PLACES = st.integers(0, 2**160 - 1)
OWN = place_of("own")


def named(place: int) -> Named:
    return Named(f"{place:x}", place)


@given(st.lists(PLACES, max_size=60), PLACES)
def test_the_nearest_of_all_that_fit_are_given_the_nearest_first(places: list[int], target: int) -> None:
    table: RoutingTable[Named] = RoutingTable(OWN)
    for place in places:
        table.add(named(place))
    kept = sorted((contact.place for contact in table), key=lambda place: place ^ target)
    assert [contact.place for contact in table.nearest(target)] == kept[:NEAR]
    assert OWN not in kept
    by_bucket: dict[int, set[int]] = {}
    for place in set(places) - {OWN}:
        by_bucket.setdefault((place ^ OWN).bit_length(), set()).add(place)
    assert len(kept) == sum(min(NEAR, len(found)) for found in by_bucket.values())


@given(st.data())
def test_who_was_there_first_stays_until_it_misses_calls(data: st.DataObject) -> None:
    """A flood of new devices does not drive out those that answer."""
    table: RoutingTable[Named] = RoutingTable(OWN)
    one_bucket = st.integers(0, 2**120).map(lambda low: OWN ^ (1 << 159) ^ low)
    first = data.draw(st.lists(one_bucket, min_size=NEAR, max_size=NEAR, unique=True))
    later = data.draw(st.lists(one_bucket.filter(lambda place: place not in first), min_size=1, unique=True))
    for place in (*first, *later):
        table.mark_alive(named(place))
    assert {contact.place for contact in table} == set(first)
    gone = data.draw(st.sampled_from(first))
    for _ in range(MISSES - 1):
        table.missed(gone)
    assert table.nearest(gone)[-1].place == gone, "it is asked last"
    table.missed(gone)
    assert {contact.place for contact in table} == set(first) - {gone} | {later[-1]}


def test_a_call_that_is_answered_clears_those_that_were_missed() -> None:
    table: RoutingTable[Named] = RoutingTable(OWN)
    for _ in range(3 * MISSES):
        table.mark_alive(named(5))
        table.missed(5)
    assert len(table) == 1


@given(st.lists(PLACES, min_size=1, max_size=80, unique=True), st.randoms(use_true_random=False), PLACES)
def test_a_look_up_asks_nobody_twice_few_at_once_and_ends_with_the_nearest_that_answer(
    places: list[int], rng: random.Random, target: int
) -> None:
    """Each device that answers knows all, the others are gone: so the nearest that are there must be found."""
    gone = {place for place in places if rng.random() < 0.3}
    lookup = Lookup(target, map(named, rng.sample(places, min(NEAR, len(places)))), own=OWN)
    open_: list[Named] = []
    asked: list[int] = []
    while True:
        new = lookup.next()
        asked += [contact.place for contact in new]
        open_ += new
        assert len(open_) <= PARALLEL
        if not open_:
            break
        contact = open_.pop(rng.randrange(len(open_)))
        if contact.place in gone:
            lookup.failed(contact)
        else:
            lookup.answered(contact, map(named, places))
    assert len(asked) == len(set(asked))
    if not gone.issuperset(asked):
        there = sorted(set(places) - gone - {OWN}, key=lambda place: place ^ target)
        assert [contact.place for contact in lookup.nearest] == there[:NEAR]


def test_devices_find_others_that_they_have_never_heard_of_in_few_steps() -> None:
    network = Network(120, seed=1)
    before = look_ups(network, 100)
    assert before.found == 1
    assert before.most_hops <= 4, "log2(120) is 7"
    assert before.asked <= 8
    network.leave(0.2)
    assert look_ups(network, 100).found >= 0.99
    network.join(24)
    assert look_ups(network, 100).found >= 0.99


def test_a_device_that_knows_nobody_finds_nobody() -> None:
    """And neither does one whose whole acquaintance is gone; it is told, and does not wait for ever."""
    network = Network(2, seed=1)
    alone, other = network.there()
    other.is_there = False
    lookup = network.look_up(alone, place_of("sought"))
    assert (lookup.found, lookup.asked, list(lookup.nearest)) == (None, 1, [])
    assert list(RoutingTable[Named](OWN).to_refresh(random.Random(1))) == []


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_device_is_at_the_hash_of_its_name(name: str) -> None:
    assert place_of(name) != place_of(name + "'")
    assert place_of(name).bit_length() <= 160
