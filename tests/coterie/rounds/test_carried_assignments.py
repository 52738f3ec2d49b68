"""Asynchronous rounds: devices go on when a buffer closes, and their updates go into later ones."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from coterie.federations.models import Federation
from coterie.federations.services import change_plan, create_federation, finish_federation, start_federation
from coterie.fleet.presence import settle
from coterie.merging.files import updates_of
from coterie.merging.models import Update
from coterie.merging.running import run_merge
from coterie.registry.content import BLOBS
from coterie.registry.models import ModelPair, Role
from coterie.registry.selectors import champion, latest_ancestors
from coterie.registry.services import move_champion
from coterie.rollouts.selectors import active_rollout
from coterie.rollouts.services import cancel_rollout
from coterie.rounds.advancing import advance_federation, sweep
from coterie.rounds.models import Assignment, Round
from coterie.rounds.retention import versions_in_use
from coterie.rounds.tidying import RETENTION, tidy
from coterie_learning.codec.int8 import Int8
from coterie_wire.messages import Progress
from coterie_wire.tensors import Tensors, decode_tensors
from tests.coterie.world import (
    MODEL,
    ScriptedDevice,
    fleet_of,
    in_this_process,
    later,
    make_pair,
    make_version,
)

pytestmark = pytest.mark.django_db


def asynchronous(pair: ModelPair, *, rounds: int | None = None, **pace: object) -> Federation:
    """A running federation of asynchronous rounds."""
    federation = create_federation(
        name="digits",
        pair=pair,
        plan={"pace": {"kind": "buffered", **pace}},
        rounds_wanted=rounds,
        now=later(0),
    )
    start_federation(federation=federation, now=later(0))
    return federation


def advance(federation: Federation, seconds: float) -> None:
    """What sweep and workers do until nothing is due."""
    settle(now=later(seconds))
    for _ in range(6):
        advance_federation(federation_id=federation.pk, now=later(seconds))
        for merge in federation.merges.filter(state="running"):
            run_merge(merge_id=merge.pk, clock=lambda: later(seconds), merger=in_this_process)


def assignments(devices: list[ScriptedDevice], seconds: float) -> list[str]:
    """Everybody's, after all have checked in."""
    for device in devices:
        device.check_in(later(seconds))
    found = [device.say(later(seconds)).assignment for device in devices]
    return ["" if one is None else one.assignment for one in found]


def read(parameters_id: str) -> Tensors:
    with BLOBS.open(parameters_id) as file:
        return decode_tensors(file.read(), expected=MODEL.version)


def test_a_buffer_merges_while_the_others_go_on() -> None:
    pair = make_pair()
    first = make_version(pair)
    federation = asynchronous(pair, buffer=2, at_work=3)
    devices = fleet_of(3)
    given = assignments(devices, 1)
    assert all(given)

    devices[0].deliver(given[0], later(2), seed=1)
    devices[1].deliver(given[1], later(3), seed=2)
    advance(federation, 4)
    second = champion(pair.pk, Role.DEVICE)
    assert second is not None and second.parent == first
    assert devices[2].say(later(5)).assignment.assignment == given[2], "nobody stops it"

    again = devices[0].say(later(5)).assignment
    assert again is not None and again.round == 2 and again.assignment != given[0]
    devices[2].deliver(given[2], later(6), seed=3)
    devices[0].deliver(again.assignment, later(7), seed=4)
    advance(federation, 8)
    rounds = list(federation.rounds.order_by("number"))
    assert [(r.number, r.state, r.updates_in) for r in rounds] == [
        (1, "published", 2),
        (2, "published", 2),
        (3, "open", 0),
    ]
    assert {(u.pk, u.staleness) for u in rounds[1].merge.updates.all()} == {
        (Assignment.objects.get(pk=given[2]).update_id, 1),
        (Assignment.objects.get(pk=again.assignment).update_id, 0),
    }
    assert rounds[1].merge.base_version == second


def test_a_stale_update_makes_a_step_that_is_smaller_by_its_weight() -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=1, at_work=2)
    devices = fleet_of(2)
    given = assignments(devices, 1)
    devices[0].deliver(given[0], later(2), seed=1)
    advance(federation, 3)
    base = champion(pair.pk, Role.DEVICE)
    devices[1].deliver(given[1], later(4), seed=2)
    advance(federation, 5)
    made = champion(pair.pk, Role.DEVICE)
    payload = devices[1].payload(2)
    update = Int8().decode(payload, expected=MODEL.version)
    for name, tensor in read(made.parameters_id).items():
        wanted = read(base.parameters_id)[name] + update[name] * (
            724 / 1024
        )  # 724 is the root of 2^20 / 2, rounded down
        assert np.allclose(tensor, wanted, atol=1e-6)


