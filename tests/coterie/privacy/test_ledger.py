"""The ledger: spent once, never too much, never changed."""

from collections import Counter
from itertools import product
from uuid import UUID

import pytest
from django.db import DatabaseError, transaction
from django.db.models import ProtectedError, Sum
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from coterie.audit.models import Entry
from coterie.core.acting import Actor, OperatorRole, RoleNeeded, acting_as
from coterie.federations.models import Federation
from coterie.federations.services import create_federation
from coterie.fleet.models import Device
from coterie.privacy.accounting import ROUNDING, cost_of, epsilon_of
from coterie.privacy.models import Account, Budget, Charge
from coterie.privacy.selectors import (
    affordable,
    curve_of,
    largest_spent,
    limit_of,
    rounds_left,
    turns,
)
from coterie.privacy.services import change_device_budget, change_federation_budget, spend
from coterie_learning.privacy import Spend
from tests.coterie.world import START, fleet_of, later, make_pair, make_version
from tests.examples import examples

PRIVATE = {
    "privacy": {"kind": "central_noise", "noise_multiplier": 2.0},
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
}
ONE = Spend(2.0)


def federations(count: int) -> list[Federation]:
    pair = make_pair()
    make_version(pair)
    pace = {"kind": "sync", "min_updates": 2, "target_updates": 2}
    return [
        create_federation(name=f"f{number}", pair=pair, plan={**PRIVATE, "pace": pace}, now=START)
        for number in range(count)
    ]


def devices(count: int) -> list[Device]:
    return [device.row for device in fleet_of(count)]


def pays(budget_of: Federation | Device, releases: int) -> None:
    """A budget for so many releases of `ONE`, and half another."""
    terms = {"epsilon": epsilon_of((releases + 0.5) * cost_of(ONE), 1e-5), "delta": 1e-5, "now": START}
    if isinstance(budget_of, Federation):
        change_federation_budget(federation=budget_of, **terms)
    else:
        change_device_budget(device=budget_of, **terms)


@pytest.mark.django_db
def test_a_release_is_spent_once_however_often_its_merge_is_done() -> None:
    (federation,), (first, second) = federations(1), devices(2)
    for _ in range(3):
        paid = spend(release="merge 1", federation=federation, spent=ONE, devices=[first.pk, second.pk], now=START)
        assert paid == {first.pk, second.pk}
    assert list(Account.objects.values_list("mu2", "releases")) == [(0.25, 1), (0.25, 1)]
    assert Charge.objects.count() == 2


@pytest.mark.django_db
def test_who_cannot_pay_is_left_out_and_the_others_are_not() -> None:
    (federation,), (poor, rich) = federations(1), devices(2)
    pays(poor, 1)
    for number, paying in enumerate([{poor.pk, rich.pk}, {rich.pk}, {rich.pk}]):
        spent = spend(
            release=f"merge {number}", federation=federation, spent=ONE, devices=[poor.pk, rich.pk], now=START
        )
        assert spent == paying


@pytest.mark.django_db
def test_a_budget_smaller_than_one_release_pays_none_and_asks_nobody() -> None:
    (federation,), (device, other) = federations(1), devices(2)
    pays(device, 0)
    assert spend(release="merge 1", federation=federation, spent=ONE, devices=[device.pk], now=START) == set()
    assert list(affordable(Device.objects.all(), federation, federation.parsed_plan())) == [other]


@pytest.mark.django_db
def test_charges_are_never_changed() -> None:
    (federation,), (device,) = federations(1), devices(1)
    spend(release="merge 1", federation=federation, spent=ONE, devices=[device.pk], now=START)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Charge.objects.update(mu2=0.0)
    assert Charge.objects.get().mu2 == 0.25
    with pytest.raises(ProtectedError):
        device.delete()


@pytest.mark.django_db
def test_raising_a_budget_is_an_act_that_the_audit_log_tells_of() -> None:
    (federation,) = federations(1)
    for epsilon in (1.0, 2.0):
        change_federation_budget(federation=federation, epsilon=epsilon, delta=1e-6, now=START)
    raised = Entry.objects.filter(action="privacy.change_federation_budget").first()
    assert raised is not None
    assert (raised.before["epsilon"], raised.after["epsilon"]) == (1.0, 2.0)


