"""A phase whose devices are not there waits for them, up to a time, and an operator may have it go on."""

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from coterie.audit.models import Entry
from coterie.rollouts import device_api
from coterie.rollouts.errors import NotBegun, RolloutHasEnded
from coterie.rollouts.models import Rollout
from coterie.rollouts.services import pass_phase, start_rollout
from coterie.rounds.advancing import sweep
from coterie_wire.trial import ReportTrial
from tests.coterie.rollouts.world import World, comparison, follow, report
from tests.coterie.world import START, ScriptedDevice, later
from tests.examples import examples

pytestmark = pytest.mark.django_db
TERMS: dict[str, object] = {"share": 0.5, "phases": [{"share": 1.0}], "reports": 2, "absent_s": 1000.0}
WITHIN_S = 100.0


def devices_in(world: World, rollout: Rollout, phase: int) -> list[ScriptedDevice]:
    held = set(rollout.trials.filter(phase=phase).values_list("device", flat=True))
    return [device for device in world.devices if device.row.pk in held]


def look(rollout: Rollout, seconds: float) -> Rollout:
    sweep(now=later(seconds))
    rollout.refresh_from_db()
    return rollout


def in_second_phase(**terms: object) -> tuple[World, Rollout, list[ScriptedDevice]]:
    """A phase of two devices, both of which went offline while the phase before was under way."""
    world = World()
    rollout = world.start(**{**TERMS, **terms})
    first = devices_in(world, rollout, 0)
    for device in first:
        follow(device, later(80))
    for device in first:
        report(device, rollout, at=81)
    return world, rollout, devices_in(world, rollout, 1)


def test_a_phase_whose_devices_are_all_offline_is_not_passed_over() -> None:
    world, rollout, absent = in_second_phase()
    assert len(absent) == 2
    look(rollout, 82)
    assert (rollout.state, rollout.phase, rollout.reason_code) == ("measuring", 1, "rollouts.absent")
    assert rollout.reason_sentence == (
        "phase 2 of 2: 0 of 2 devices have told how it does, 2 are absent; it waits for them since 2026-01-01 12:01 UTC"
    )
    assert (rollout.absent_since, rollout.due_at) == (later(82), later(81 + WITHIN_S + 1000))
    assert rollout.figures["phase_absent"] == 2
    assert look(rollout, 600).state == "measuring", "its own time stands still meanwhile"
    for device in absent:
        follow(device, later(982))
    look(rollout, 983)
    assert (rollout.absent_since, rollout.reason_code) == (None, "rollouts.measuring")
    assert rollout.due_at == later(81 + WITHIN_S + 900), "it has as much time as if they had always been there"
    for device in absent:
        report(device, rollout, at=990)
    assert (rollout.state, world.in_use()) == ("promoted", world.candidate)


def test_it_waits_no_longer_than_was_set_and_then_lets_its_time_run_out() -> None:
    world, rollout, _ = in_second_phase()
    look(rollout, 82)
    assert look(rollout, 1081).reason_code == "rollouts.absent"
    assert look(rollout, 1082).reason_code == "rollouts.measuring"
    assert look(rollout, 1180).state == "measuring"
    look(rollout, 1181)
    assert (rollout.state, rollout.reason_code) == ("rolled_back", "rollouts.too_few_reports")
    assert rollout.reason_sentence == "needs 2 reports, 0 came in time; 2 devices are absent"
    assert world.in_use() == world.champion


def test_where_no_waiting_was_set_it_ends_with_its_time() -> None:
    _, rollout, _ = in_second_phase(absent_s=0.0)
    assert look(rollout, 180).state == "measuring"
    assert look(rollout, 181).state == "rolled_back"


def test_a_phase_may_say_how_long_it_waits_itself() -> None:
    _, rollout, _ = in_second_phase(phases=[{"share": 1.0, "absent_s": 50.0}])
    look(rollout, 82)
    assert rollout.due_at == later(81 + WITHIN_S + 50)


