"""Devices that find one another on loopback: who is found, who is answered, and which records are refused and why."""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from coterie_agent.discovery import book
from coterie_agent.discovery.handler import DiscoveryHandler
from coterie_agent.discovery.seeking import ADDRESS_CHECK_S
from coterie_agent.link.failure import Unreachable
from coterie_agent.peer_server import PeerServer
from coterie_wire.bundle import SignedManifest, new_signing_key, verify_key_of
from coterie_wire.discovery import (
    LIFE_S,
    NEAR,
    RECORDS_PATH,
    AddressRecord,
    Enquiry,
    KnownRecords,
    PeerTicket,
    SignedRecord,
    place_of,
    read_record,
    write_record,
)
from coterie_wire.errors import WireError
from coterie_wire.relaying import public_key, read_with_body, seal, unseal, with_body
from tests.coterie_agent.discovery.devices import NOW, PLATFORM, Device, excluded, secret_of, ticket

Make = Callable[..., Device]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    devices = []

    def made(name: str, *, announces: bool = True) -> Device:
        devices.append(Device(name, tmp_path, announces=announces))
        return devices[-1]

    yield made
    with ThreadPoolExecutor() as pool:
        list(pool.map(Device.close, devices))


def introduce(device: Device, other: Device) -> None:
    """As a roster of the platform does."""
    device.book.name("directory", other.key, other.address)
    device.seeking.step()


def record(device: str = "b", *, by: str = "b", written_at: float = NOW, **changes: object) -> SignedRecord:
    """A record of `device`, signed by `by`."""
    content = AddressRecord(device, written_at, written_at + LIFE_S, meetings="127.0.0.1:1")
    key = public_key(secret_of(by))
    return write_record(msgspec.structs.replace(content, **changes), ticket(by, key), secret_of(by))


def test_a_device_that_has_moved_is_found_through_a_third_that_both_know(make: Make) -> None:
    """None of the two has heard of the other before but by its former address, and the platform is away."""
    a, b, c = make("a"), make("b"), make("c")
    b_was_at = "127.0.0.1:1"
    for device in (a, b, c):
        device.seeking.step()
        device.platform.is_away = True
    with pytest.raises(Unreachable):
        a.call("b", b.key, b_was_at)
    a.seeking.step()
    assert list(a.book.sought()) == ["b"], "nobody knows it"
    introduce(b, c)
    introduce(a, c)
    a.now += 120
    a.seeking.step()
    assert a.call("b", b.key, b_was_at) == b.address
    assert a.book.sought() == []
    assert {one.device: one.found for one in a.book.store.neighbours(now=NOW)} == {"b": "table", "c": "directory"}


def test_a_device_that_is_where_the_platform_says_was_found_by_the_directory(make: Make) -> None:
    """Whichever of the two called first."""
    a, b = make("a"), make("b")
    for device in (a, b):
        device.seeking.step()
    introduce(b, a)
    (neighbour,) = a.book.store.neighbours(now=NOW)
    assert neighbour.found == "table"
    assert a.call("b", b.key, b.address) == b.address
    (neighbour,) = a.book.store.neighbours(now=NOW)
    assert neighbour.found == "directory"


def test_a_device_that_gets_another_address_tells_those_that_know_it(make: Make) -> None:
    a, b = make("a"), make("b")
    for device in (a, b):
        device.seeking.step()
    introduce(a, b)
    looked = []
    a.seeking.rescan = lambda: looked.append(a.moved_to)
    a.moved_to = "10.0.0.9:8718"
    a.now += ADDRESS_CHECK_S + 1
    a.seeking.step()
    assert [one.meetings for one in b.book.records()] == [a.moved_to]
    assert looked == [a.moved_to], "so that the local network hears of it, too"


def test_one_of_several_addresses_is_enough_and_another_device_there_is_passed_over(make: Make) -> None:
    a, b, other = make("a"), make("b"), make("c")
    for device in (a, b, other):
        device.seeking.step()
    nobody = a.address.rpartition(":")[0] + ":1"
    a.book.name("local network", b.key, other.address, nobody, b.address)
    a.seeking.step()
    assert [one.device for one in a.book.records()] == ["b"]
    b.moved_to = "10.0.0.9:8718"
    b.now += ADDRESS_CHECK_S + 1
    b.seeking.step()
    assert [one.meetings for one in a.book.records()] == [b.moved_to]
    port = b.moved_to.rpartition(":")[2]
    tried = []
    for _ in range(3):
        with suppress(Unreachable), a.book.way_to("b", b.key, nobody, "meetings") as address:
            tried.append(address)
            raise Unreachable("nobody is there")
    assert tried == [nobody, b.moved_to, f"127.0.0.1:{port}"], "told, by its record, and where it has answered nearby"


