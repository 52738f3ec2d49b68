"""Federations that tell of the same devices at the same time, in threads with connections of their own."""

from functools import partial
from uuid import UUID

import pytest

from coterie.federations.models import Federation
from coterie.privacy.models import Account, Charge
from coterie.privacy.services import spend
from tests.coterie.privacy.test_ledger import ONE, devices, federations, pays
from tests.coterie.rounds.test_at_once import at_once
from tests.coterie.world import START

# Committed for real: threads see what others have done.
pytestmark = pytest.mark.django_db(transaction=True)
PARTS = 5


def releases(federation: Federation, told: list[UUID], name: str) -> int:
    """How many of eight releases could tell of the first of them."""
    paid = [
        spend(release=f"{name} {number}", federation=federation, spent=ONE, devices=told, now=START)
        for number in range(8)
    ]
    return sum(told[0] in who for who in paid)


def test_a_budget_is_spent_to_its_end_and_no_further_however_many_compete() -> None:
    here, fleet = federations(2), devices(3)
    for device in fleet:
        pays(device, PARTS)
    keys = [device.pk for device in fleet]
    found = at_once(
        *(
            partial(releases, here[place % 2], keys[place % 3 :] + keys[: place % 3], f"worker {place}")
            for place in range(4)
        )
    )
    assert sum(found) > 0
    for device in fleet:
        assert Charge.objects.filter(device=device).count() == PARTS
        assert sum(account.releases for account in Account.objects.filter(device=device)) == PARTS


def test_workers_that_charge_for_one_release_at_once_charge_once() -> None:
    (federation,), fleet = federations(1), devices(3)
    keys = [device.pk for device in fleet]
    charge = partial(spend, release="merge 1", federation=federation, spent=ONE, devices=keys, now=START)
    assert at_once(*[charge] * 4) == [frozenset(keys)] * 4
    assert Charge.objects.count() == 3
    assert {account.releases for account in Account.objects.all()} == {1}
