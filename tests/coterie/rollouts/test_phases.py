"""A roll-out through phases: more devices at each, and back from any of them by itself."""

from datetime import datetime

import pytest

from coterie.rollouts.models import Rollout
from coterie.rollouts.reasons import measuring
from coterie.rounds.advancing import sweep
from coterie_wire.errors import WireError
from tests.coterie.rollouts.world import World, report
from tests.coterie.world import later

pytestmark = pytest.mark.django_db
PHASES = {"share": 0.1, "phases": [{"share": 0.5}, {"share": 1.0}], "reports": 1, "hold_s": 50.0}


def look(rollout: Rollout, now: datetime) -> Rollout:
    sweep(now=now)
    rollout.refresh_from_db()
    return rollout


def in_phase(world: World, rollout: Rollout, phase: int) -> list[str]:
    """Who was given the candidate in a phase, by name, in order."""
    return sorted(rollout.trials.filter(phase=phase).values_list("device__name", flat=True))


def tell(world: World, rollout: Rollout, phase: int, *, at: float, after: float = 0.8) -> None:
    names = in_phase(world, rollout, phase)
    for device in world.devices:
        if device.row.name in names:
            report(device, rollout, after=after, at=at)


def test_each_phase_has_more_devices_and_the_last_is_everybody() -> None:
    world = World(devices=10)
    rollout = world.start(**PHASES)
    assert (rollout.phase, len(in_phase(world, rollout, 0))) == (0, 1)
    assert rollout.reason() == measuring(group=1, reports=0, phase=0, phases=3)
    world.check_in(later(2))
    tell(world, rollout, 0, at=10)
    assert rollout.reason_sentence.startswith("phase 1 of 3: all 1 devices have told")
    assert (rollout.state, rollout.reason_code) == ("measuring", "rollouts.holding")
    assert look(rollout, later(50)).phase == 0
    assert look(rollout, later(51)).phase == 1
    assert len(in_phase(world, rollout, 1)) == 4
    assert rollout.reason_sentence == "phase 2 of 3: 0 of 4 devices have told how it does"
    told = world.check_in(later(52))
    assert sum(directive.trial is not None for directive in told.values()) == 4, "who has told is not asked again"
    assert sum(device.version == str(world.candidate.pk) for device in world.devices) == 5
    tell(world, rollout, 1, at=60)
    assert look(rollout, later(101)).phase == 2
    world.check_in(later(102))
    tell(world, rollout, 2, at=110)
    assert look(rollout, later(150)).state == "measuring"
    assert look(rollout, later(151)).state == "promoted"
    assert world.in_use() == world.candidate
    assert rollout.figures["devices"] == rollout.figures["reports"] == 10


def test_a_later_phase_that_does_worse_takes_all_of_them_back() -> None:
    world = World(devices=10)
    rollout = world.start(**PHASES)
    world.check_in(later(2))
    tell(world, rollout, 0, at=10)
    look(rollout, later(51))
    world.check_in(later(52))
    tell(world, rollout, 1, at=60, after=0.5)
    assert (rollout.state, rollout.reason_code, rollout.phase) == ("rolled_back", "rollouts.worse", 1)
    world.check_in(later(61))
    assert {device.version for device in world.devices} == {str(world.champion.pk)}


def test_silence_in_a_later_phase_is_no_consent() -> None:
    world = World(devices=10)
    rollout = world.start(**PHASES)
    world.check_in(later(2))
    tell(world, rollout, 0, at=10)
    look(rollout, later(51))
    world.check_in(later(150))
    assert look(rollout, later(150)).state == "measuring"
    assert (look(rollout, later(151)).state, rollout.reason_code) == ("rolled_back", "rollouts.too_few_reports")


def test_phases_for_which_there_are_no_further_devices_are_passed_over() -> None:
    world = World(devices=2)
    rollout = world.start(share=0.1, phases=[{"share": 0.2}, {"share": 0.3}, {"share": 1.0}], reports=1)
    world.check_in(later(2))
    tell(world, rollout, 0, at=10)
    assert (rollout.phase, len(in_phase(world, rollout, 3))) == (3, 1)
    world.check_in(later(11))
    tell(world, rollout, 3, at=12)
    assert rollout.state == "promoted"


def test_a_clock_that_is_set_back_lengthens_no_phase() -> None:
    world = World(devices=10)
    rollout = world.start(**PHASES, absent_s=0)
    world.check_in(later(2))
    tell(world, rollout, 0, at=10)
    look(rollout, later(51))
    look(rollout, later(-10_000))
    assert rollout.due_at == later(-9_900)
    assert look(rollout, later(-9_900)).state == "rolled_back"


def test_a_phase_is_watched_and_judged_by_what_was_set_for_it() -> None:
    world = World(devices=10)
    own = {"share": 0.5, "hold_s": 200.0, "within_s": 300.0, "threshold": 0.01}
    rollout = world.start(**PHASES | {"phases": [own, {"share": 1.0}], "absent_s": 0})
    world.check_in(later(2))
    tell(world, rollout, 0, at=10, after=0.795)
    assert (look(rollout, later(51)).phase, rollout.due_at) == (1, later(351))
    world.check_in(later(52))
    look(rollout, later(-10_000))
    assert rollout.due_at == later(-9_700), "a clock that is set back lengthens it by no more than its own time"
    tell(world, rollout, 1, at=-9_900, after=0.795)
    assert look(rollout, later(-9_801)).phase == 1, "which the first would have ended"
    world.check_in(later(-9_801))
    assert look(rollout, later(-9_800)).phase == 2
    assert rollout.due_at == later(-9_700), "as for the first"


def test_a_phase_takes_back_what_the_one_before_bore() -> None:
    world = World(devices=10)
    rollout = world.start(**PHASES | {"phases": [{"share": 0.5, "threshold": 0.01}]})
    world.check_in(later(2))
    tell(world, rollout, 0, at=10, after=0.77)
    assert look(rollout, later(51)).phase == 1
    world.check_in(later(52))
    tell(world, rollout, 1, at=60, after=0.77)
    assert (rollout.state, rollout.reason_code) == ("rolled_back", "rollouts.worse")


def test_terms_that_do_not_fit_are_refused() -> None:
    with pytest.raises(WireError, match="larger share"):
        World().start(share=0.5, phases=[{"share": 0.2}])
