"""Who is on the list that devices pass on, and who is given another."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from coterie.core.identity import verify_key
from coterie.fleet.exclusions import OLDEST, SETTLED_S, Exclusions
from coterie.fleet.services import EnrolledDevice, revoke_device
from coterie_wire.bundle import SignedManifest, read_signed
from coterie_wire.exclusion import Excluded

pytestmark = pytest.mark.django_db
Enrol = Callable[..., EnrolledDevice]


def newer(known_at: datetime, now: datetime) -> SignedManifest | None:
    return Exclusions(now).newer_than(known_at.timestamp())


def test_a_list_will_do_until_somebody_is_excluded_and_for_an_hour_at_most(enrol: Enrol, now: datetime) -> None:
    soon, later = now + timedelta(minutes=5), now + timedelta(minutes=10)
    assert newer(now, later) is None
    assert newer(now, now + OLDEST + timedelta(seconds=1)) is not None, "somebody may have been released"
    revoked = enrol().device
    revoke_device(device=revoked, now=soon)
    found = newer(now, later)
    assert found is not None
    assert read_signed(found, Excluded, verify_key()).devices == (str(revoked.pk),)
    assert newer(soon, later) is not None, "it may have been written before the other was seen"
    assert newer(soon + timedelta(seconds=SETTLED_S), later) is None


def test_a_device_that_has_none_is_given_one(now: datetime) -> None:
    assert Exclusions(now).newer_than(0.0) is not None


def test_it_is_read_once_however_many_are_told(
    enrol: Enrol, now: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    revoke_device(device=enrol().device, now=now)
    exclusions = Exclusions(now)
    with django_assert_num_queries(2):
        assert len({exclusions.newer_than(0.0), exclusions.newer_than(now.timestamp())}) == 1
