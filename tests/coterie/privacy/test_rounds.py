"""Budgets in rounds: spent before the sum is formed, once for a merge that is killed, and no round beyond them."""

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from threading import current_thread

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from rest_framework.test import APIClient

from coterie.cloud.averaging_job import MergeArguments, MergeResult
from coterie.federations.models import Federation
from coterie.federations.previewing import changes_between, complete
from coterie.merging.models import Update
from coterie.privacy.accounting import cost_of, epsilon_of, most_of
from coterie.privacy.errors import BudgetSpent
from coterie.privacy.models import DEFAULT_DELTA, DEFAULT_EPSILON, Account, Charge
from coterie.privacy.services import change_device_budget, change_federation_budget, spend
from coterie.rounds.advancing import advance_federation, sweep
from coterie.rounds.models import Round
from coterie.rounds.plan_preview import effects_of
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.privacy import Spend
from coterie_wire.messages import PrivacyBudget
from tests.coterie.killing import Killed, killed_at
from tests.coterie.world import (
    ScriptedDevice,
    fleet_of,
    in_this_process,
    later,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)
from tests.examples import examples

pytestmark = pytest.mark.django_db
UNIFORM = {"merge": {"kind": "fed_avg", "weight_by": "uniform"}, "codec": {"kind": "int8"}}
CENTRAL = {**UNIFORM, "privacy": {"kind": "central_noise", "noise_multiplier": 2.0}}
LOCAL = {**UNIFORM, "privacy": {"kind": "local_noise", "noise_multiplier": 2.0}}
ONE = Spend(2.0)
DELTA = 1e-5
MERGE_ATTEMPTS = 10
"""That may be killed, before one is left alone."""


def epsilon(releases: float) -> float:
    return epsilon_of(releases * cost_of(ONE), DELTA)


def begun(plan: dict[str, object], devices: int = 3, **pace: float) -> tuple[Federation, list[ScriptedDevice]]:
    pair = make_pair()
    make_version(pair)
    pace = {"target_updates": devices, "min_updates": 2, "over_selection": 1, "pause_s": 0, **pace}
    return make_federation(pair, plan=plan, **pace), fleet_of(devices)


def delivered(federation: Federation, fleet: list[ScriptedDevice], *, at: float = 0.0) -> Round:
    """The newest round with the updates of all of `fleet` that were asked, merging."""
    for device in fleet:
        device.say(later(at))
    sweep(now=later(at + 1))
    for seed, device in enumerate(fleet):
        told = device.say(later(at + 2))
        if told.assignment is not None:
            device.deliver(told.assignment.assignment, later(at + 3), seed=seed)
    sweep(now=later(at + 4))
    round_ = federation.rounds.exclude(state="planned").order_by("-number").first()
    assert round_ is not None
    return round_


def dies_after(arguments: MergeArguments, _cancel: object) -> MergeResult:
    in_this_process(arguments)
    raise Killed


def dies_before(_arguments: MergeArguments, _cancel: object) -> MergeResult:
    raise Killed


@pytest.mark.parametrize("kill", [dies_before, dies_after])
def test_a_merge_that_is_killed_is_paid_before_and_once_and_draws_the_same(
    kill: Callable[[MergeArguments, object], MergeResult],
) -> None:
    federation, fleet = begun(CENTRAL)
    round_ = delivered(federation, fleet)
    seen: list[bytes] = []

    def watching(arguments: MergeArguments, cancel: object) -> MergeResult:
        assert Charge.objects.count() == 3, "spent before the sum is formed"
        seen.append(arguments.noise_secret)
        return in_this_process(arguments) if len(seen) > 3 else kill(arguments, cancel)

    for attempt in range(3):
        with pytest.raises(Killed):
            merge_round(round_, clock=lambda attempt=attempt: later(10_000.0 * (attempt + 1)), merger=watching)
    assert not federation.merges.exclude(state="running").exists(), "nothing has been published"
    merge_round(round_, clock=lambda: later(50_000), merger=watching)
    assert round_.state == Round.State.PUBLISHED
    assert len(set(seen)) == 1 and len(seen) == 4
    assert Charge.objects.count() == 3
    assert {account.releases for account in Account.objects.all()} == {1}


