"""A roll-out from its beginning to each of its ends, with scripted devices."""

import pytest
from rest_framework.test import APIClient

from coterie.audit.models import Entry
from coterie.core.why import LONGEST_WHY
from coterie.fleet.services import pin_device
from coterie.registry.models import Role
from coterie.registry.selectors import champion, withdrawn_versions
from coterie.registry.services import move_champion
from coterie.repairs.faults import find_faults
from coterie.rollouts import device_api
from coterie.rollouts.errors import (
    AlreadyChampion,
    ChampionMoved,
    ImplausibleTrial,
    NoFederation,
    NotADeviceVersion,
    RolloutHasEnded,
    RolloutUnderWay,
    TrialsInTheClear,
    UnknownTrial,
)
from coterie.rollouts.models import Rollout
from coterie.rollouts.services import cancel_rollout, promote_rollout, start_rollout
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Round
from coterie.webhooks.models import Delivery, Event
from coterie.webhooks.services import create_webhook
from coterie_learning.rollout.canary import Canary
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.trial import Fit, ReportTrial, TrialFigures
from tests.coterie.rollouts.world import World, another_version, follow, report
from tests.coterie.rounds.summing import PLAN as SUMS
from tests.coterie.world import (
    START,
    ScriptedDevice,
    fleet_of,
    in_this_process,
    later,
    make_device,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)

pytestmark = pytest.mark.django_db


def test_a_group_holds_the_candidate_compares_and_everybody_gets_it() -> None:
    world = World()
    rollout = world.start()
    assert (rollout.state, rollout.champion) == ("measuring", world.champion)
    group = world.group(rollout)
    assert len(group) == 2
    told = world.check_in(later(2))
    for device in world.devices:
        directive = told[device.row.name]
        assert device.version == str((world.candidate if device in group else world.champion).pk)
        assert (directive.trial is not None) == (device in group)
        assert directive.wait is not None
        assert directive.wait.code == "rounds.rolling_out"
    report(group[0], rollout, after=0.9)
    assert (rollout.state, rollout.reason_sentence) == ("measuring", "1 of 2 devices have told how it does")
    assert world.check_in(later(11))[group[0].row.name].trial is None
    report(group[0], rollout, after=0.0)  # told again: the first stands
    report(group[1], rollout, before=0.6, after=0.6)
    assert (rollout.state, rollout.reason_code) == ("promoted", "rollouts.no_worse")
    assert rollout.figures == {
        "devices": 2,
        "reports": 2,
        "faults": 0,
        "phase_devices": 2,
        "phase_reports": 2,
        "phase_absent": 0,
        "champion_error": pytest.approx(0.3),
        "candidate_error": pytest.approx(0.25),
    }
    assert world.in_use() == world.candidate
    world.check_in(later(12))
    assert {device.version for device in world.devices} == {str(world.candidate.pk)}
    sweep(now=later(12))
    assert Round.objects.get().reason_code == "rounds.needs_devices"


def test_what_does_worse_is_rolled_back_and_told() -> None:
    world = World()
    create_webhook(name="ops", url="https://8.8.8.8/hook", events=[Event.ROLLOUT_ENDED], now=START)
    rollout = world.start(share=1.0)
    group = world.group(rollout)
    assert len(group) == 4
    world.check_in(later(2))
    report(group[0], rollout, after=0.7)
    report(group[1], rollout, after=0.7)
    assert (rollout.state, rollout.reason_code) == ("rolled_back", "rollouts.worse")
    assert rollout.reason_sentence == "error 30.00% on the devices' samples against the champion's 20.00%"
    assert world.in_use() == world.champion
    assert withdrawn_versions(world.pair.pk) == (world.candidate.pk,), "own models that went on from it are given up"
    world.check_in(later(12))
    assert {device.version for device in world.devices} == {str(world.champion.pk)}
    report(group[2], rollout)  # too late, and no error of the device's
    body = Delivery.objects.get().body
    assert (body["outcome"], body["code"], body["version_number"]) == ("rolled_back", "rollouts.worse", 2)
    fault = next(fault for fault in find_faults(now=later(20)) if fault.key.startswith("rolled_back"))
    assert "was rolled back: error 30.00%" in fault.sentence


