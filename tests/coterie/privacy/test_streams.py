"""Streams of releases: devices rest between two parts, every merge draws what it drew before, and the stream ends."""

from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from rest_framework.test import APIClient

from coterie.cloud.averaging_job import MergeArguments, MergeResult
from coterie.federations.models import Federation
from coterie.merging import reasons as merging_reasons
from coterie.merging.models import Update
from coterie.privacy.accounting import cost_of, epsilon_of
from coterie.privacy.models import DEFAULT_DELTA, Account, Charge, StreamRelease
from coterie.privacy.selectors import limit_of, rounds_left, turns
from coterie.privacy.services import change_federation_budget
from coterie.privacy.streams import secret_of, stream_of
from coterie.rounds.advancing import advance_federation, sweep
from coterie.rounds.merging_again import merge_again
from coterie.rounds.models import Round
from coterie_learning.correlation import banded_square_root, sensitivity
from coterie_learning.merge import Cohort
from coterie_learning.plan import parse_plan
from tests.coterie.killing import Killed
from tests.coterie.privacy.test_rounds import UNIFORM, delivered
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

pytestmark = pytest.mark.django_db
APART, TARGET = 2, 4


def plan(**fields: object) -> dict[str, object]:
    kind = {"kind": "correlated_noise", "separation_rounds": APART, "target_rounds": TARGET, "noise_multiplier": 8.0}
    return {**UNIFORM, "privacy": {**kind, **fields}}


def begun(devices: int = 4, **fields: object) -> tuple[Federation, list[ScriptedDevice]]:
    pair = make_pair()
    make_version(pair)
    pace = {"target_updates": 2, "min_updates": 2, "over_selection": 1, "pause_s": 0}
    return make_federation(pair, plan=plan(**fields), **pace), fleet_of(devices)


def held(federation: Federation, fleet: list[ScriptedDevice], *, at: float) -> Round:
    round_ = delivered(federation, fleet, at=at)
    merge_round(round_, clock=lambda: later(at + 50), merger=in_this_process)
    assert round_.state == Round.State.PUBLISHED
    return round_


def took_part(round_: Round) -> set[str]:
    return {part.device.name for part in round_.assignments.filter(state="delivered")}


def planned(federation: Federation) -> Round:
    round_ = federation.rounds.order_by("-number").first()
    assert round_ is not None and round_.state == Round.State.PLANNED
    return round_


def test_devices_rest_between_two_parts_and_are_told_why() -> None:
    federation, fleet = begun()
    first = held(federation, fleet, at=0)
    told = {device.row.name: device.say(later(100)) for device in fleet}
    resting = {name for name, one in told.items() if one.wait is not None and one.wait.code == "privacy.resting"}
    assert resting == took_part(first) and len(resting) == 2
    sentences = [one.wait.sentence for name, one in told.items() if name in resting and one.wait is not None]
    assert all(sentence.endswith("it rests for 1 round more") for sentence in sentences)
    second = held(federation, fleet, at=200)
    assert not took_part(second) & took_part(first)
    assert took_part(held(federation, fleet, at=400)) == took_part(first)
    assert list(StreamRelease.objects.values_list("index", flat=True)) == [0, 1, 2]


@pytest.mark.long
def test_assignments_are_numbered_by_releases_and_not_by_rounds() -> None:
    federation, fleet = begun()
    held(federation, fleet, at=0)
    for device in fleet:
        device.say(later(100))
    sweep(now=later(101))
    told = [device.say(later(102)).assignment for device in fleet]
    assert {(one.round, one.stream_index) for one in told if one is not None} == {(2, 1)}
    sweep(now=later(10_000))  # nobody delivers
    assert federation.rounds.get(number=2).state == Round.State.ABANDONED
    third = held(federation, fleet, at=20_000)
    assert (third.number, StreamRelease.objects.count()) == (3, 2)


def test_other_plans_number_nothing() -> None:
    federation, fleet = begun()
    federation.plan = {**federation.plan, "privacy": {"kind": "central_noise"}}
    federation.save()
    for device in fleet:
        device.say(later(0))
    sweep(now=later(1))
    told = [device.say(later(2)).assignment for device in fleet]
    assert {one.stream_index for one in told if one is not None} == {None}


@pytest.mark.long
def test_the_stream_ends_and_a_larger_target_goes_on(api: APIClient) -> None:
    federation, fleet = begun()
    for number in range(TARGET):
        held(federation, fleet, at=200.0 * number)
    sweep(now=later(2000))
    assert planned(federation).reason_code == "privacy.stream_ended"
    assert api.get(f"/api/federations/{federation.pk}/privacy/").json()["rounds_left"] == 0
    federation.plan = {**federation.plan, "privacy": plan(target_rounds=TARGET + 1)["privacy"]}
    federation.save()
    held(federation, fleet, at=3000)
    assert StreamRelease.objects.count() == TARGET + 1


