"""Fleets as their profiles have them, and as a trace had them: by day and week, by class, and how often lost."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie.simulation.clock import DAY_S, HOUR_S
from coterie.simulation.errors import MalformedFile, UnknownProfile
from coterie.simulation.fleet.columns import Traits
from coterie.simulation.fleet.profile import DeviceClass, FleetProfile, read_profile, shipped_profiles
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.progress import unreported
from coterie.simulation.scenario import Habits, Speed
from coterie.twin.errors import NoHistory
from coterie.twin.trace import ReadyInterval, Trace, TracedPart
from coterie_wire.conditions import Requirements
from tests.coterie.simulation.fleet.fleets import run

BOTH = Requirements(charging=True, unmetered=True)
SATURDAY = 5


def traits(fleet: FleetProfile | Trace, devices: int = 500) -> Traits:
    return Traits.draw(fleet, BOTH, devices=devices, seed=1)


def shipped(name: str) -> FleetProfile:
    found = read_profile(name)
    assert isinstance(found, FleetProfile)
    return found


def trace(lasts_s: float = DAY_S, **changes: object) -> Trace:
    """Device 0 is quick and there by night, device 1 slow and there by day; device 2 delivered nothing."""
    quick = [TracedPart(0, 0.0, "delivered", 10.0, 2.0, 4.0, 2, 20, 4000) for _ in range(12)]
    slow = [TracedPart(1, 0.0, "delivered", 60.0, 40.0, 8.0, 2, 20, 4000) for _ in range(12)]
    lost = [TracedPart(1, 0.0, "lost", 5.0) for _ in range(12)]
    spans = [ReadyInterval(0, 0.0, 8 * HOUR_S), ReadyInterval(1, 8 * HOUR_S, DAY_S), ReadyInterval(2, 0.0, HOUR_S)]
    told = {"parts": [*quick, *slow, *lost], "spans": spans, **changes}
    return Trace("2026-01-05T00:00:00+00:00", lasts_s, 3, 3, 10, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", shipped_profiles())
def test_every_shipped_profile_is_one_and_says_what_is_assumed(name: str) -> None:
    assert isinstance(shipped(name), FleetProfile)
    said = shipped_profiles()[name].read_text()
    assert "assumed" in said and ("arXiv" in said or "MobiSys" in said)


def test_phones_are_there_at_night_and_later_at_weekends() -> None:
    there = traits(shipped("phones")).availability
    share = {hour: there.ready(hour * HOUR_S).mean() for hour in (1, 12, 4 * 24 + 9, SATURDAY * 24 + 9)}
    assert share[1] > 4 * max(share[12], 0.01), "at least four times as many by night (Bonawitz et al. 2019)"
    assert share[SATURDAY * 24 + 9] > share[4 * 24 + 9] + 0.2


def test_a_week_of_one_device_is_that_of_the_fleet() -> None:
    there = traits(shipped("phones"), 20).availability
    (day,) = there.days(np.array([7]))
    assert len(day.ready) == 7 * 96
    for time_s in np.arange(0, 9 * DAY_S, 2 * HOUR_S + 900):
        assert day.is_ready(time_s) == there.ready(time_s)[7]
    assert day.done_at(0.0, 40 * DAY_S) > 40 * DAY_S


def test_a_fleet_without_weekends_is_the_same_on_every_day() -> None:
    there = traits(FleetProfile(habits=Habits(charging=(22, 6), spread_h=2))).availability
    assert (there.ready(3 * HOUR_S) == there.ready(3 * HOUR_S + SATURDAY * DAY_S)).all()
    assert len(there.days(np.array([0]))[0].ready) == 96


def test_classes_have_their_shares_and_speeds() -> None:
    one, other = DeviceClass("a", 0.25, 2.0, 10.0, 20.0), DeviceClass("b", 0.75, 8.0, 30.0, 40.0)
    found = traits(FleetProfile(speed=Speed(spread=0.0), classes=[one, other]), 2000)
    of_a = found.uplink_bytes_s == 10.0
    assert 0.2 < of_a.mean() < 0.3
    assert set(found.slowness[of_a]) == {2.0} and set(found.slowness[~of_a]) == {8.0}
    assert set(found.downlink_bytes_s[~of_a]) == {40.0}


def test_devices_that_get_lost_are_replaced_and_their_share_is_that_of_the_profile() -> None:
    steady, flaky = (
        simulate_fleet(replace(run(rounds=6), fleet=FleetProfile(lost_share=share)), report=unreported)
        for share in (0.0, 0.4)
    )
    asked, lost = (sum(getattr(one, what) for one in flaky.rounds) for what in ("invited", "lost"))
    assert sum(one.lost for one in steady.rounds) == 0
    assert 0 < lost / asked < 0.6
    assert [one.outcome for one in flaky.rounds] == ["merged"] * 6
    assert flaky.simulated_s > steady.simulated_s


def test_a_slow_link_makes_rounds_longer() -> None:
    link = DeviceClass("thin", 1.0, uplink_bytes_s=1000.0, downlink_bytes_s=1000.0)
    thin, usual = (
        simulate_fleet(replace(run(rounds=2), fleet=one), report=unreported)
        for one in (FleetProfile(classes=[link]), FleetProfile())
    )
    assert thin.simulated_s > usual.simulated_s + 2


def test_devices_of_a_trace_do_as_they_did() -> None:
    found = traits(trace(), 6)
    assert found.slowness[0] * Speed().sample_s == pytest.approx(0.1)
    assert found.slowness[1] * Speed().sample_s == pytest.approx(2.0)
    assert found.slowness[3] == found.slowness[0] and found.slowness[2] in found.slowness[:2]
    assert list(found.uplink_bytes_s[:2]) == [1000.0, 500.0]
    assert list(found.waits_s[:2]) == pytest.approx([4.0, 12.0])
    assert found.lost[1] > 0.4 > 0.1 > found.lost[0] > 0
    assert found.availability.ready(2 * HOUR_S)[:3].tolist() == [True, False, False]
    assert found.availability.ready(DAY_S + 12 * HOUR_S)[:3].tolist() == [False, True, False]


def test_a_week_of_trace_is_a_week_and_the_same_hour_of_two_days_may_differ() -> None:
    found = traits(trace(7 * DAY_S), 3).availability
    assert found.ready(2 * HOUR_S)[0] and not found.ready(DAY_S + 2 * HOUR_S)[0]
    assert len(found.days(np.array([0]))[0].ready) == 7 * 96


def test_a_plan_runs_on_a_trace_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "fleet.json"
    path.write_bytes(msgspec.json.encode(trace(spans=[ReadyInterval(one, 0.0, DAY_S) for one in range(3)])))
    outcome = simulate_fleet(replace(run(rounds=2), fleet=read_profile(str(path))), report=unreported)
    assert [one.outcome for one in outcome.rounds] == ["merged", "merged"]
    assert sum(one.invited for one in outcome.rounds) >= 2 * 12


def test_what_is_no_fleet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownProfile, match="phones"):
        read_profile("no-such-fleet")
    with pytest.raises(UnknownProfile, match="the nearest is kiosks;"):
        read_profile("kiosk")
    path = tmp_path / "fleet.toml"
    path.write_text('[[classes]]\nname = "a"\nshare = 0.5\n')
    with pytest.raises(MalformedFile, match=r"0\.5"):
        read_profile(str(path))
    with pytest.raises(NoHistory):
        traits(trace(parts=[]))