def test_a_candidate_that_devices_cannot_use_is_rolled_back() -> None:
    world = World()
    rollout = world.start(reports=1, share=0.1)
    (device,) = world.group(rollout)
    fault = ReportTrial(rollout=str(rollout.pk), fault=Reason("model.broken", "onnxruntime does not load the graph"))
    device_api.report_trial(device.row, fault, later(5))
    sweep(now=later(5))
    rollout.refresh_from_db()
    assert (rollout.state, rollout.reason_code) == ("rolled_back", "rollouts.unusable")
    assert "onnxruntime does not load" in rollout.reason_sentence


def test_silence_rolls_back_when_its_time_is_over() -> None:
    world = World()
    rollout = world.start()
    world.check_in(later(100))
    assert Rollout.objects.get().state == "measuring"
    sweep(now=later(101))
    rollout.refresh_from_db()
    assert (rollout.state, rollout.reason_sentence) == ("rolled_back", "needs 2 reports, 0 came in time")


def test_without_devices_it_says_so_and_gives_up() -> None:
    world = World(devices=1)
    rollout = world.start(absent_s=1000)
    assert (rollout.state, rollout.reason_sentence) == (
        "planned",
        "needs 2 devices that are there to try it, 1 are; 0 are absent; it waits since 2026-01-01 12:00 UTC",
    )
    sweep(now=later(1099))
    assert Rollout.objects.get().state == "planned"
    sweep(now=later(1100))
    rollout.refresh_from_db()
    assert (rollout.state, rollout.reason_code) == ("rolled_back", "rollouts.needs_devices")


def test_the_group_is_drawn_by_tag_from_devices_that_follow_the_federation() -> None:
    world = World(devices=0)
    kiosks = [ScriptedDevice(make_device(f"kiosk-{number}", tags=("kiosk",))) for number in range(3)]
    world.devices = [*kiosks, *fleet_of(2)]
    world.check_in(START)
    pin_device(device=kiosks[0].row, version=str(world.champion.pk))
    rollout = world.start(tag="kiosk", share=1.0)
    assert {device.row.name for device in world.group(rollout)} == {"kiosk-1", "kiosk-2"}
    pin_device(device=kiosks[1].row, version=str(world.champion.pk))
    told = world.check_in(later(2))
    assert told["kiosk-1"].trial is None
    assert told["kiosk-2"].trial is not None


def test_who_decides_says_why(api: APIClient) -> None:
    world = World()
    wanted = {"version": str(world.candidate.pk), "terms": {"share": 0.5, "reports": 1}, "why": "the night's fixes"}
    begun = api.post("/api/rollouts/", wanted, format="json").json()
    started = Entry.objects.get(action="rollouts.start_rollout")
    assert started.after["why"] == "the night's fixes"
    stopped = api.post(f"/api/rollouts/{begun['id']}/cancel/", {"why": "w" * LONGEST_WHY}, format="json").json()
    assert stopped["reason_sentence"] == f"an operator stopped it: {'w' * LONGEST_WHY}"
    again = api.post("/api/rollouts/", {**wanted, "why": ""}, format="json").json()
    in_use = api.post(f"/api/rollouts/{again['id']}/promote/", {"why": "it is urgent"}, format="json").json()
    assert in_use["reason_sentence"] == ("an operator promoted it without waiting for the reports: it is urgent")


def test_an_operator_promotes_or_stops_it_before_its_time() -> None:
    world = World()
    rollout = world.start()
    cancel_rollout(rollout=rollout, now=later(2))
    assert (rollout.state, rollout.reason_code, world.in_use()) == ("cancelled", "rollouts.stopped", world.champion)
    with pytest.raises(RolloutHasEnded):
        promote_rollout(rollout=rollout, now=later(3))
    again = world.start()
    promote_rollout(rollout=again, now=later(4))
    assert (again.state, again.reason_code, world.in_use()) == ("promoted", "rollouts.by_operator", world.candidate)