@pytest.mark.django_db
def test_the_curve_never_falls_and_ends_where_the_federation_is() -> None:
    (federation,), (first, second) = federations(1), devices(2)
    for number, who in enumerate([[first], [first], [second]]):
        told = [device.pk for device in who]
        spend(release=f"merge {number}", federation=federation, spent=ONE, devices=told, now=later(number))
    delta = limit_of(federation).delta
    curve = curve_of(federation)
    assert [point.epsilon for point in curve] == [epsilon_of(many * 0.25, delta) for many in (1, 2, 2)]
    assert curve[-1].epsilon == largest_spent(federation)


@pytest.mark.django_db
def test_rounds_left_are_those_that_can_be_held() -> None:
    (federation,), fleet = federations(1), devices(5)
    pays(federation, 4)
    plan = federation.parsed_plan()
    assert rounds_left(federation, plan) == 10, "five devices with four parts each, two in a round"
    held = 0
    while True:
        left = {device.pk: 4 - Charge.objects.filter(device=device).count() for device in fleet}
        chosen = sorted(left, key=lambda pk: -left[pk])[:2]
        if min(left[pk] for pk in chosen) == 0:
            break
        assert len(spend(release=f"r{held}", federation=federation, spent=ONE, devices=chosen, now=START)) == 2
        held += 1
        assert rounds_left(federation, plan) == 10 - held
    assert held == 10
    assert affordable(Device.objects.all(), federation, plan).count() == 0


@given(st.lists(st.integers(0, 3), min_size=2, max_size=4), st.integers(1, 3))
def test_turns_are_as_many_as_a_search_finds(parts: list[int], size: int) -> None:
    def most(left: tuple[int, ...]) -> int:
        """Those with most left first, which is best."""
        order = sorted(range(len(left)), key=lambda place: -left[place])[:size]
        if len(order) < size or min(left[place] for place in order) == 0:
            return 0
        return 1 + most(tuple(one - (place in order) for place, one in enumerate(left)))

    assert turns(parts, size) == most(tuple(parts))


class AnyOrder(TestCase):
    """Whatever federations release in whatever order, repeats included."""

    @given(
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.sets(st.integers(0, 2), min_size=1)), max_size=25),
        st.lists(st.integers(0, 4), min_size=5, max_size=5),
    )
    @settings(max_examples=examples(10, 40), deadline=None)
    def test_no_budget_is_exceeded_and_the_sums_agree(
        self, events: list[tuple[int, int, set[int]]], budgets: list[int]
    ) -> None:
        here, fleet = federations(2), devices(3)
        for owner, releases in zip((*here, *fleet), budgets, strict=True):
            pays(owner, releases)
        for place, number, who in events:
            told = [fleet[one].pk for one in who]
            release = f"merge {place}-{number}"
            paid = spend(release=release, federation=here[place], spent=ONE, devices=told, now=START)
            assert paid == {*told} & set(Charge.objects.filter(release=release).values_list("device_id", flat=True))
        charged: Counter[tuple[UUID, UUID]] = Counter(
            (charge.federation_id, charge.device_id) for charge in Charge.objects.all()
        )
        for (place, federation), device in product(enumerate(here), fleet):
            count = charged[federation.pk, device.pk]
            assert count <= budgets[place]
            account = Account.objects.filter(federation=federation, device=device).first()
            assert count == (0 if account is None else account.releases)
            assert count * 0.25 == (0 if account is None else account.mu2)
            plan = federation.parsed_plan()
            can = affordable(Device.objects.filter(pk=device.pk), federation, plan).exists()
            everywhere = sum(charged[other.pk, device.pk] for other in here)
            assert can == (count < budgets[place] and everywhere < budgets[2 + fleet.index(device)])
        for device, most in zip(fleet, budgets[2:], strict=True):
            spent = Charge.objects.filter(device=device).aggregate(all=Sum("mu2"))["all"] or 0.0
            assert spent <= Budget.objects.get(device=device).mu2 * (1 + ROUNDING)
            assert sum(charged[federation.pk, device.pk] for federation in here) <= most


@pytest.mark.django_db
def test_only_an_administrator_changes_budgets() -> None:
    (federation,) = federations(1)
    with acting_as(Actor("person", "1", "eve", OperatorRole.OPERATOR)), pytest.raises(RoleNeeded):
        change_federation_budget(federation=federation, epsilon=1.0, delta=1e-6, now=START)