def test_a_full_cohort_of_fresh_updates_gives_the_bytes_of_a_synchronous_round() -> None:
    made = []
    for slug, pace in (
        ("a", {"kind": "sync", "target_updates": 3}),
        ("b", {"kind": "buffered", "buffer": 3, "at_work": 3}),
    ):
        pair = make_pair(slug)
        make_version(pair)
        federation = create_federation(name=slug, pair=pair, plan={"pace": pace}, device_tag=slug, now=later(0), seed=7)
        start_federation(federation=federation, now=later(0))
        devices = fleet_of(3, tag=slug)
        for turn in range(3):
            seconds = 10.0 * turn
            for seed, (device, assignment) in enumerate(zip(devices, assignments(devices, seconds + 1), strict=True)):
                device.deliver(assignment, later(seconds + 2), seed=10 * turn + seed)
            advance(federation, seconds + 3)
        made.append(
            [r.result_version.parameters_id for r in federation.rounds.filter(state="published").order_by("number")]
        )
    assert made[0] == made[1]
    assert len(set(made[0])) == 3


@pytest.mark.long
def test_what_comes_while_a_buffer_is_merged_waits_for_the_next_and_is_lost_nowhere() -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=2, at_work=4)
    devices = fleet_of(4)
    given = assignments(devices, 1)
    for device, assignment in zip(devices, given, strict=True):
        assert device.deliver(assignment, later(2), seed=1).accepted
    assert set(Assignment.objects.values_list("taken_by__number", flat=True)) == {1, None}
    assert devices[3].say(later(3)).assignment is None, "its update waits"
    advance(federation, 4)
    assert set(Assignment.objects.filter(state="delivered").values_list("taken_by__number", flat=True)) == {1, 2}
    assert Update.objects.filter(merge__state="published").count() == 4
    assert sorted(Update.objects.values_list("staleness", flat=True)) == [0, 0, 1, 1]


def test_a_device_has_one_update_in_a_buffer() -> None:
    pair = make_pair()
    make_version(pair)
    asynchronous(pair, buffer=2, at_work=2)
    (fast,) = fleet_of(1)
    (given,) = assignments([fast], 1)
    fast.deliver(given, later(2), seed=1)
    assert fast.check_in(later(3)).wait.code == "rounds.delivered"
    (slow,) = (ScriptedDevice(device.row) for device in fleet_of(1, tag="slow"))
    assert slow.check_in(later(4)).assignment is not None


@pytest.mark.long
def test_whoever_is_too_stale_is_told_before_it_trains_to_the_end() -> None:
    pair = make_pair()
    first = make_version(pair)
    federation = asynchronous(pair, buffer=1, at_work=2, max_staleness=1)
    devices = fleet_of(2)
    given = assignments(devices, 0)
    for seconds in (10, 20):
        assert first.pk in versions_in_use()
        fast = devices[0].check_in(later(seconds)).assignment
        devices[0].deliver(fast.assignment, later(seconds), seed=int(seconds))
        assert devices[1].say(later(seconds)).assignment.assignment == given[1]
        advance(federation, seconds + 1)
    part = Assignment.objects.get(pk=given[1])
    assert (part.state, part.reason_code) == ("released", "rounds.too_stale")
    again = devices[1].check_in(later(23)).assignment
    assert again is not None and again.assignment != given[1]


def test_what_waits_and_grows_too_stale_is_left_out_with_its_reason() -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=1, at_work=3, max_staleness=0)
    devices = fleet_of(3)
    for device, assignment in zip(devices, assignments(devices, 1), strict=True):
        device.deliver(assignment, later(2), seed=1)
    advance(federation, 3)
    assert sorted(Update.objects.values_list("fault_code", flat=True)) == ["", "rounds.too_stale", "rounds.too_stale"]
    assert [merge.state for merge in federation.merges.all()] == ["published"]
    assert all(device.check_in(later(4)).assignment for device in devices)


def test_updates_from_a_version_that_was_rolled_back_are_not_merged() -> None:
    pair = make_pair()
    first = make_version(pair)
    federation = asynchronous(pair, buffer=2, at_work=2)
    devices = fleet_of(2)
    given = assignments(devices, 1)
    for device, assignment in zip(devices, given, strict=True):
        device.deliver(assignment, later(2), seed=1)
    advance(federation, 3)
    second = champion(pair.pk, Role.DEVICE)
    assert latest_ancestors(second, count=5) == [second.pk, first.pk]
    given = assignments(devices, 4)
    devices[0].deliver(given[0], later(5), seed=2)
    move_champion(version=first, now=later(6))
    devices[1].deliver(given[1], later(7), seed=3)
    advance(federation, 8)
    round_ = federation.rounds.get(number=2)
    assert (round_.state, round_.reason_code) == ("abandoned", "merge.no_update_left")
    assert round_.merge.base_version == first


def test_a_silent_device_may_come_back_after_its_round_has_ended() -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=1, at_work=2, absent_s=10)
    silent, other = fleet_of(2)
    kept, given = assignments([silent, other], 1)
    other.check_in(later(12))
    assert Assignment.objects.get(pk=kept).state == "dropped"
    other.deliver(given, later(13), seed=1)
    advance(federation, 14)
    back = silent.check_in(later(15), progress=Progress(kept, "training", 3, 10))
    assert back.assignment.assignment == kept
    assert silent.deliver(kept, later(16), seed=2).accepted