@pytest.mark.parametrize("plan", [CENTRAL, LOCAL])
def test_devices_are_told_the_budget_that_holds(plan: dict[str, object]) -> None:
    federation, fleet = begun(plan)
    for device in fleet:
        device.say(later(0))
    sweep(now=later(1))
    told = fleet[0].say(later(2)).assignment
    assert told is not None and told.budget == PrivacyBudget(DEFAULT_EPSILON, DEFAULT_DELTA)
    change_federation_budget(federation=federation, epsilon=9.0, delta=1e-5, now=later(3))
    told = fleet[0].say(later(4)).assignment
    assert told is not None and told.budget == PrivacyBudget(9.0, 1e-5)


def test_where_nothing_is_spent_no_budget_is_told() -> None:
    _, fleet = begun(UNIFORM)
    for device in fleet:
        device.say(later(0))
    sweep(now=later(1))
    told = fleet[0].say(later(2)).assignment
    assert told is not None and told.budget is None


class DyingClock:
    """Tells the time, and cuts the power when it is asked for the time the `last`th time."""

    def __init__(self, begins: float, last: int) -> None:
        self._begins, self._left = begins, last
        self._thread = current_thread()

    def __call__(self) -> datetime:
        if current_thread() is self._thread:
            self._left -= 1
            if self._left < 0:
                raise Killed
        return later(self._begins)


class KilledAnywhere(TestCase):
    """A worker may be killed before the charge, between charge and release, before publication, and after it."""

    @given(st.lists(st.sampled_from(["take", "charge", "sum", "publish"]), max_size=4))
    @settings(max_examples=examples(6, 30), deadline=None)
    def test_never_released_unspent_and_never_spent_twice(self, kills: list[str]) -> None:
        federation, fleet = begun(CENTRAL)
        round_ = delivered(federation, fleet)
        lasts = {"take": 0, "charge": 1, "sum": 9, "publish": 2}
        for number, kill in enumerate(kills, 1):
            charged = Charge.objects.count()
            with pytest.raises(Killed):
                merge_round(
                    round_,
                    clock=DyingClock(10_000.0 * number, lasts[kill]),
                    merger=dies_before if kill == "sum" else in_this_process,
                )
            assert Charge.objects.count() == (3 if kill in ("sum", "publish") else charged)
            assert not federation.merges.filter(state="published").exists()
        merge_round(round_, clock=lambda: later(100_000), merger=in_this_process)
        assert round_.state == Round.State.PUBLISHED
        assert sorted(Charge.objects.values_list("release", flat=True)) == [f"merge {round_.merge_id}"] * 3
        assert {account.releases for account in Account.objects.all()} == {1}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kills", [10, pytest.param(1_000, marks=pytest.mark.long)])
def test_of_many_kills_between_charge_and_release_none_releases_unspent_or_spends_twice(kills: int) -> None:
    """Each at any statement of a merge, of its publication and of the end of its round."""
    federation, fleet = begun(CENTRAL)
    plenty = {"epsilon": epsilon(kills), "delta": DELTA, "now": later(0)}
    change_federation_budget(federation=federation, **plenty)
    for device in fleet:
        change_device_budget(device=device.row, **plenty)
    chance, between, rounds, statements = random.Random(46), 0, 0, 0
    while between < kills:
        rounds += 1
        at = 1e6 * rounds
        round_ = delivered(federation, fleet, at=at)
        for attempt in range(MERGE_ATTEMPTS if statements else 0):
            with killed_at(chance.randrange(statements)), suppress(Killed):
                merge_round(round_, clock=lambda at=at + 10_000 * attempt: later(at), merger=in_this_process)  # type: ignore[misc]
            charged = Charge.objects.filter(release=f"merge {round_.merge_id}").count()
            if federation.merges.filter(state="published").count() == rounds:
                assert charged == 3
                break
            assert charged in (0, 3)
            between += charged == 3
        with CaptureQueriesContext(connection) as quiet:
            merge_round(round_, clock=lambda at=at: later(at + 200_000), merger=in_this_process)  # type: ignore[misc]
        statements = statements or len(quiet)
        assert round_.state == Round.State.PUBLISHED
        assert Charge.objects.filter(release=f"merge {round_.merge_id}").count() == 3
        assert {account.releases for account in Account.objects.all()} == {rounds}
    assert Charge.objects.count() == 3 * rounds


