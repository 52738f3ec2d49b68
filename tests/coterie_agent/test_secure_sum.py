"""A device's part in a secure sum: the sum is right, whoever is killed sends the same bytes, what is wrong ends it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from nacl.signing import SigningKey

from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.link.failure import Refused, Unreachable
from coterie_agent.store.opened import open_store
from coterie_learning.secure_sum import party
from coterie_learning.secure_sum.identities import EMPTY, next_head
from coterie_learning.secure_sum.vector import Layout, added
from coterie_wire.errors import WireError
from coterie_wire.messages import Problem
from coterie_wire.secure_sum import LogEntry, SumNews
from tests.coterie_agent.summing import Device, Killed, Link, Platform, take_turns
from tests.coterie_learning.secure_sum.session import EASY, vector_of

LAYOUT = Layout(length=100, bits=16, tail=3)
NAMES = ("first", "second", "third")


@pytest.fixture
def platform() -> Platform:
    return Platform(3, EASY, LAYOUT)


@pytest.fixture
def devices(platform: Platform, tmp_path: Path) -> list[Device]:
    return devices_of(platform, tmp_path)


def devices_of(platform: Platform, root: Path) -> list[Device]:
    return [
        Device(Home(root / name), Link(name, platform), lambda _, place=place: vector_of(place, LAYOUT), platform.terms)
        for place, name in enumerate(NAMES)
    ]


def is_sum_of(platform: Platform, *places: int) -> bool:
    found, plain = platform.sum(), added([vector_of(place, LAYOUT) for place in places])
    return np.array_equal(found.numbers, plain.numbers) and np.array_equal(found.tail, plain.tail)


def test_the_sum_of_what_the_devices_send_is_that_of_their_vectors(platform: Platform, devices: list[Device]) -> None:
    take_turns(devices)
    assert is_sum_of(platform, 0, 1, 2)


def test_a_device_that_is_lost_before_its_vector_leaves_the_sum_of_the_others(
    platform: Platform, devices: list[Device]
) -> None:
    for device in (*devices, *devices[:2]):
        device.turn()
    assert "third" in platform.boxes
    assert "third" not in platform.offers
    platform.lost.add("third")
    take_turns(devices[:2])
    assert is_sum_of(platform, 0, 1)


@pytest.mark.parametrize("is_heard", [False, True], ids=["unheard", "heard"])
def test_a_device_that_is_killed_at_any_call_goes_on_with_the_same_bytes(is_heard: bool, tmp_path: Path) -> None:
    for dies_at in range(1, 100):
        platform = Platform(3, EASY, LAYOUT)
        devices = devices_of(platform, tmp_path / str(dies_at))
        devices[0].link.dies_at, devices[0].link.is_heard = dies_at, is_heard
        try:
            take_turns(devices)
        except Killed:
            take_turns(devices)
        assert is_sum_of(platform, 0, 1, 2)
        once = ("JoinSum", "ShareSecrets", "OfferMasked", "RevealShares")
        assert all(len(platform.heard["first", message]) == 1 for message in once)
        assert devices[0].computed == 1
        if devices[0].link.calls < dies_at:
            break
    assert dies_at > 10


def test_a_sum_that_failed_before_the_vector_may_be_followed_by_another_with_new_keys(
    platform: Platform, devices: list[Device]
) -> None:
    for device in devices:
        device.turn()
    members = dict(platform.members)
    platform.session = "another"
    platform.members.clear()
    platform.boxes.clear()
    take_turns(devices)
    assert is_sum_of(platform, 0, 1, 2)
    for name, member in platform.members.items():
        assert member.identity == members[name].identity
        assert member.mask != members[name].mask


DISHONEST: dict[str, tuple[str, Callable[[SumNews], SumNews], str]] = {
    "a member twice": (
        "share",
        lambda news: replace(news, members=(*news.members, news.members[0])),
        "secure_sum.wrong_list",
    ),
    "a key that nobody signed": (
        "share",
        lambda news: replace(news, members=tuple(replace(one, channel=b"\7" * 32) for one in news.members[:1])),
        "secure_sum.wrong_signature",
    ),
    "no boxes": ("mask", lambda news: replace(news, boxes=()), "secure_sum.too_few_shared"),
    "boxes that were changed": (
        "mask",
        lambda news: replace(news, boxes=tuple(replace(box, content=bytes(82)) for box in news.boxes)),
        "secure_sum.too_few_shared",
    ),
    "survivors without the device": ("reveal", lambda news: replace(news, survivors=()), "secure_sum.wrong_survivors"),
    "a sum that it did not join": ("share", lambda news: replace(news, session="b"), "secure_sum.out_of_order"),
    "a vector before the shares": (
        "share",
        lambda news: SumNews(news.session, "mask"),
        "secure_sum.out_of_order",
    ),
    "a second sum after the vector": ("reveal", lambda news: SumNews("b", "join"), "secure_sum.out_of_order"),
}


@pytest.mark.parametrize("name", DISHONEST)
def test_a_dishonest_platform_is_refused_and_learns_nothing_of_the_step(
    name: str, platform: Platform, devices: list[Device]
) -> None:
    step, says, code = DISHONEST[name]
    platform.tampered = lambda news: says(news) if news.to_do == step else news
    with pytest.raises(WireError) as caught:
        for device in (devices[2], *(devices * 5)):
            device.turn()
    assert caught.value.code == code
    assert not {"share": platform.boxes, "mask": platform.offers, "reveal": platform.shares}[step]


def test_a_crowd_that_is_smaller_than_promised_gets_no_shares(tmp_path: Path) -> None:
    platform = Platform(3, EASY._replace(fewest=4), LAYOUT)
    with pytest.raises(WireError) as caught:
        take_turns(devices_of(platform, tmp_path))
    assert caught.value.code == "secure_sum.too_few"
    assert not platform.boxes


def test_another_list_is_refused_after_one_was_accepted(platform: Platform, devices: list[Device]) -> None:
    for device in devices:
        device.turn()
    assert platform.boxes.keys() == {"third"}
    platform.boxes.clear()
    del platform.members["first"]
    platform.count = 2
    with pytest.raises(WireError) as caught:
        devices[2].turn()
    assert caught.value.code == "secure_sum.wrong_list"


def test_shares_are_revealed_for_one_set_of_survivors_ever(platform: Platform, devices: list[Device]) -> None:
    for device in (*devices, *devices, devices[0]):
        device.turn()
    assert platform.shares.keys() == {"first"}
    platform.shares.clear()
    del platform.offers["second"]
    platform.lost.add("second")
    with pytest.raises(WireError) as caught:
        devices[0].turn()
    assert caught.value.code == "secure_sum.wrong_survivors"


def test_the_platforms_final_no_ends_it_and_a_passing_one_does_not(devices: list[Device]) -> None:
    (first, *_) = devices
    first.link.refusal = Refused(Problem("rounds.closed", "closed", 409, "the round has closed"))
    assert first.turn() is first.link.refusal
    first.link.refusal = Refused(Problem("core.busy", "busy", 503, "later"))
    with pytest.raises(Refused):
        first.turn()


def test_a_platform_that_asks_for_the_same_again_is_left_alone_for_a_while(
    platform: Platform, devices: list[Device]
) -> None:
    platform.tampered = lambda news: SumNews("session", "join")
    with pytest.raises(Unreachable):
        devices[0].turn()


DAMAGES = {
    "state": "UPDATE secure_sum SET state = replace(CAST(state AS TEXT), 'session', 'session2')",
    "assignment": "UPDATE secure_sum SET assignment = 'another'",
    "vector": "UPDATE masked_vector SET content = zeroblob(length(content))",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_was_damaged_on_the_disk_is_not_made_a_second_time(
    name: str, platform: Platform, devices: list[Device]
) -> None:
    for device in (*devices, *devices[:2]):
        device.turn()
    devices[2].turn()
    platform.files["third"].clear()
    change(devices[2], DAMAGES[name])
    for _ in range(2):
        with pytest.raises(AgentError) as caught:
            devices[2].turn()
        assert caught.value.code == "agent.sum_damaged"
    assert devices[2].computed == 1
    assert not platform.files["third"]


def test_all_devices_read_the_same_log_of_identities(platform: Platform, devices: list[Device]) -> None:
    take_turns(devices)
    logs = []
    for device in devices:
        with open_store(device.home) as store:
            logs.append(store.identity_log.entries())
    assert logs[0] == logs[1] == logs[2]
    assert [entry.device for entry in logs[0]] == list(NAMES)


def test_a_member_whose_identity_is_not_logged_is_refused(platform: Platform, devices: list[Device]) -> None:
    for device in devices:
        device.turn()
    invented = party.join(platform.session, "second", SigningKey.generate()).member

    def tampered(news: SumNews) -> SumNews:
        members = tuple(invented if one.device == "second" else one for one in news.members)
        return replace(news, members=members)

    platform.tampered = tampered
    with pytest.raises(WireError) as refused:
        devices[0].turn()
    assert refused.value.code == "secure_sum.unknown_identity"


def second_sum(platform: Platform, root: Path) -> tuple[Platform, list[Device]]:
    """Of the same devices, whose assignments to the first are over."""
    later = Platform(3, EASY, LAYOUT, session="later")
    later.log = list(platform.log)
    again = devices_of(later, root)
    for device in again:
        change(device, "DELETE FROM secure_sum")
    return later, again


def change(device: Device, statement: str) -> None:
    """Behind its back."""
    with closing(sqlite3.connect(device.home.database, isolation_level=None)) as connection:
        connection.execute(statement)


@pytest.mark.parametrize("forged", ["another identity", "an entry less", "an invented device among them"])
def test_a_log_that_was_rewritten_is_refused(forged: str, platform: Platform, tmp_path: Path) -> None:
    take_turns(devices_of(platform, tmp_path))
    later, again = second_sum(platform, tmp_path)
    match forged:
        case "another identity":
            later.log[1] = LogEntry("second", bytes(32))
        case "an entry less":
            later.log.pop()
        case "an invented device among them":
            later.log.insert(0, LogEntry("invented", bytes(32)))
    with pytest.raises(WireError) as refused:
        for device in (*again, *again):
            device.turn()
    assert refused.value.code == "secure_sum.other_log"


LOG_DAMAGES = {
    "an identity": "UPDATE identity_log SET identity = zeroblob(32) WHERE position = 2",
    "a name": "UPDATE identity_log SET device = CAST(x'ff73' AS TEXT) WHERE position = 2",
    "a head": "UPDATE identity_log SET head = zeroblob(32) WHERE position = 2",
    "a position": "UPDATE identity_log SET position = 7 WHERE position = 2",
    "a position before all": "UPDATE identity_log SET position = -1 WHERE position = 2",
    "the last entry": "UPDATE identity_log SET head = zeroblob(32) WHERE position = 3",
    "an entry that is gone": "DELETE FROM identity_log WHERE position = 2",
    "the end": "UPDATE identity_log_end SET head = zeroblob(32)",
}


@pytest.mark.parametrize("name", LOG_DAMAGES)
def test_what_the_disk_has_damaged_of_the_log_is_read_again(name: str, platform: Platform, tmp_path: Path) -> None:
    take_turns(devices_of(platform, tmp_path))
    later, again = second_sum(platform, tmp_path)
    change(again[0], LOG_DAMAGES[name])
    take_turns(again)
    assert is_sum_of(later, 0, 1, 2)
    with open_store(again[0].home) as store:
        store.identity_log.mend()
        assert store.identity_log.end().length == 3


@pytest.mark.parametrize("name", LOG_DAMAGES)
def test_a_damaged_log_is_not_read_again_as_another(name: str, platform: Platform, tmp_path: Path) -> None:
    take_turns(devices_of(platform, tmp_path))
    later, again = second_sum(platform, tmp_path)
    later.log[1] = LogEntry("second", bytes(32))
    change(again[0], LOG_DAMAGES[name])
    with pytest.raises(WireError) as refused:
        for device in (*again, again[0]):
            device.turn()
    assert refused.value.code == "secure_sum.other_log"
    assert not later.boxes


def test_a_log_whose_end_nothing_tells_ends_the_sum_with_what_to_do(platform: Platform, tmp_path: Path) -> None:
    take_turns(devices_of(platform, tmp_path))
    _, again = second_sum(platform, tmp_path)
    change(again[0], LOG_DAMAGES["the last entry"])
    change(again[0], LOG_DAMAGES["the end"])
    with pytest.raises(AgentError, match="leave and join again") as refused:
        for device in (*again, *again):
            device.turn()
    assert refused.value.code == "agent.log_damaged"


def test_two_sums_of_a_device_may_read_the_log_at_once(tmp_path: Path) -> None:
    entries = [LogEntry(name, bytes([place] * 32)) for place, name in enumerate(NAMES)]
    heads, head = [], EMPTY
    for entry in entries:
        head = next_head(head, entry.device, entry.identity)
        heads.append(head)
    home = Home(tmp_path / "device")
    home.create()
    with open_store(home) as store:
        log = store.identity_log
        log.append(entries[:2], heads[:2], after=0)
        log.append(entries, heads, after=0)
        log.append(entries[1:], heads[1:], after=1)
        assert [entry.device for entry in log.entries()] == list(NAMES)
        with closing(sqlite3.connect(home.database, isolation_level=None)) as connection:
            connection.execute("DELETE FROM identity_log WHERE position > 1")
        log.append([LogEntry("fourth", bytes(32))], [bytes(32)], after=3)
        assert (log.length(), log.end()) == (1, (3, heads[-1])), "what was removed meanwhile leaves no gap"