def test_an_assignment_ends_when_its_own_time_is_up() -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=1, at_work=2, deadline_s=60)
    slow, fast = fleet_of(2)
    kept, given = assignments([slow, fast], 1)
    fast.deliver(given, later(30), seed=1)
    advance(federation, 31)
    assert slow.check_in(later(40)).assignment.remaining_s == pytest.approx(21, abs=1)
    slow.check_in(later(62))
    part = Assignment.objects.get(pk=kept)
    assert (part.state, part.reason_code) == ("released", "rounds.assignment_overdue")


def test_a_buffer_that_does_not_fill_is_merged_at_its_deadline() -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=5, at_work=5, deadline_s=60)
    (device,) = fleet_of(1)
    (given,) = assignments([device], 1)
    device.deliver(given, later(2), seed=1)
    advance(federation, 62)
    assert federation.rounds.get(number=1).state == "published"


def test_another_plan_ends_assignments_and_takes_out_updates_that_fit_no_more() -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=1, at_work=3)
    devices = fleet_of(3)
    given = assignments(devices, 1)
    change_plan(federation=federation, plan={"pace": {"kind": "buffered", "buffer": 1}, "codec": {"kind": "float32"}})
    for device, assignment in zip(devices[:2], given, strict=False):
        device.deliver(assignment, later(2), seed=1)
    advance(federation, 3)
    part = Assignment.objects.get(pk=given[2])
    assert (part.state, part.reason_code) == ("released", "rounds.plan_changed")
    assert sorted(Update.objects.values_list("fault_code", flat=True)) == ["", "rounds.plan_changed"]
    assert devices[0].check_in(later(4)).assignment is not None


@pytest.mark.parametrize("plan", [{"pace": {"kind": "sync"}}, {"pace": {"kind": "alone"}}])
def test_another_pace_ends_what_was_carried_on(plan: dict[str, object]) -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=1, at_work=2)
    devices = fleet_of(2)
    given = assignments(devices, 1)
    change_plan(federation=federation, plan=plan)
    devices[0].deliver(given[0], later(2), seed=1)
    advance(federation, 3)
    part = Assignment.objects.get(pk=given[1])
    assert (part.state, part.reason_code) == ("released", "rounds.plan_changed")


def test_the_last_round_ends_the_federation_and_all_assignments() -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, rounds=2, buffer=1, at_work=3)
    devices = fleet_of(3)
    for device, assignment in zip(devices[:2], assignments(devices, 1), strict=False):
        device.deliver(assignment, later(2), seed=1)
    advance(federation, 3)
    federation.refresh_from_db()
    assert federation.state == "finished"
    sweep(now=later(4))
    part = Assignment.objects.get(device=devices[2].row)
    assert (part.state, part.reason_code) == ("released", "rounds.federation_finished")
    assert federation.rounds.count() == 2


def test_an_operator_who_finishes_it_ends_all_assignments() -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=1, at_work=2)
    devices = fleet_of(2)
    given = assignments(devices, 1)
    finish_federation(federation=federation, now=later(0))
    devices[0].deliver(given[0], later(2), seed=1)
    advance(federation, 3)
    assert Round.objects.get().state == "published"
    assert Assignment.objects.get(pk=given[1]).state == "released"


@pytest.mark.long
def test_a_buffer_fills_while_a_version_is_tried_and_merges_after_that() -> None:
    pair = make_pair()
    make_version(pair)
    plan = {
        "pace": {"kind": "buffered", "buffer": 1, "at_work": 2},
        "rollout": {"kind": "canary", "share": 1.0, "reports": 1},
    }
    federation = create_federation(name="digits", pair=pair, plan=plan, now=later(0))
    start_federation(federation=federation, now=later(0))
    devices = fleet_of(2)
    given = assignments(devices, 1)
    devices[0].deliver(given[0], later(2), seed=1)
    advance(federation, 3)
    rollout = active_rollout(federation)
    assert rollout is not None
    assert federation.rounds.get(number=2).state == "open"

    devices[1].deliver(given[1], later(4), seed=2)
    advance(federation, 5)
    round_ = federation.rounds.get(number=2)
    assert (round_.state, round_.reason_code) == ("closing", "rounds.rolling_out")
    cancel_rollout(rollout=rollout, now=later(6))
    advance(federation, 7)
    round_.refresh_from_db()
    assert round_.state == "published"


def test_files_are_kept_until_the_round_that_took_them_is_old(tmp_path: Path) -> None:
    pair = make_pair()
    make_version(pair)
    federation = asynchronous(pair, buffer=1, at_work=2, deadline_s=30 * 86_400)
    devices = fleet_of(2)
    given = assignments(devices, 1)
    devices[0].deliver(given[0], later(2), seed=1)
    advance(federation, 3)
    late = later(4) + RETENTION - timedelta(seconds=60)
    devices[1].deliver(given[1], late, seed=2)
    advance(federation, (late - later(0)).total_seconds() + 1)
    tidy(now=late + timedelta(seconds=120))
    update = Update.objects.get(pk=given[1])
    assert updates_of(update.cohort).local_path(update.sha256, tmp_path).exists()
    tidy(now=late + RETENTION + timedelta(seconds=120))
    assert federation.rounds.filter(state="published", tidied_at=None).count() == 0