def test_versions_of_a_repeated_merge_are_the_same_bytes_and_not_the_plain_mean() -> None:
    federation, fleet = begun(CENTRAL)
    round_ = delivered(federation, fleet)
    outputs, plain = [], []

    def keeping(arguments: MergeArguments, _cancel: object) -> MergeResult:
        silent = msgspec.structs.replace(arguments, privacy={"kind": "clip"}, noise_secret=b"")
        plain.append(in_this_process(silent).parameters.sha256)
        outputs.append(in_this_process(arguments).parameters.sha256)
        if len(outputs) < 2:
            raise Killed
        return in_this_process(arguments)

    with pytest.raises(Killed):
        merge_round(round_, clock=lambda: later(10_000), merger=keeping)
    merge_round(round_, clock=lambda: later(20_000), merger=keeping)
    result = round_.result_version
    assert result is not None and set(outputs) == {result.parameters_id}
    assert plain[0] not in outputs


def test_no_round_opens_that_would_overspend_and_raising_the_budget_opens_it(api: APIClient) -> None:
    federation, fleet = begun(CENTRAL)
    change_federation_budget(federation=federation, epsilon=epsilon(2.5), delta=DELTA, now=later(0))
    for number in range(2):
        round_ = delivered(federation, fleet, at=100.0 * number)
        merge_round(round_, clock=lambda number=number: later(100.0 * number + 50), merger=in_this_process)
        assert round_.state == Round.State.PUBLISHED
    for device in fleet:
        told = device.say(later(300))
    assert told.assignment is None and told.wait is not None and told.wait.code == "privacy.budget_spent"
    sweep(now=later(301))
    waiting = federation.rounds.order_by("-number").first()
    assert waiting is not None and (waiting.number, waiting.state) == (3, "planned")
    assert waiting.reason_code == "privacy.budget_spent"
    assert "needs 2 devices with privacy budget left, and 0 devices have" in waiting.reason_sentence
    shown = api.get(f"/api/federations/{federation.pk}/privacy/").json()
    assert shown["rounds_left"] == 0 and len(shown["curve"]) == 2
    assert shown["epsilon"] == pytest.approx(epsilon(2)) and shown["budget"]["epsilon"] == pytest.approx(epsilon(2.5))
    body = {"epsilon": epsilon(3.5), "delta": DELTA}
    raised = api.put(f"/api/federations/{federation.pk}/privacy/", body, format="json")
    assert raised.status_code == 200 and raised.json()["rounds_left"] == 1
    for device in fleet:
        device.say(later(400))
    advance_federation(federation_id=federation.pk, now=later(401))
    waiting.refresh_from_db()
    assert waiting.state == Round.State.OPEN


def test_a_device_is_not_asked_beyond_its_own_budget_whoever_spent_it(api: APIClient) -> None:
    federation, fleet = begun(CENTRAL)
    spent, *others = fleet
    change_device_budget(device=spent.row, epsilon=epsilon(1.5), delta=DELTA, now=later(0))
    assert spend(release="elsewhere", federation=federation, spent=ONE, devices=[spent.row.pk], now=later(0))
    round_ = delivered(federation, fleet)
    assert round_.assignments.filter(device=spent.row).count() == 0
    assert round_.assignments.count() == len(others)
    shown = api.get(f"/api/devices/{spent.row.pk}/privacy/").json()
    assert shown["epsilon"] == pytest.approx(epsilon(1))
    assert [(one["federation_slug"], one["releases"]) for one in shown["accounts"]] == [("digits", 1)]


def test_an_update_whose_device_was_told_of_meanwhile_is_left_out_of_the_sum() -> None:
    federation, fleet = begun(CENTRAL)
    spent = fleet[0].row
    change_device_budget(device=spent, epsilon=epsilon(1.5), delta=DELTA, now=later(0))
    round_ = delivered(federation, fleet)
    assert spend(release="elsewhere", federation=federation, spent=ONE, devices=[spent.pk], now=later(0))
    merge_round(round_, clock=lambda: later(50), merger=in_this_process)
    assert round_.state == Round.State.PUBLISHED
    faults = {update.device_id: update.fault_code for update in Update.objects.all()}
    assert faults == {fleet[0].row.pk: "privacy.budget_spent", fleet[1].row.pk: "", fleet[2].row.pk: ""}
    assert Charge.objects.filter(device=spent).count() == 1


