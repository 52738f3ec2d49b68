"""A round from its plan to its published version, step by step."""

import pytest

from coterie.federations.models import Federation
from coterie.federations.services import (
    change_plan,
    change_terms,
    create_federation,
    pause_federation,
    start_federation,
)
from coterie.fleet.models import Device
from coterie.registry.models import Role
from coterie.registry.selectors import champion, signed_manifest
from coterie.rounds.advancing import advance_federation, sweep
from coterie.rounds.assigning import release_assignment
from coterie.rounds.models import Assignment, Round
from coterie_learning.pace import Decision, View
from coterie_learning.pace.sync import Sync
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.messages import Progress
from tests.coterie.world import (
    ON_BATTERY,
    fleet_of,
    in_this_process,
    later,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)
from tests.own_kind import count_as_own_kind

pytestmark = pytest.mark.django_db


def test_a_round_is_held_from_plan_to_version() -> None:
    pair = make_pair()
    base = make_version(pair)
    federation = make_federation(pair, target_updates=2, min_updates=2)
    first, second = fleet_of(2)

    assert first.check_in(later(0)).wait.code == "rounds.needs_devices"
    directive = second.check_in(later(1))
    assert directive.assignment is not None
    other = first.check_in(later(2)).assignment
    assert other is not None and other.round == 1

    assert first.deliver(other.assignment, later(3), seed=1).accepted
    assert first.check_in(later(4)).wait.code == "rounds.delivered"
    assert second.deliver(directive.assignment.assignment, later(5), seed=2).accepted
    round_ = Round.objects.get()
    assert round_.state == Round.State.CLOSING

    advance_federation(federation_id=federation.pk, now=later(6))
    round_.refresh_from_db()
    assert round_.state == Round.State.MERGING

    merge_round(round_, clock=lambda: later(7), merger=in_this_process)
    round_.refresh_from_db()
    assert round_.state == Round.State.PUBLISHED
    assert champion(pair.pk, Role.DEVICE) == round_.result_version
    assert round_.result_version.parent == base
    assert round_.metrics["updates"] == 2

    for device in (first, second):
        device.check_in(later(8))
    assert [(r.number, r.state) for r in federation.rounds.order_by("number")] == [(1, "published"), (2, "open")]


def test_whoever_is_not_ready_is_counted_in_the_reason() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=5, min_updates=5)
    devices = fleet_of(5)
    for device in devices[:3]:
        assert device.check_in(later(0), blockers=(ON_BATTERY,)).wait == ON_BATTERY
    devices[3].check_in(later(0))
    sweep(now=later(1))
    sweep(now=later(7))
    round_ = Round.objects.get()
    assert round_.reason_sentence == "needs 5 devices, 1 eligible: 3 on battery, 1 absent"


def test_a_round_without_enough_updates_is_abandoned_at_its_deadline() -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=2, min_updates=2, deadline_s=60, pause_s=30)
    devices = fleet_of(2)
    for device in devices:
        device.check_in(later(0))
    sweep(now=later(61))
    sweep(now=later(62))
    first = Round.objects.get(number=1)
    assert (first.state, first.reason_code) == ("abandoned", "rounds.too_few_updates")
    assert set(Assignment.objects.values_list("state", "reason_code")) == {("released", "rounds.round_closed")}
    sweep(now=later(63))
    assert federation.rounds.get(number=2).reason_code == "rounds.pause"


def test_an_abandoned_round_says_why_most_devices_sent_nothing() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=3, min_updates=2, deadline_s=60)
    devices = fleet_of(3)
    for device in devices:
        device.check_in(later(0))
    refused = Reason("owner.not_agreed", "the owner has not agreed to it")
    for device in devices[:2]:
        assignment = device.check_in(later(1)).assignment
        assert assignment is not None
        release_assignment(device=device.row, assignment_id=assignment.assignment, reason=refused, now=later(2))
    sweep(now=later(61))
    sweep(now=later(62))
    first = Round.objects.get(number=1)
    assert first.reason_sentence == (
        "needs 2 updates, 0 came before the deadline; "
        "of 3 devices without a valid update, 2: the owner has not agreed to it"
    )