def test_a_share_is_of_all_devices_and_those_that_are_there_are_asked_first() -> None:
    world = World(devices=8)
    for device in world.devices[:3]:
        follow(device, later(100))
    rollout = Rollout.objects.get(pk=_started_at(world, 101).pk)
    assert {device.row.name for device in devices_in(world, rollout, 0)} > {"device-0", "device-1", "device-2"}
    assert (rollout.trials.count(), rollout.figures["phase_absent"]) == (4, 1)


def test_an_operator_has_it_go_on_and_that_is_audited() -> None:
    world, rollout, _ = in_second_phase()
    pass_phase(rollout=rollout, now=later(600))
    assert (rollout.state, rollout.reason_code) == ("promoted", "rollouts.went_on")
    assert world.in_use() == world.candidate
    assert Entry.objects.filter(action="rollouts.pass_phase").exists()
    with pytest.raises(RolloutHasEnded):
        pass_phase(rollout=rollout, now=later(601))


def test_going_on_begins_the_next_phase_where_there_is_one() -> None:
    world = World()
    rollout = world.start(**TERMS)
    pass_phase(rollout=rollout, now=later(2))
    assert (rollout.state, rollout.phase, len(devices_in(world, rollout, 1))) == ("measuring", 1, 2)


def test_what_has_not_begun_has_no_phase_to_pass() -> None:
    rollout = World(devices=1).start(**TERMS)
    with pytest.raises(NotBegun):
        pass_phase(rollout=rollout, now=later(2))


def test_the_api_tells_who_is_absent_and_has_it_go_on(api: APIClient) -> None:
    _, rollout, _ = in_second_phase()
    look(rollout, 82)
    told = api.get(f"/api/rollouts/{rollout.pk}/").json()
    assert told["absent_since"] is not None
    assert [told["figures"][name] for name in ("phase_devices", "phase_reports", "phase_absent")] == [2, 0, 2]
    answer = api.post(f"/api/rollouts/{rollout.pk}/pass-phase/")
    assert (answer.status_code, answer.json()["state"]) == (200, "promoted")
    assert api.post(f"/api/rollouts/{rollout.pk}/pass-phase/").json()["code"] == "rollouts.has_ended"


def _started_at(world: World, seconds: float) -> Rollout:
    rollout = start_rollout(version=world.candidate, terms={**TERMS, "phases": []}, now=later(seconds))
    sweep(now=later(seconds))
    return rollout


STEPS = st.lists(
    st.tuples(st.integers(1, 400), st.sets(st.integers(0, 3)), st.sets(st.integers(0, 3))), min_size=1, max_size=14
)
"""Seconds that pass, who checks in then, and who of these tells how it does."""


@settings(max_examples=examples(4, 15))
@given(steps=STEPS)
def test_no_phase_is_passed_without_its_reports_and_none_outlasts_its_time(
    steps: list[tuple[int, set[int], set[int]]],
) -> None:
    with transaction.atomic():
        world = World()
        rollout = world.start(**TERMS)
        now, phase, began = START + timedelta(seconds=1), 0, START + timedelta(seconds=1)
        for seconds, there, telling in steps:
            now += timedelta(seconds=seconds)
            for number in sorted(there):
                follow(world.devices[number], now)
            for number in sorted(there & telling):
                device = world.devices[number]
                if rollout.trials.filter(device=device.row.pk).exists():
                    outcome = ReportTrial(rollout=str(rollout.pk), compared=comparison(before=0.5, after=0.9))
                    device_api.report_trial(device.row, outcome, now)
            sweep(now=now)
            rollout.refresh_from_db()
            if (rollout.phase, rollout.state) != (phase, "measuring"):
                told = rollout.trials.filter(phase=phase, reported_at__isnull=False).count()
                assert told >= 2 or rollout.state == "rolled_back", "nothing is passed over"
                phase, began = rollout.phase, now
            if rollout.state != "measuring":
                break
            assert now <= rollout.due_at, "it is judged by then"
            assert rollout.due_at <= began + timedelta(seconds=WITHIN_S + 1000), "each wait has its end"
            if rollout.reason_code == "rollouts.absent":
                assert rollout.absent_since is not None
                assert rollout.figures["phase_absent"] > 0
        transaction.set_rollback(True)
