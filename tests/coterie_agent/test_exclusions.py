"""Lists of excluded devices that devices pass on: the newest holds, wherever it comes from, and only the platform's."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_agent.exclusions import Exclusions
from coterie_agent.link.failure import Unreachable
from coterie_agent.store.database import Database, StoreFull
from coterie_agent.store.exclusions import ExclusionStore
from coterie_wire.bundle import SignedManifest, sign_content
from coterie_wire.errors import WireError
from coterie_wire.exclusion import MAX_EXCLUDED, MAX_LIST_BYTES, Excluded, ExclusionNews
from tests.coterie_agent.bundles import SIGNING_KEY, make_bundle

NOW, FLEET = 1e9, 64
PLATFORM_KEY = make_bundle().platform_key


def excluding(*devices: str, at: float = NOW, by: bytes = SIGNING_KEY) -> SignedManifest:
    return sign_content(msgspec.json.encode(Excluded(1, devices, at)), by)


def one() -> Exclusions:
    return Exclusions(lambda: (PLATFORM_KEY,))


def talk(devices: list[Exclusions], caller: int, called: int) -> None:
    """One call and its answer."""
    devices[called].receive_from(str(caller), devices[caller].news_for(str(called)))
    devices[caller].receive_from(str(called), devices[called].news_for(str(caller)))


@given(seed=st.integers(0, 2**32 - 1))
def test_what_one_has_heard_all_hear_that_talk_to_one_another(seed: int) -> None:
    """At each meeting every device calls one other; what one knows doubles each time, until few have not heard."""
    devices, rng = [one() for _ in range(FLEET)], np.random.default_rng(seed)
    devices[0].receive(excluding("gone"))
    for _ in range(20):
        for caller in range(FLEET):
            talk(devices, caller, int(rng.choice([at for at in range(FLEET) if at != caller])))
    assert all(device.devices == {"gone"} for device in devices)


@given(order=st.permutations(range(6)))
def test_the_newest_list_holds_in_whatever_order_they_come(order: list[int]) -> None:
    device = one()
    for number in order:
        device.receive(excluding(f"d{number}", at=NOW + number))
    assert (device.devices, device.written_at) == ({"d5"}, NOW + 5)


def test_a_list_is_brought_only_where_the_other_one_has_said_that_its_own_is_older() -> None:
    knows, other = one(), one()
    knows.receive(excluding("gone"))
    assert knows.news_for("other") == ExclusionNews(NOW)
    knows.receive_from("other", other.news_for("knows"))
    assert knows.news_for("other") == ExclusionNews(NOW, excluding("gone"))
    other.receive_from("knows", knows.news_for("other"))
    knows.receive_from("other", other.news_for("knows"))
    assert knows.news_for("other") == ExclusionNews(NOW)


def test_a_list_that_the_platform_has_not_signed_is_refused_from_the_platform_and_passed_over_from_others() -> None:
    device, forged = one(), excluding("a", "b", at=NOW + 9, by=bytes(32))
    with pytest.raises(WireError):
        device.receive(forged)
    device.receive_from("liar", ExclusionNews(NOW + 9, forged))
    assert (device.devices, device.written_at) == (frozenset(), 0.0)


def test_who_is_excluded_is_not_called() -> None:
    device = one()
    device.check_may_call("gone")
    device.receive(excluding("gone"))
    with pytest.raises(Unreachable, match="has excluded device gone"):
        device.check_may_call("gone")


def test_what_was_heard_outlives_the_agent(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.sqlite3")
    store = ExclusionStore(database)
    assert store.find() is None
    device = Exclusions(lambda: (PLATFORM_KEY,), store.keep)
    for at in (NOW, NOW + 1):
        device.receive(excluding("gone", at=at))
    assert store.find() == excluding("gone", at=NOW + 1)
    with database.transaction() as cursor:
        cursor.execute("UPDATE exclusions SET content = content || ' '")
    assert store.find() is None, "a damaged one is passed over"
    database.close()


def test_a_full_disk_keeps_nobody_from_turning_excluded_devices_away() -> None:
    def full(_signed: SignedManifest) -> None:
        raise StoreFull(Path("store"))

    device = Exclusions(lambda: (PLATFORM_KEY,), full)
    device.receive(excluding("gone"))
    assert device.devices == {"gone"}


def test_the_longest_list_fits_where_it_is_read() -> None:
    news = ExclusionNews(NOW, excluding(*(f"{number:036}" for number in range(MAX_EXCLUDED))))
    assert len(msgspec.json.encode(news)) < MAX_LIST_BYTES - (64 << 10)