def test_a_round_without_valid_updates_says_what_was_wrong_with_them() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=2, deadline_s=60)
    devices = fleet_of(2)
    for device in devices:
        device.check_in(later(0))
    for device in devices:
        assignment = device.check_in(later(1)).assignment
        assert assignment is not None
        device.offer(assignment.assignment, b"not tensors", later(2))
        with pytest.raises(WireError):
            device.send(assignment.assignment, b"not tensors", 0, later(2))
    sweep(now=later(61))
    sweep(now=later(62))
    assert "of 2 devices without a valid update, 2: " in Round.objects.get(number=1).reason_sentence


def test_a_silent_device_is_replaced_and_may_come_back() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=1, over_selection=1, absent_s=10)
    silent, other = fleet_of(2)
    assignment = silent.check_in(later(0)).assignment
    assert assignment is not None
    assert other.check_in(later(1)).wait.code == "rounds.full"

    sweep(now=later(12))
    part = Assignment.objects.get(device=silent.row)
    assert (part.state, part.reason_code) == ("dropped", "rounds.device_absent")
    assert other.check_in(later(13)).assignment is not None

    back = silent.check_in(later(14), progress=Progress(assignment.assignment, "training", 3, 10))
    assert back.assignment is not None and back.assignment.assignment == assignment.assignment
    part.refresh_from_db()
    assert (part.state, part.stage, part.steps_done) == ("accepted", "training", 3)


def test_silence_begins_with_the_offer() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=2, over_selection=1, absent_s=5)
    quiet, other = fleet_of(2)
    quiet.check_in(later(0))
    other.check_in(later(12))  # the round opens; until now the first device had no reason to speak

    sweep(now=later(13))
    assert Assignment.objects.get(device=quiet.row).state == "offered"
    sweep(now=later(18))
    assert Assignment.objects.get(device=quiet.row).state == "dropped"
    assert quiet.check_in(later(19)).assignment is not None


def test_a_revoked_device_loses_its_part() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair)
    (device,) = fleet_of(1)
    device.check_in(later(0))
    Device.objects.update(state=Device.State.REVOKED)
    sweep(now=later(1))
    assert Assignment.objects.get().reason_code == "rounds.device_gone"


def test_a_paused_federation_opens_no_round() -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair)
    sweep(now=later(0))
    pause_federation(federation=federation, now=later(0))
    (device,) = fleet_of(1)
    assert device.check_in(later(1)).wait.code == "rounds.federation_paused"


def test_a_plan_without_rounds_holds_none_and_says_so() -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair)
    sweep(now=later(0))
    change_plan(federation=federation, plan={"pace": {"kind": "alone"}})
    (device,) = fleet_of(1)
    assert device.say(later(1)).wait.code == "rounds.needs_devices"
    sweep(now=later(2))
    assert Round.objects.get().reason_code == "rounds.holds_none", "the round that was planned says what became of it"
    Round.objects.all().delete()
    sweep(now=later(3))
    directive = device.check_in(later(4))
    assert (directive.wait.code, directive.assignment, directive.manifest is None) == ("rounds.holds_none", None, False)
    assert not Round.objects.exists()


def test_it_finishes_after_the_rounds_that_were_wanted() -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=1)
    federation.rounds_wanted = 1
    federation.save()
    (device,) = fleet_of(1)
    device.deliver(device.check_in(later(0)).assignment.assignment, later(1), seed=1)
    sweep(now=later(2))
    merge_round(Round.objects.get(), clock=lambda: later(3), merger=in_this_process)
    sweep(now=later(4))
    federation.refresh_from_db()
    assert federation.state == "finished"
    assert federation.rounds.count() == 1
    directive = device.check_in(later(5))
    assert directive.wait.code == "rounds.federation_finished"
    result = Round.objects.get().result_version
    assert directive.manifest == signed_manifest(result.pk), "the last round's model goes to its devices as well"


