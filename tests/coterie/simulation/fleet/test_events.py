"""Events alone: the rounds that a fleet with training has, and the load that the platform's own intervals make."""

import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from coterie.rounds import intervals
from coterie.simulation.days import QUARTER_S, QUARTERS, day_of
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet import events
from coterie.simulation.fleet.availability import Habitual
from coterie.simulation.fleet.events import EventsOutcome, EventsRun, simulate_events
from coterie.simulation.fleet.profile import FleetProfile, read_profile
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.progress import unreported
from coterie.simulation.scenario import Habits
from coterie_learning.plan import parse_plan
from coterie_wire.conditions import Requirements
from tests.coterie.simulation.fleet.fleets import PLAN, run


def held(devices: int = 2000, **changes: object) -> EventsOutcome:
    plan = parse_plan({**PLAN, "pace": {"kind": "sync", "target_updates": 50, "min_updates": 10, "pause_s": 3600}})
    given: dict[str, object] = {"plan": plan, "devices": devices, "days": 2.0, **changes}
    return simulate_events(EventsRun(**given), report=unreported)  # type: ignore[arg-type]


@pytest.mark.long
def test_the_same_arguments_give_the_same_bytes() -> None:
    phones = read_profile("phones")
    assert held(fleet=phones).json() == held(fleet=phones).json() != held(fleet=phones, seed=1).json()


def test_rounds_are_those_of_a_fleet_that_trains() -> None:
    trained = run(rounds=3)
    outcome = simulate_fleet(trained, report=unreported)
    assert trained.devices is not None and trained.each is not None
    alone = simulate_events(
        EventsRun(
            plan=trained.plan,
            devices=trained.devices,
            rounds=3,
            samples=int(np.ceil(trained.each * 0.8)),
            batch_size=trained.model.spec.batch_size,
            version_bytes=1000,
            update_bytes=1000,
        ),
        report=unreported,
    )
    assert alone.asked == sum(one.invited for one in outcome.rounds)
    assert alone.delivered == sum(one.delivered for one in outcome.rounds)
    assert alone.merged == 3


def test_devices_that_meet_are_refused() -> None:
    with pytest.raises(DoesNotFit, match="topology gossip"):
        held(plan=parse_plan({**PLAN, "topology": {"kind": "gossip"}}))


def test_check_ins_are_spread_to_what_the_platform_answers() -> None:
    few, many = held(100), held(20_000)
    assert (few.check_in_every_s, many.check_in_every_s) == (15.0, 100.0)
    assert few.check_ins.mean < 20
    assert 200 <= many.check_ins.mean < 230
    assert (events.IDLE_CHECK_IN_S, events.BUSY_CHECK_IN_S) == (intervals.IDLE_CHECK_IN_S, intervals.BUSY_CHECK_IN_S)


@pytest.mark.long
def test_phones_come_at_night_and_all_at_once_if_their_habits_are_alike() -> None:
    phones = read_profile("phones")
    assert isinstance(phones, FleetProfile)
    by_night, always = held(fleet=phones, plan=_charging()), held()
    assert by_night.ready_share.largest > 1.5 * by_night.ready_share.mean > 0
    assert always.ready_share.mean == 1 and always.changes.largest == 0
    alike = FleetProfile(habits=phones.habits.__class__(charging=(22, 7), spread_h=0))
    assert held(fleet=alike, plan=_charging()).changes.largest > 2 * by_night.changes.largest


def _charging() -> object:
    pace = {"kind": "sync", "target_updates": 50, "min_updates": 10, "pause_s": 3600}
    return parse_plan({**PLAN, "pace": pace, "requirements": {"charging": True}})


@pytest.mark.long
def test_lost_devices_are_asked_in_vain() -> None:
    flaky = held(fleet=FleetProfile(lost_share=0.3))
    assert 0.1 < flaky.lost / flaky.asked < 0.5


def test_plans_that_need_what_was_learned_are_refused() -> None:
    with pytest.raises(DoesNotFit):
        held(plan=parse_plan({**PLAN, "selection": {"kind": "oort"}}))
    with pytest.raises(DoesNotFit):
        held(plan=parse_plan({"pace": {"kind": "alone"}}))


def test_the_command_writes_what_it_found_and_says_what_is_wrong(tmp_path: Path) -> None:
    found = tmp_path / "events.json"
    call_command("simulate", "fedavg", "--events", "--devices", "300", "--days", "1", "--rounds", "5", json=found)
    assert json.loads(found.read_bytes())["devices"] == 300
    for wrong in (["--events"], ["--events", "--devices", "9", "--batch-size", "3"], ["--update-bytes", "3"]):
        with pytest.raises(CommandError):
            call_command("simulate", "fedavg", *wrong)


def test_all_devices_at_once_have_the_days_that_each_has_alone() -> None:
    habits = Habits(charging=(22.0, 7.0), wifi=(18.5, 8.25), spread_h=12.0)
    requirements = Requirements(charging=True, unmetered=True)
    shifts = np.concatenate(([-12.0, 12.0, 0.0, -1e-15, 2.0], np.random.default_rng(0).uniform(-12, 12, 200)))
    together = Habitual.of([habits], requirements, shifts)
    alone = [day_of(habits, requirements, shift_h=float(shift)) for shift in shifts]
    for quarter in range(QUARTERS):
        assert together.ready(quarter * QUARTER_S).tolist() == [day.ready[quarter] for day in alone]
