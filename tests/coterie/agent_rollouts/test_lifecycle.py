"""Roll-outs of the agent: who is asked and when, and what ends them."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from coterie.agent_rollouts import services
from coterie.agent_rollouts.errors import (
    AgentRolloutEnded,
    AgentRolloutUnderWay,
    BadPhases,
    LastPhase,
    NoReleases,
    ReleasesExpired,
    UnknownRelease,
    UnknownUpdate,
)
from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.audit.models import Entry
from coterie.core.scheduler_heartbeat import record_pulse
from coterie.fleet.models import Device
from coterie.rounds.models import Assignment, Round
from coterie.webhooks.models import Delivery, Event
from coterie.webhooks.services import create_webhook
from coterie_wire.conditions import Reason
from tests.coterie.agent_rollouts.world import (
    CRASHED,
    NOW,
    TERMS,
    advance,
    asked,
    device,
    later,
    published_in,
    report,
    repository,
    start,
    told,
)
from tests.coterie.world import make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
RUNNING, PAUSED, DONE, ROLLED_BACK, STOPPED = AgentRollout.State
REFUSES = Reason("updates.off", "no")


@pytest.fixture(autouse=True)
def releases(settings: Settings, tmp_path: Path) -> None:
    published_in(repository(tmp_path).root, settings)


def fleet(count: int) -> list[Device]:
    return [device(f"device-{number}") for number in range(count)]


def test_a_share_is_asked_and_then_the_rest() -> None:
    devices = fleet(8)
    rollout = advance(start())
    assert len(asked(rollout)) == 2
    assert rollout.reason_code == "agent_rollouts.watching"
    for row in asked(rollout):
        update = told(row)
        assert update is not None
        assert (update.version, update.to_do, update.probation_s) == ("9.0.0", "install", 60.0)
        report(rollout, row, "installed")
        assert told(row) is None
    assert len([row for row in devices if told(row)]) == 0
    assert advance(rollout, 50).phase == 0
    assert advance(rollout, 101).phase == 1
    advance(rollout, 102)
    assert len(asked(rollout)) == 8
    for row in devices:
        report(rollout, row, "installed", seconds=120)
    assert advance(rollout, 150).state == RUNNING
    assert advance(rollout, 219).state == RUNNING, "watched since somebody of the phase has it"
    assert advance(rollout, 300).state == DONE
    assert rollout.figures["installed"] == 8


def test_a_phase_waits_for_somebody_who_has_it() -> None:
    fleet(4)
    rollout = advance(start())
    (row,) = asked(rollout)
    report(rollout, row, "waiting", Reason("updates.asks_owner", "ask"))
    assert advance(rollout, 1000).phase == 0
    assert told(row) is not None


def in_second_phase() -> tuple[AgentRollout, list[Device]]:
    """Those that are asked there are all offline."""
    fleet(8)
    rollout = advance(start(absent_s=1000.0))
    first = asked(rollout)
    for row in first:
        report(rollout, row, "installed")
    advance(rollout, 101)
    others = Device.objects.exclude(pk__in=[row.pk for row in first])
    others.update(present_until=later(50))
    return advance(rollout, 102), list(others)


def test_a_phase_whose_devices_are_all_offline_is_not_passed_over() -> None:
    rollout, absent = in_second_phase()
    assert (rollout.phase, rollout.figures["phase_absent"], rollout.reason_code) == (1, 6, "agent_rollouts.unanswered")
    assert advance(rollout, 500).state == RUNNING, "although those of the phase before have it"
    assert rollout.reason_sentence.startswith(
        "none of the 6 devices of this phase (100%) has it, 0 have answered, 6 are absent; it waits for them since "
    )
    Device.objects.filter(pk=absent[0].pk).update(present_until=later(3600))
    report(rollout, absent[0], "installed", seconds=600)
    assert advance(rollout, 699).state == RUNNING
    assert advance(rollout, 700).state == DONE


def test_it_pauses_by_itself_when_it_has_waited_long_enough() -> None:
    rollout, _ = in_second_phase()
    assert advance(rollout, 1100).state == RUNNING
    assert advance(rollout, 1101).state == PAUSED
    assert rollout.reason_code == "agent_rollouts.gave_up"
    assert "6 are absent since" in rollout.reason_sentence
    services.resume_agent_rollout(rollout=rollout, now=later(1200))
    assert advance(rollout, 1201).reason_code == "agent_rollouts.unanswered"


def test_a_phase_that_nobody_takes_is_not_waited_for() -> None:
    rollout, absent = in_second_phase()
    for row in absent:
        report(rollout, row, "refused", REFUSES)
    assert advance(rollout, 250).state == DONE


def test_an_operator_passes_a_phase_and_that_is_audited() -> None:
    fleet(8)
    rollout = advance(start(absent_s=10.0))
    assert advance(rollout, 11).state == PAUSED
    services.pass_phase(rollout=rollout, why="they are in a cupboard", now=later(20))
    assert (rollout.state, rollout.phase, rollout.reason_code) == (RUNNING, 1, "agent_rollouts.went_on")
    assert Entry.objects.filter(action="agent_rollouts.pass_phase").exists()
    advance(rollout, 21)
    assert len(asked(rollout)) == 8
    with pytest.raises(LastPhase):
        services.pass_phase(rollout=rollout, now=later(22))


def test_who_cannot_is_not_asked_and_the_reason_is_counted() -> None:
    device("old", updates=None)
    device("off", updates={"refuses": {"code": "updates.off", "sentence": "no"}})
    device("newer", agent="9.0.0")
    able = device("able")
    rollout = advance(start(phases=[1.0]))
    assert asked(rollout) == [able]
    assert rollout.figures["left_out"] == {"updates.unknown": 1, "updates.off": 1, "updates.not_newer": 1}


def test_where_nobody_can_it_says_so() -> None:
    device("old", updates=None)
    rollout = advance(start())
    assert (rollout.state, rollout.reason_code) == (RUNNING, "agent_rollouts.nobody")


def test_where_nothing_is_to_be_asked_no_device_is_read() -> None:
    fleet(8)
    rollout = advance(start())
    with CaptureQueriesContext(connection) as queries:
        advance(rollout, 1)
    assert len(asked(rollout)) == 2
    assert [query["sql"] for query in queries if "capabilities" in query["sql"]] == []


def test_devices_of_a_tag_or_a_single_one() -> None:
    here, there = device("here", tags=("lab",)), device("there")
    rollout = advance(start(tag="lab", phases=[1.0]))
    assert asked(rollout) == [here]
    services.stop_agent_rollout(rollout=rollout, now=NOW)
    assert asked(advance(start(device=there))) == [there]


def test_devices_that_go_back_by_themselves_end_it() -> None:
    fleet(8)
    rollout = advance(start())
    first, second = asked(rollout)
    report(rollout, first, "installed")
    report(rollout, second, "rolled_back", CRASHED)
    assert advance(rollout, 2).state == ROLLED_BACK
    assert rollout.reason_code == "agent_rollouts.failing"
    assert rollout.reason_sentence == "1 of 2 devices fail with it: it ended by itself"
    update = told(first)
    assert update is not None
    assert update.to_do == "return"
    assert report(rollout, first, "rolled_back", Reason("updates.withdrawn", "back")).state == "returned"
    assert told(first) is None
    assert told(second) is None


def test_a_few_failures_are_borne() -> None:
    devices = fleet(6)
    rollout = advance(start(phases=[1.0]))
    for row in devices[1:]:
        report(rollout, row, "installed")
    report(rollout, devices[0], "rolled_back", CRASHED)
    assert advance(rollout, 2).state == RUNNING


def all_installed_and_half_silent() -> AgentRollout:
    """A roll-out that four devices have; two have not been heard of since the first second."""
    devices = fleet(4)
    rollout = advance(start(phases=[1.0]))
    for row in devices:
        report(rollout, row, "installed")
    assert advance(rollout, 2).state == RUNNING
    Device.objects.filter(pk__in=[row.pk for row in devices[:2]]).update(present_until=later(1))
    return rollout


def test_devices_that_fall_silent_with_it_end_it() -> None:
    record_pulse(NOW)
    rollout = all_installed_and_half_silent()
    assert advance(rollout, 60).state == RUNNING, "it has the time of its probation"
    assert advance(rollout, 62).state == ROLLED_BACK
    assert "not checked in" in rollout.reason_sentence


def test_devices_that_cannot_reach_a_platform_that_was_down_are_not_silent() -> None:
    record_pulse(NOW)
    rollout = all_installed_and_half_silent()
    record_pulse(later(90))
    assert advance(rollout, 95).state == RUNNING


def test_what_an_owner_refuses_says_nothing_of_the_release() -> None:
    devices = fleet(2)
    rollout = advance(start(phases=[1.0]))
    report(rollout, devices[0], "refused", REFUSES)
    report(rollout, devices[1], "installed")
    assert advance(rollout, 2).state == RUNNING


def test_a_release_that_cannot_be_verified_ends_it() -> None:
    (row,) = fleet(1)
    rollout = advance(start(phases=[1.0]))
    report(rollout, row, "refused", Reason("updates.altered", "not what was signed"))
    assert advance(rollout, 2).state == ROLLED_BACK


def test_devices_that_fail_more_in_rounds_than_before_end_it() -> None:
    (row,) = fleet(1)
    pair = make_pair()
    version = make_version(pair)
    federation = make_federation(pair)
    rollout = advance(start(phases=[1.0]))
    report(rollout, row, "installed", seconds=10)

    def part(number: int, state: str, at: float) -> None:
        round_ = Round.objects.create(
            federation=federation, number=number, state="abandoned", seed=1, base_version=version, opens_at=NOW
        )
        Assignment.objects.create(
            round=round_,
            device=row,
            base_version=version,
            state=state,
            seed=1,
            offered_at=later(at),
            changed_at=later(at),
        )

    for number in range(5):
        part(100 + number, "delivered", -60)
        part(200 + number, "dropped", 60)
    assert advance(rollout, 70).state == ROLLED_BACK
    assert rollout.reason_sentence == "100% of the rounds of its devices fail, 0% of them did before"


def test_it_is_paused_and_goes_on() -> None:
    fleet(8)
    rollout = advance(start())
    row = asked(rollout)[0]
    services.pause_agent_rollout(rollout=rollout)
    assert (rollout.state, told(row)) == (PAUSED, None)
    assert advance(rollout, 1000).phase == 0
    services.resume_agent_rollout(rollout=rollout, now=later(1000))
    assert rollout.phase_since == later(1000)
    assert told(row) is not None


def test_it_is_stopped_and_who_has_it_keeps_it() -> None:
    fleet(8)
    rollout = advance(start())
    first, second = asked(rollout)
    report(rollout, first, "installed")
    services.stop_agent_rollout(rollout=rollout, now=NOW)
    assert (rollout.state, told(first), told(second)) == (STOPPED, None, None)
    for act in (services.stop_agent_rollout, services.roll_back_agent_rollout, services.resume_agent_rollout):
        with pytest.raises(AgentRolloutEnded):
            act(rollout=rollout, now=NOW)


def test_an_operator_rolls_it_back() -> None:
    fleet(4)
    rollout = advance(start())
    (row,) = asked(rollout)
    report(rollout, row, "installed")
    services.roll_back_agent_rollout(rollout=rollout, now=NOW)
    update = told(row)
    assert (rollout.state, update and update.to_do) == (ROLLED_BACK, "return")


def test_its_end_is_delivered() -> None:
    create_webhook(name="ops", url="https://8.8.8.8/hook", events=[Event.AGENT_ROLLOUT_ENDED], now=NOW)
    services.stop_agent_rollout(rollout=start(), now=NOW)
    assert Delivery.objects.get().event == Event.AGENT_ROLLOUT_ENDED


def test_only_what_devices_would_take_is_rolled_out(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(UnknownRelease):
        services.start_agent_rollout(version="9.0.1", now=NOW, **TERMS)
    with pytest.raises(ReleasesExpired):
        services.start_agent_rollout(version="9.0.0", now=NOW + timedelta(days=3), **TERMS)
    published_in(tmp_path / "nothing", settings)
    with pytest.raises(NoReleases):
        start()


@pytest.mark.parametrize("phases", [[], [0.0, 1.0], [0.5, 0.5], [0.5, 0.2], [1.1]])
def test_phases_grow(phases: list[float]) -> None:
    with pytest.raises(BadPhases):
        start(phases=phases)


def test_one_at_a_time() -> None:
    start()
    with pytest.raises(AgentRolloutUnderWay):
        start()


@pytest.mark.parametrize("update", ["", "no-key", "9f0c9d0e-0000-4000-8000-000000000000"])
def test_who_was_not_asked_tells_nothing(update: str) -> None:
    from coterie.agent_rollouts.reporting import record_update
    from coterie_wire.updating import ReportUpdate

    with pytest.raises(UnknownUpdate):
        record_update(device=device("one"), report=ReportUpdate(update=update, outcome="installed"), now=NOW)
    assert not DeviceUpdate.objects.exists()