@pytest.mark.long
def test_what_devices_are_charged_is_what_the_whole_stream_tells_of_them() -> None:
    federation, fleet = begun()
    for number in range(TARGET):
        held(federation, fleet, at=200.0 * number)
    whole = sensitivity(banded_square_root(APART), rounds=TARGET, apart=APART) / 8.0
    assert {account.releases for account in Account.objects.all()} == {TARGET // APART}
    assert [account.mu2 for account in Account.objects.all()] == pytest.approx([whole**2] * 4)


def test_a_fleet_that_is_too_small_for_the_separation_is_told_so() -> None:
    federation, fleet = begun(devices=3)
    held(federation, fleet, at=0)
    for device in fleet:
        device.say(later(100))
    sweep(now=later(101))
    waiting = planned(federation)
    assert waiting.reason_code == "privacy.too_few_rested"
    assert "needs 2 devices that have rested for 1 round, and 1 device of the fleet has" in waiting.reason_sentence


def test_an_update_of_a_device_that_was_in_a_release_meanwhile_is_left_out() -> None:
    federation, fleet = begun()
    round_ = delivered(federation, fleet)
    near = round_.assignments.filter(state="delivered").first()
    assert near is not None
    StreamRelease.objects.create(
        federation=federation, apart=APART, index=0, release="elsewhere", digest="0" * 64, at=later(0)
    )
    Charge.objects.create(
        release="elsewhere",
        device=near.device,
        federation=federation,
        noise_multiplier=1,
        participations=1,
        mu2=0,
        total=0,
        at=later(0),
    )
    merge_round(round_, clock=lambda: later(50), merger=in_this_process)
    faults = {update.device_id: update.fault_code for update in Update.objects.all()}
    assert faults.pop(near.device_id) == "privacy.resting" and set(faults.values()) == {""}
    assert not Charge.objects.filter(device=near.device, release=f"merge {round_.merge_id}").exists()


@pytest.mark.long
def test_a_merge_that_is_killed_draws_the_same_and_the_stream_counts_it_once() -> None:
    federation, fleet = begun()
    held(federation, fleet, at=0)
    round_ = delivered(federation, fleet, at=200)
    outputs: list[str] = []

    def killed(arguments: MergeArguments, _cancel: object) -> MergeResult:
        assert len(arguments.noise_earlier) == 1
        found = in_this_process(arguments)
        outputs.append(found.parameters.sha256)
        if len(outputs) < 3:
            raise Killed
        return found

    for attempt in range(2):
        with pytest.raises(Killed):
            merge_round(round_, clock=lambda attempt=attempt: later(10_000.0 * (attempt + 1)), merger=killed)
        assert StreamRelease.objects.count() == 1
    merge_round(round_, clock=lambda: later(50_000), merger=killed)
    result = round_.result_version
    assert result is not None and set(outputs) == {result.parameters_id}
    assert list(StreamRelease.objects.values_list("index", "release")) == [
        (number, f"merge {merge}") for number, merge in enumerate(sorted(m.pk for m in federation.merges.all()))
    ]


def test_a_release_whose_candidate_was_kept_back_counts_and_merged_again_it_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    federation, fleet = begun()
    round_ = delivered(federation, fleet)
    with monkeypatch.context() as patched:
        patched.setattr("coterie.merging.publishing.why_not", lambda *_given, **_named: merging_reasons.BASE_MOVED)
        merge_round(round_, clock=lambda: later(50), merger=in_this_process)
    assert round_.state == Round.State.ABANDONED
    kept_back = StreamRelease.objects.get()
    assert Charge.objects.count() == 2
    merge_again(round_=round_, now=later(60))
    merge_round(round_, clock=lambda: later(70), merger=in_this_process)
    assert round_.state == Round.State.PUBLISHED
    again = StreamRelease.objects.get()
    assert (again.index, again.digest) == (0, kept_back.digest)
    assert Charge.objects.count() == 2


def test_a_damaged_update_between_two_attempts_gives_other_noise() -> None:
    """The difference of two sums under the same noise would be that update."""
    federation, fleet = begun()
    round_ = delivered(federation, fleet)
    found: list[MergeResult] = []

    def twice(arguments: MergeArguments, _cancel: object) -> MergeResult:
        fewer = msgspec.structs.replace(arguments, updates=arguments.updates[:1])
        silent = {"kind": "clip"}
        for one in (arguments, fewer):
            found.append(in_this_process(one))
            found.append(in_this_process(msgspec.structs.replace(one, privacy=silent, noise_secret=b"")))
        return in_this_process(arguments)

    merge_round(round_, clock=lambda: later(50), merger=twice)
    assert len({one.parameters.sha256 for one in found}) == 4
    assert len({one.summed for one in found if one.summed}) == 2


def test_streams_of_other_federations_and_separations_have_other_secrets() -> None:
    federation, _ = begun()
    wanted = [stream_of(parse_plan(plan(separation_rounds=apart))) for apart in (2, 3)]
    secrets = [secret_of(federation, stream) for stream in wanted if stream is not None]
    assert len(set(secrets)) == 2 and {len(secret) for secret in secrets} == {32}


def test_the_forecast_knows_budget_separation_and_target() -> None:
    federation, _ = begun(devices=8, target_rounds=100)
    here = parse_plan(federation.plan)
    for device in fleet_of(8, tag="more"):
        device.say(later(0))
    spent = here.privacy.spend(Cohort(2, 2))
    assert spent is not None
    delta = limit_of(federation).delta
    change_federation_budget(
        federation=federation, epsilon=epsilon_of(3.5 * cost_of(spent), delta), delta=delta, now=later(0)
    )
    devices = 16
    assert rounds_left(federation, here) == 3 * devices // 2
    assert rounds_left(federation, parse_plan({**federation.plan, "privacy": plan(target_rounds=5)["privacy"]})) == 5


@pytest.mark.parametrize(
    ("parts", "size", "apart", "expected"),
    [
        ([3] * 20, 2, 5, 30),  # the budget, in turns
        ([100] * 20, 2, 5, 1000),
        ([100] * 20, 5, 5, 4),  # a fifth round within five needs five more devices
        ([100] * 9, 2, 5, 4),
        ([1] * 10, 2, 5, 5),
        ([2] * 5 + [1] * 5, 2, 5, 7),
        ([0] * 10, 2, 5, 0),
        ([], 2, 5, 0),
    ],
)
def test_turns_of_devices_that_rest(parts: list[int], size: int, apart: int, expected: int) -> None:
    assert turns(parts, size, apart=apart) == expected


def test_a_planned_round_opens_once_the_fleet_grows() -> None:
    federation, fleet = begun(devices=3)
    held(federation, fleet, at=0)
    fleet += fleet_of(1, tag="new")
    for device in fleet:
        device.say(later(100))
    advance_federation(federation_id=federation.pk, now=later(101))
    opened = federation.rounds.order_by("-number").first()
    assert opened is not None and opened.state == Round.State.OPEN


def test_a_plan_says_how_many_devices_its_separation_takes(api: APIClient) -> None:
    fleet_of(3)
    asked = {**plan(), "pace": {"kind": "sync", "target_updates": 2, "min_updates": 2}}
    notes = api.post("/api/plan-check/", {"plan": asked}, format="json").json()["notes"]
    assert notes[0] == (
        "It would stand still soon: a device is in one of 2 rounds, so that 4 devices are needed (privacy), and 3 are "
        "there."
    )
    fleet_of(1, tag="more")
    notes = api.post("/api/plan-check/", {"plan": asked}, format="json").json()["notes"]
    assert len(notes) == 2 and "allows 4 rounds" in notes[0]
    whole = epsilon_of((sensitivity(banded_square_root(APART), rounds=TARGET, apart=APART) / 8.0) ** 2, DEFAULT_DELTA)
    told = f"epsilon {whole:.3g} at delta 1e-06 of a device that is in 2 of them, which is the most."
    assert notes[1] == f"All 4 releases tell {told}"


class AnyOrder(TestCase):
    """Rounds that are published, come to nothing, are killed while they are merged or kept back, in whatever order."""

    @pytest.mark.long
    @given(st.lists(st.sampled_from(["published", "nobody", "killed", "kept back"]), max_size=7))
    @settings(max_examples=8, deadline=None)
    def test_parts_are_apart_and_their_charges_add_up_to_no_more_than_the_stream_tells(self, ends: list[str]) -> None:
        federation, fleet = begun(devices=6, target_rounds=100)
        for number, end in enumerate(ends):
            at = 100_000.0 * number
            if end == "nobody":
                for device in fleet:
                    device.say(later(at))
                sweep(now=later(at + 1))
                sweep(now=later(at + 50_000))
                continue
            round_ = delivered(federation, fleet, at=at)
            assert len(took_part(round_)) == 2
            if end == "killed":
                with pytest.raises(Killed):
                    merge_round(round_, clock=lambda at=at: later(at + 50), merger=cut_off)
            with pytest.MonkeyPatch.context() as patched:
                if end == "kept back":
                    patched.setattr(
                        "coterie.merging.publishing.why_not", lambda *_given, **_named: merging_reasons.BASE_MOVED
                    )
                merge_round(round_, clock=lambda at=at: later(at + 20_000), merger=in_this_process)
        releases = {one.release: one.index for one in StreamRelease.objects.all()}
        assert sorted(releases.values()) == list(range(len(ends) - ends.count("nobody")))
        worst = sensitivity(banded_square_root(APART), rounds=100, apart=APART) / 8.0
        for device in fleet:
            had = sorted(
                releases[one] for one in Charge.objects.filter(device=device.row).values_list("release", flat=True)
            )
            assert all(after - before >= APART for before, after in pairwise(had))
            told = sum(account.mu2 for account in Account.objects.filter(device=device.row))
            assert told <= worst**2
            shifts = np.zeros(200)
            for first in had:
                shifts[first : first + APART] += banded_square_root(APART) / 8.0
            assert told == pytest.approx(float(shifts @ shifts))


def cut_off(_arguments: MergeArguments, _cancel: object) -> MergeResult:
    raise Killed