def test_local_noise_is_charged_when_an_update_is_offered_and_refused_before_it_is_sent() -> None:
    federation, fleet = begun(LOCAL)
    device = fleet[0]
    change_device_budget(device=device.row, epsilon=epsilon(2.5), delta=DELTA, now=later(0))
    for one in fleet:
        one.say(later(0))
    sweep(now=later(1))
    told = device.say(later(2))
    assert told.assignment is not None
    name = told.assignment.assignment
    for seed in (1, 1, 2):  # the same one twice, and another in its place
        device.offer(name, device.payload(seed), later(3))
    assert Charge.objects.filter(device=device.row).count() == 2
    with pytest.raises(BudgetSpent):
        device.offer(name, device.payload(3), later(4))
    assert Charge.objects.filter(device=device.row).count() == 2
    assert not Update.objects.filter(device=device.row).exists()
    assert federation.rounds.get().assignments.get(device=device.row).state == "rejected"


def test_nothing_is_spent_under_plans_that_guarantee_nothing(api: APIClient) -> None:
    federation, fleet = begun({"privacy": {"kind": "clip"}})
    merge_round(delivered(federation, fleet), clock=lambda: later(50), merger=in_this_process)
    assert not Charge.objects.exists()
    shown = api.get(f"/api/federations/{federation.pk}/privacy/").json()
    assert (shown["kind"], shown["rounds_left"], shown["epsilon_of_release"]) == ("clip", None, None)


def test_a_plan_says_how_long_its_budget_lasts() -> None:
    federation, fleet = begun({})
    change_federation_budget(federation=federation, epsilon=epsilon(7.5), delta=DELTA, now=later(0))
    for device in fleet:
        device.say(later(0))
    wanted = {**federation.plan, **CENTRAL}
    changes = changes_between(complete(federation.plan), complete(wanted))
    sentences = effects_of(federation, changes, wanted, now=later(1))
    assert any("allows 7 more rounds" in sentence for sentence in sentences)


def test_a_plan_for_nobody_yet_is_told_how_long_the_first_budget_lasts(api: APIClient) -> None:
    fleet_of(4)
    plan = {**CENTRAL, "pace": {"kind": "sync", "target_updates": 2, "min_updates": 2}}
    parts = int(most_of(DEFAULT_EPSILON, DEFAULT_DELTA) / cost_of(ONE))
    assert parts > 1
    assert api.post("/api/plan-check/", {"plan": plan}).json()["notes"] == [
        f"The privacy budget that a federation begins with, epsilon 8 at delta 1e-06, allows {2 * parts} rounds."
    ]


def test_a_norm_that_follows_updates_is_in_the_plan_of_the_next_round_and_beside_the_version() -> None:
    plan = {**CENTRAL, "privacy": {**CENTRAL["privacy"], "norm": 1e-3, "quantile": 0.5}}
    federation, fleet = begun(plan)
    round_ = delivered(federation, fleet)
    assert round_.parsed_plan().privacy.bound() == 1e-3
    merge_round(round_, clock=lambda: later(50), merger=in_this_process)
    version = round_.result_version
    assert version is not None
    norm = version.metrics["clipping_norm"]
    assert norm != 1e-3
    for device in fleet:
        device.say(later(100))
    sweep(now=later(101))
    told = [device.say(later(102)).assignment for device in fleet]
    plans = [parse_device_plan(one.plan).privacy for one in told if one is not None]
    assert plans and {kind.bound() for kind in plans} == {norm}
    assert federation.parsed_plan().privacy.bound() == 1e-3
    assert federation.rounds.get(number=2).parsed_plan().privacy.bound() == norm


def test_a_norm_that_stays_is_beside_no_version() -> None:
    federation, fleet = begun(CENTRAL)
    round_ = delivered(federation, fleet)
    merge_round(round_, clock=lambda: later(50), merger=in_this_process)
    assert round_.result_version is not None and "clipping_norm" not in round_.result_version.metrics


@pytest.mark.long
def test_a_version_says_what_has_been_told_of_any_device_by_then() -> None:
    federation, fleet = begun(CENTRAL)
    found = []
    for number in range(2):
        round_ = delivered(federation, fleet, at=100.0 * number)
        merge_round(round_, clock=lambda number=number: later(100.0 * number + 50), merger=in_this_process)
        assert round_.result_version is not None
        found.append(round_.result_version.metrics["epsilon"])
    assert found == pytest.approx([epsilon_of(parts * cost_of(ONE), DEFAULT_DELTA) for parts in (1, 2)])
