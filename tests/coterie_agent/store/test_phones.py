"""A link lets one phone in, once and in time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie_agent.home import Home
from coterie_agent.store.opened import open_store
from coterie_agent.store.phones import MAX_PHONES, PhoneStore


@pytest.fixture
def phones(tmp_path: Path) -> Iterator[PhoneStore]:
    with open_store(Home(tmp_path)) as store:
        yield store.phones


def test_a_link_is_good_once(phones: PhoneStore) -> None:
    phones.offer("link", until=10.0)
    assert not phones.take("guess", "thief", now=1.0, until=100.0)
    assert phones.take("link", "phone", now=1.0, until=100.0)
    assert not phones.take("link", "second", now=1.0, until=100.0)
    assert (
        phones.is_signed_in("phone", now=99.0)
        and not phones.is_signed_in("second", now=2.0)
        and not phones.is_signed_in("", now=2.0)
    )


def test_a_link_and_a_phone_have_their_time(phones: PhoneStore) -> None:
    phones.offer("link", until=10.0)
    assert not phones.take("link", "phone", now=10.0, until=100.0)
    phones.offer("link", until=20.0)
    assert phones.take("link", "phone", now=11.0, until=100.0)
    assert not phones.is_signed_in("phone", now=100.0)
    assert (phones.count(now=99.0), phones.count(now=100.0)) == (1, 0)


def test_another_link_takes_the_place_of_the_one_before(phones: PhoneStore) -> None:
    phones.offer("first", until=10.0)
    phones.offer("second", until=10.0)
    assert not phones.take("first", "phone", now=1.0, until=100.0)
    assert phones.take("second", "phone", now=1.0, until=100.0)


def test_the_phone_whose_time_ends_first_makes_room(phones: PhoneStore) -> None:
    for number in range(MAX_PHONES + 1):
        phones.offer("link", until=10.0)
        assert phones.take("link", f"phone {number}", now=1.0, until=100.0 + number)
    assert phones.count(now=2.0) == MAX_PHONES
    assert not phones.is_signed_in("phone 0", now=2.0) and phones.is_signed_in("phone 1", now=2.0)


def test_signed_out_none_is_known_and_no_link_is_good(phones: PhoneStore) -> None:
    phones.offer("link", until=10.0)
    phones.take("link", "phone", now=1.0, until=100.0)
    phones.offer("next", until=10.0)
    phones.sign_out()
    assert not phones.is_signed_in("phone", now=2.0) and not phones.take("next", "phone", now=2.0, until=100.0)


def test_the_disk_has_neither_links_nor_keys(phones: PhoneStore, tmp_path: Path) -> None:
    phones.offer("the secret of a link", until=10.0)
    phones.take("the secret of a link", "the key of a phone", now=1.0, until=100.0)
    phones.offer("another secret", until=10.0)
    content = b"".join(path.read_bytes() for path in (tmp_path / "state").glob("store.sqlite3*"))
    assert not any(word in content for word in (b"the secret of a link", b"the key of a phone", b"another secret"))