def test_what_a_device_tells_after_its_clock_was_ahead_is_believed_at_once(make: Make) -> None:
    a, b = make("a"), make("b")
    a.ahead_s = LIFE_S / 2
    for device in (a, b):
        device.seeking.step()
    introduce(a, b)
    a.ahead_s, a.moved_to = 0.0, "10.0.0.9:8718"
    a.now += ADDRESS_CHECK_S + 1
    a.seeking.step()
    assert [one.meetings for one in b.book.records()] == [a.moved_to]


def test_a_device_that_forgot_that_its_clock_was_ahead_hears_it_from_others(make: Make, tmp_path: Path) -> None:
    b = make("b")
    (tmp_path / "before").mkdir()
    before = Device("a", tmp_path / "before")
    before.ahead_s = LIFE_S / 2
    for device in (before, b):
        device.seeking.step()
    introduce(before, b)
    before.close()
    a = make("a")
    a.seeking.step()
    introduce(a, b)  # who goes by what it heard before, and tells so
    a.now += ADDRESS_CHECK_S + 1
    a.seeking.step()
    assert [one.meetings for one in b.book.records()] == [a.address]


def test_who_only_looks_is_in_nobodys_table(make: Make) -> None:
    quiet, b, c = make("quiet", announces=False), make("b"), make("c")
    for device in (b, c, quiet):
        device.seeking.step()
    introduce(b, c)
    introduce(quiet, c)
    assert {one.device for one in c.book.records()} == {"b"}
    assert quiet.seeking.look_up(place_of("b"), is_target=lambda one: one.device == "b").found is not None
    assert "address record" not in quiet.sent
    assert c.sent["address record"] > 0
    assert quiet.sent["question for an address"] > 0
    with pytest.raises(Unreachable):
        c.enquirer.ask(secret_of("nobody"), quiet.address, 0)


def test_what_was_learned_outlives_a_restart_and_ends_with_the_day(make: Make, tmp_path: Path) -> None:
    a, b = make("a"), make("b")
    for device in (a, b):
        device.seeking.step()
    introduce(a, b)
    a.close()
    again = Device("a", tmp_path)
    try:
        assert [one.device for one in again.book.records()] == ["b"]
        assert again.book.ticket() is not None
        again.now = NOW + LIFE_S + 1
        again.platform.is_away = True
        again.seeking.step()
        assert (list(again.book.records()), again.book.ticket(), len(again.book.table)) == ([], None, 0)
        assert again.book.store.neighbours(now=NOW) == ()
        with pytest.raises(Unreachable, match="no ticket"):
            again.enquirer.ask(b.key, b.address, 0)
    finally:
        again.close()


def test_an_excluded_device_is_out_with_whoever_hears_of_it_from_another(make: Make) -> None:
    """Only c has heard of it from the platform, which goes away then; a hears of it from c."""
    a, b, c = make("a"), make("b"), make("c")
    for device in (a, b):
        device.seeking.step()
    introduce(a, b)
    c.now += 1
    c.platform.excludes = ("b",)
    c.seeking.step()
    for device in (a, b, c):
        device.platform.is_away = True
    introduce(a, c)
    assert a.book.exclusions.devices == {"b"}
    assert "b" not in {one.device for one in a.book.records()}
    with pytest.raises(Unreachable, match="403"):
        b.enquirer.ask(a.key, a.address, 0)
    a.book.exclusions.receive(excluded(at=NOW - 5))
    assert a.book.exclusions.devices == {"b"}, "an older list changes nothing"


@pytest.mark.parametrize(
    ("signed", "code"),
    [
        (lambda: record(by="c"), "discovery.bad_signature"),
        (
            lambda: msgspec.structs.replace(record(), record=record(meetings="127.0.0.1:2").record),
            "discovery.bad_signature",
        ),
        (
            lambda: msgspec.structs.replace(
                record(), ticket=ticket("b", public_key(secret_of("b")), by=new_signing_key())
            ),
            "bundle.bad_signature",
        ),
        (lambda: record(written_at=NOW - LIFE_S - 1), "discovery.expired"),
        (lambda: record(written_at=NOW - LIFE_S - 1, expires_at=NOW + 9e9), "discovery.expired"),
        (
            lambda: msgspec.structs.replace(
                record(), ticket=ticket("b", public_key(secret_of("b")), expires_at=NOW - 1)
            ),
            "discovery.expired",
        ),
        (lambda: record(meetings=None), "discovery.malformed"),
        (lambda: record("gone", by="gone"), "discovery.excluded"),
    ],
)
def test_a_record_that_does_not_hold_is_refused_with_its_reason(signed: Callable[[], SignedRecord], code: str) -> None:
    with pytest.raises(WireError) as refusal:
        read_record(signed(), verify_key_of(PLATFORM), excluded={"gone"}, now=NOW)
    assert refusal.value.code == code