def test_a_champion_that_is_moved_meanwhile_ends_it() -> None:
    world = World()
    rollout = world.start()
    third = another_version(world.champion, "third")
    move_champion(version=third, now=later(2))
    with pytest.raises(ChampionMoved):
        promote_rollout(rollout=rollout, now=later(3))
    sweep(now=later(3))
    rollout.refresh_from_db()
    assert (rollout.state, rollout.reason_code, world.in_use()) == ("cancelled", "rollouts.moved", third)


def test_what_cannot_be_rolled_out_is_refused() -> None:
    world = World()
    cloud = make_version(world.pair, role=Role.CLOUD)
    for version, terms, error in (
        (cloud, {}, NotADeviceVersion),
        (world.champion, {}, AlreadyChampion),
        (make_version(make_pair("other")), {}, NoFederation),
        (world.candidate, {"share": 2}, WireError),
        (world.candidate, {"kind": "at_once", "colour": "red"}, WireError),
    ):
        with pytest.raises(error):
            start_rollout(version=version, terms=terms, now=START)
    world.start()
    with pytest.raises(RolloutUnderWay):
        world.start()


def test_devices_whose_figures_are_summed_alone_try_nothing() -> None:
    champion = make_version(make_pair())
    make_federation(champion.pair, plan=SUMS, target_updates=50, min_updates=50)
    with pytest.raises(TrialsInTheClear):
        start_rollout(version=another_version(champion, "candidate"), terms={}, now=START)


def test_reports_of_strangers_and_of_another_task_are_refused() -> None:
    world = World()
    rollout = world.start()
    (stranger, *_) = [device for device in world.devices if device not in world.group(rollout)]
    compared = TrialFigures(samples=1, champion=Fit(1.0), candidate=Fit(1.0))
    for device, name, error in (
        (stranger, str(rollout.pk), UnknownTrial),
        (stranger, "nonsense", UnknownTrial),
        (world.group(rollout)[0], str(rollout.pk), ImplausibleTrial),
    ):
        with pytest.raises(error):
            device_api.report_trial(device.row, ReportTrial(rollout=name, compared=compared), later(2))


def test_a_rounds_version_goes_through_the_group_that_the_plan_asks_for() -> None:
    pair = make_pair()
    first = make_version(pair)
    canary = {"kind": "canary", "share": 1.0, "reports": 1}
    make_federation(pair, target_updates=1, over_selection=1.0, plan={"rollout": canary})
    (device,) = fleet_of(1)
    assignment = follow(device, START).assignment
    assert assignment is not None
    device.deliver(assignment.assignment, later(1), seed=1)
    sweep(now=later(2))
    round_ = Round.objects.get(state="merging")
    merge_round(round_, clock=lambda: later(3), merger=in_this_process)
    round_.refresh_from_db()
    rollout = Rollout.objects.get()
    assert (round_.state, rollout.version, rollout.state) == ("published", round_.result_version, "planned")
    assert champion(pair.pk, Role.DEVICE) == first
    assert rollout.parsed_terms() == Canary(share=1.0, reports=1)
    sweep(now=later(4))
    told = follow(device, later(5))
    assert told.trial is not None
    assert told.trial.candidate == device.version == str(rollout.version_id)
    report(device, rollout, at=6)
    assert champion(pair.pk, Role.DEVICE) == round_.result_version
    assert follow(device, later(7)).assignment is not None


def test_a_clock_that_is_set_back_does_not_lengthen_it() -> None:
    world = World()
    rollout = world.start(within_s=100)
    sweep(now=later(-3600))
    rollout.refresh_from_db()
    assert (rollout.state, rollout.due_at) == ("measuring", later(-3500))
    sweep(now=later(-3550))
    rollout.refresh_from_db()
    assert rollout.state == "measuring"
    world.check_in(later(-3501))
    sweep(now=later(-3499))
    rollout.refresh_from_db()
    assert rollout.state == "rolled_back"
