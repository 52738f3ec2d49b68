"""A candidate that answers beside the champion: nobody is shown its answers, and agreement and latency come home."""

import pytest

from coterie.fleet.models import Device
from coterie.rollouts import device_api
from coterie.rounds.advancing import sweep
from coterie_wire.latency import Histogram
from coterie_wire.messages import Directive
from coterie_wire.trial import ReportTrial, Shadowed
from tests.coterie.rollouts.world import World, comparison, follow
from tests.coterie.world import ScriptedDevice, later

pytestmark = pytest.mark.django_db
SHADOW_S = 50.0


def let_shadow() -> None:
    """Every device can."""
    for device in Device.objects.all():
        device.capabilities = {**device.capabilities, "shadows": True}
        device.save()


def told(device: ScriptedDevice, agreement: float | None, *, after: float = 0.8, at: float = 60) -> None:
    durations = Histogram((*(0,) * 40, 1000)), Histogram((*(0,) * 44, 1000))
    beside = None if agreement is None else Shadowed(agreement, *durations)
    rollout = device.row.trials.get().rollout
    report = ReportTrial(rollout=str(rollout.pk), compared=comparison(before=0.8, after=after), shadowed=beside)
    device_api.report_trial(device.row, report, later(at))


@pytest.mark.long
def test_the_group_holds_the_champion_while_the_candidate_answers_and_figures_come_home() -> None:
    world = World()
    let_shadow()
    rollout = world.start(shadow_within_s=SHADOW_S)
    assert rollout.state == "measuring"
    group = world.group(rollout)
    directives: dict[str, Directive] = world.check_in(later(2))
    for device in world.devices:
        directive = directives[device.row.name]
        assert device.version == str(world.champion.pk), "nobody holds the candidate"
        assert directive.trial is None
        assert (directive.shadow is not None) == (device in group)
        if directive.shadow is not None:
            assert 45 < directive.shadow.remaining_s < SHADOW_S
    over = follow(group[0], later(60)).shadow
    assert over is not None and over.remaining_s == 0
    told(group[0], 0.9)
    assert follow(group[0], later(61)).shadow is None
    told(group[1], 0.7)
    world.check_in(later(62))
    sweep(now=later(63))
    rollout.refresh_from_db()
    assert (rollout.state, rollout.figures["shadowed"]) == ("promoted", 2)
    assert rollout.figures["agreement"] == pytest.approx(0.8)
    assert rollout.figures["candidate_p99_s"] == pytest.approx(2 * rollout.figures["champion_p99_s"])
    assert rollout.figures["champion_p50_s"] == pytest.approx(2 ** (40.5 / 4) / 1e6)


def test_devices_that_cannot_are_not_asked() -> None:
    world = World()
    rollout = world.start(shadow_within_s=SHADOW_S)
    assert (rollout.state, rollout.reason_code) == ("planned", "rollouts.needs_devices")


def test_a_candidate_that_does_worse_unseen_is_rolled_back_without_having_been_held() -> None:
    world = World()
    let_shadow()
    rollout = world.start(shadow_within_s=SHADOW_S)
    world.check_in(later(2))
    for device in world.group(rollout):
        told(device, None, after=0.2)
    world.check_in(later(61))
    rollout.refresh_from_db()
    assert (rollout.state, "agreement" in rollout.figures) == ("rolled_back", False)
    assert {device.version for device in world.devices} == {str(world.champion.pk)}


@pytest.mark.long
def test_time_to_report_comes_after_the_time_in_which_it_answers() -> None:
    world = World()
    let_shadow()
    rollout = world.start(shadow_within_s=SHADOW_S, within_s=10)
    world.check_in(later(40))
    rollout.refresh_from_db()
    assert rollout.state == "measuring"
    world.check_in(later(62))
    rollout.refresh_from_db()
    assert rollout.reason_code == "rollouts.too_few_reports"