def test_a_champion_that_was_moved_meanwhile_is_not_overwritten() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=1)
    (device,) = fleet_of(1)
    device.deliver(device.check_in(later(0)).assignment.assignment, later(1), seed=1)
    moved = make_version(pair, seed=5)
    sweep(now=later(2))
    merge_round(Round.objects.get(), clock=lambda: later(3), merger=in_this_process)
    assert Round.objects.get(number=1).reason_code == "merging.base_moved"
    assert champion(pair.pk, Role.DEVICE) == moved


def test_a_federation_that_fails_holds_up_no_other() -> None:
    for slug in ("broken", "sound"):
        pair = make_pair(slug)
        make_version(pair)
        start_federation(federation=create_federation(name=slug, pair=pair, plan={}, now=later(0)), now=later(0))
    Federation.objects.filter(slug="broken").update(plan={"merge": {"kind": "of a newer platform"}})
    with pytest.raises(ExceptionGroup, match="rounds could not go on"):
        sweep(now=later(1))
    assert Round.objects.get().federation.slug == "sound"


def test_partial_work_counts_and_stragglers_are_released() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=1, over_selection=2)
    quick, straggler = fleet_of(2)
    straggler.check_in(later(0), blockers=(ON_BATTERY,))
    given = quick.check_in(later(1)).assignment
    late = straggler.check_in(later(1)).assignment
    assert given is not None and late is not None
    payload = quick.payload(1)
    quick.offer(given.assignment, payload, later(2), steps_done=2, steps_total=5)
    assert quick.send(given.assignment, payload, 0, later(2)).accepted
    sweep(now=later(3))
    released = Assignment.objects.get(pk=late.assignment)
    assert (released.state, released.reason_code) == ("released", "rounds.round_closed")
    assert straggler.check_in(later(4)).assignment is None


def test_where_a_kind_of_its_plan_fails_the_federation_pauses_itself_and_goes_on_when_that_is_mended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Sync, view: View) -> Decision:
        raise ZeroDivisionError("a part of nothing")

    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=2, min_updates=2)
    first, second = fleet_of(2)
    first.check_in(later(0))
    with monkeypatch.context() as patch:
        count_as_own_kind(patch, __name__)
        patch.setattr(Sync, "decide", broken)
        with pytest.raises(ExceptionGroup, match="could not go on"):
            second.check_in(later(1))
        sweep(now=later(2))
        federation.refresh_from_db()
        assert (federation.state, federation.reason_code) == ("paused", "kinds.failed_on_platform")
        assert federation.reason_sentence.startswith("it paused itself: acme-kinds 1.0 failed in ")
        assert "a part of nothing. Mend the kind" in federation.reason_sentence
    start_federation(federation=federation, now=later(3))
    assert second.check_in(later(4)).assignment is not None


def test_where_an_own_kind_fails_on_devices_the_federation_pauses_itself_after_so_many_rounds() -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=2, min_updates=2, deadline_s=60)
    change_terms(federation=federation, tolerance=0.02, patience=None, attempts=1)
    devices = fleet_of(2)
    for device in devices:
        device.check_in(later(0))
    failed = Reason("kinds.failed", "acme-kinds 1.0 failed in encode, line 3 of codec.py: ZeroDivisionError")
    for device in devices:
        assignment = device.check_in(later(1)).assignment
        assert assignment is not None
        release_assignment(device=device.row, assignment_id=assignment.assignment, reason=failed, now=later(2))
    sweep(now=later(61))
    sweep(now=later(62))
    federation.refresh_from_db()
    assert (federation.state, federation.reason_code) == ("paused", "federations.kept_back")
    assert "line 3 of codec.py: ZeroDivisionError. Mend the kind" in federation.reason_sentence