def test_a_device_brings_no_record_but_its_own(make: Make) -> None:
    """Else one of them could fill the stores of all."""
    a = make("a")
    handler, enquiry = (
        DiscoveryHandler(a.book, lambda what, size: None),
        Enquiry(a.key, bytes(16), bytes(20), record=record()),
    )
    caller = a.book.admit(ticket("c", public_key(secret_of("c"))))
    with pytest.raises(WireError) as refusal:
        handler.receive(caller, seal(with_body(enquiry), secret=secret_of("c"), to=a.key))
    assert refusal.value.code == "discovery.not_own"
    with pytest.raises(WireError) as refusal:
        handler.receive(caller, seal(with_body(enquiry), secret=secret_of("d"), to=a.key))
    assert refusal.value.code == "relay.not_sealed"


class Lying:
    """A member whose ticket is real, and whose answers are not."""

    def __init__(self, a: Device) -> None:
        self.a = a
        self.content = b""

    def admit(self, line: bytes) -> PeerTicket:
        return self.a.book.admit(read_with_body(line, SignedManifest)[0])

    def receive(self, caller: PeerTicket, sealed: bytes) -> bytes:
        enquiry, _ = read_with_body(unseal(sealed, secret=secret_of("liar"), by=caller.key), Enquiry)
        content = self.content or with_body(KnownRecords(enquiry.number, record(by="c"), (record(by="c"),) * 3, None))
        return seal(content, secret=secret_of("liar"), to=caller.key)


def test_whatever_a_member_says_or_answers_is_at_most_refused(make: Make) -> None:
    a = make("a")
    a.seeking.step()
    handler, caller = DiscoveryHandler(a.book, a.record_sent), a.book.admit(ticket("c", public_key(secret_of("c"))))
    lying = Lying(a)
    door = PeerServer(0, lying, path=RECORDS_PATH)
    threading.Thread(target=door.run, daemon=True).start()
    liar, rng = public_key(secret_of("liar")), random.Random(1)
    honest = with_body(Enquiry(a.key, bytes(16), bytes(20), record=record("c", by="c")))
    for number in range(60):
        said = bytearray(honest if number % 2 else rng.randbytes(200))
        for _ in range(rng.randrange(1, 4)):
            said[rng.randrange(len(said))] = rng.randrange(256)
        with suppress(WireError):
            handler.admit(bytes(said))
        with suppress(WireError):
            handler.receive(caller, seal(bytes(said), secret=secret_of("c"), to=a.key))
        lying.content = bytes(said)
        with pytest.raises(Unreachable):
            a.enquirer.ask(liar, f"127.0.0.1:{door.server_port}", 5)
    lying.content = b""
    assert a.enquirer.ask(liar, f"127.0.0.1:{door.server_port}", 5) == (None, ()), "records that others did not sign"
    assert {one.device for one in a.book.records()} <= {"c"}
    door.shutdown()
    door.server_close()


def test_the_newer_of_two_records_holds_and_memory_is_bounded(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "MAX_RECORDS", 3)
    a = make("a")
    a.book.take(record(written_at=NOW, meetings="127.0.0.1:2"), "table")
    a.book.take(record(written_at=NOW - 5), "table")
    assert [one.meetings for one in a.book.records()] == ["127.0.0.1:2"]
    names = [f"device {number}" for number in range(9)]
    for name in names:
        a.book.take(record(name, by=name), "table")
    nearest = sorted((*names, "b"), key=lambda name: place_of(name) ^ place_of("a"))[:3]
    assert {one.device for one in a.book.records()} == set(nearest)


def test_a_device_that_knows_of_many_still_knows_some_that_are_far(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "MAX_RECORDS", 60)
    a = make("a")
    for number in range(200):
        a.book.take(record(f"device {number}", by=f"device {number}"), "table")
    assert len(a.book.records()) == 60
    far = [one for one in a.book.table if (one.place ^ place_of("a")).bit_length() == 160]
    assert len(far) == NEAR, "half of all places are there, and look-ups begin with these"


def test_the_record_of_a_device_that_is_looked_for_is_kept_however_far_it_is(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "MAX_RECORDS", 30)
    a = make("a")
    names = [f"device {number}" for number in range(200)]
    furthest = max(names, key=lambda name: place_of(name) ^ place_of("a"))
    for name in names:
        if name != furthest:
            a.book.take(record(name, by=name), "table")
    key = public_key(secret_of(furthest))
    with pytest.raises(Unreachable), a.book.way_to(furthest, key, "127.0.0.1:1", "meetings"):
        raise Unreachable("it is not there")
    a.book.take(record(furthest, by=furthest, meetings="127.0.0.1:2"), "table")
    assert a.book.sought() == []
    with a.book.way_to(furthest, key, "127.0.0.1:1", "meetings") as address:
        assert address == "127.0.0.1:2"


def test_a_record_with_another_key_than_the_platform_named_is_not_followed(make: Make) -> None:
    a, b = make("a"), make("b")
    for device in (a, b):
        device.seeking.step()
    introduce(a, b)
    other = public_key(secret_of("other"))
    with pytest.raises(Unreachable), a.book.way_to("b", other, "127.0.0.1:1", "meetings"):
        raise Unreachable("gone")
    with a.book.way_to("b", other, "127.0.0.1:1", "meetings") as address:
        assert address == "127.0.0.1:1"
