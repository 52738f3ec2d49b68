"""Rounds that are held with a fleet's past: the same where nothing is different, honest where it is."""

from dataclasses import replace
from math import log

import msgspec
import numpy as np
import pytest

from coterie.twin.calibration import ComparedForecast, calibrated
from coterie.twin.errors import NoHistory, NotReplayed
from coterie.twin.replay import Always, Past, Ready, Rounds, check_replayed, forecast
from coterie.twin.trace import ReadyInterval, Trace, TracedPart
from coterie_learning.plan import Plan, parse_plan

BYTES = 1000
DEVICES = 40


def plan(**pace: object) -> Plan:
    wanted = {"target_updates": 10, "over_selection": 1.3, "min_updates": 3, "deadline_s": 600, **pace}
    return parse_plan({"pace": {"kind": "sync", **wanted}, "local": {"kind": "sgd", "epochs": 1}})


def part(device: int, lasted_s: float = 10.0, ending: str = "delivered", **more: float) -> TracedPart:
    told = {"train_s": lasted_s / 2, "upload_s": lasted_s / 5, "steps": 2, "samples": 20, "sent_bytes": 1000, **more}
    return TracedPart(device, 0.0, ending, lasted_s, *told.values())  # type: ignore[arg-type]


def past(parts: list[TracedPart], devices: int = DEVICES) -> Past:
    return Past.of(Trace("2026-01-01T00:00:00+00:00", 1000.0, devices, devices, 10, (), parts))


def hold(past: Past, plan: Plan, update_bytes: int = BYTES, seed: int = 0, devices: int = DEVICES) -> tuple[float, int]:
    rounds = Rounds(plan, past, Always(range(devices)), update_bytes, seed)
    held = rounds.hold(1, at_s=0.0, rng=np.random.default_rng(seed))
    return held.lasted_s, held.delivered


def test_a_fleet_that_always_takes_ten_seconds_takes_ten_seconds() -> None:
    same = past([part(device) for device in range(DEVICES)])
    assert hold(same, plan()) == (pytest.approx(10.0), 13)
    found = forecast(plan(), same, range(DEVICES), BYTES, number=1, seed=0)
    assert found.duration_s == pytest.approx((10.0, 10.0, 10.0))
    assert (found.lost.high, found.up_bytes.middle) == (0.0, 13_000.0)


def test_training_scales_with_steps_and_sending_with_bytes_and_nothing_else_does() -> None:
    same = past([part(device) for device in range(DEVICES)])
    thrice = msgspec.structs.replace(plan(), local=parse_plan({"local": {"kind": "sgd", "epochs": 3}}).local)
    assert hold(same, thrice)[0] == pytest.approx(10.0 + 2 * 5.0)
    assert hold(same, plan(), 4000)[0] == pytest.approx(10.0 + 3 * 2.0)


def test_devices_that_get_lost_are_replaced_and_without_any_the_round_waits_for_its_deadline() -> None:
    flaky = past([part(device, 5.0) if device % 2 else part(device, 2.0, "lost") for device in range(DEVICES)])
    held = Rounds(plan(), flaky, Always(range(DEVICES)), BYTES, 0).hold(1, at_s=0.0, rng=np.random.default_rng(1))
    assert held.lost > 0 and held.delivered >= 10 and held.asked > 13
    few = Rounds(plan(), flaky, Always([0, 2]), BYTES, 0).hold(1, at_s=0.0, rng=np.random.default_rng(1))
    assert (few.lasted_s, few.is_merged) == (600.0, False)


def test_a_part_that_was_late_lasts_longer_than_it_was_seen_to() -> None:
    parts = [part(device, 10.0) for device in range(20)] + [part(device, 50.0) for device in range(20, 40)]
    late = past([*parts, *(part(device, 20.0, "late") for device in range(20))])
    rng = np.random.default_rng(0)
    drawn = [late.drawn(0, plan(), BYTES, rng) for _ in range(400)]
    assert not any(is_lost for _, is_lost in drawn)
    seconds = [seconds for seconds, _ in drawn]
    assert {10.0, 50.0} < set(seconds)
    assert min(one for one in seconds if one != 10.0) >= 20.0, "never sooner than was seen"
    assert 25 < np.median([one for one in seconds if one not in (10.0, 50.0)]) < 60


def test_a_device_with_a_past_does_mostly_as_it_did() -> None:
    own = [part(0, 100.0)] * 18 + [part(device, 1.0) for device in range(1, DEVICES)]
    rng, given = np.random.default_rng(0), past(own)
    slow, other = (
        np.mean([given.drawn(device, plan(), BYTES, rng)[0] > 50 for _ in range(500)]) for device in (0, DEVICES - 1)
    )
    assert slow > 0.9 and other < 0.5


def world(seed: int, *, rounds: int = 50, slower: float = 1.0) -> tuple[Past, list[ComparedForecast]]:
    """A fleet with devices of their own speed; its rounds are forecast from the ones before, then held."""
    rng = np.random.default_rng(seed)
    speed = np.exp(rng.normal(log(20.0), 0.5, DEVICES))
    parts: list[TracedPart] = []
    judged: list[ComparedForecast] = []
    for number in range(1, 21 + rounds):
        asked = [int(one) for one in rng.permutation(DEVICES)[:13]]
        factor = slower if number > 20 else 1.0
        lasts = {device: float(factor * speed[device] * np.exp(rng.normal(0, 0.3))) for device in asked}
        took = sorted(lasts.values())[9]
        if number > 20:
            given = forecast(plan(), past(parts), range(DEVICES), BYTES, number=number, seed=seed)
            judged.append(ComparedForecast(*given.duration_s, took))
        for device, lasted_s in lasts.items():
            ending = "delivered" if lasted_s <= took else "late"
            parts.append(part(device, min(lasted_s, took), ending))
    return past(parts), judged


@pytest.mark.long
def test_four_of_five_rounds_lie_in_the_interval_and_in_a_holiday_they_do_not() -> None:
    """The control: the fleet becomes three times as slow, which its past does not know; the forecasts are withdrawn."""
    _, judged = world(0, rounds=40)
    usual = calibrated(judged)
    assert usual.rounds == 40 and usual.is_believed
    assert usual.coverage is not None and 0.7 <= usual.coverage <= 0.9
    assert usual.median_error is not None and usual.median_error < 0.15
    _, holiday = world(0, rounds=12, slower=3.0)
    first = calibrated(holiday)
    assert first.coverage is not None and first.coverage < 0.65
    assert not first.is_believed and "do not rely" in first.sentence


def test_few_comparisons_prove_nothing() -> None:
    told = calibrated([ComparedForecast(1, 2, 3, 2)] * 9)
    assert (told.rounds, told.coverage, told.is_believed) == (9, None, False)
    assert calibrated([ComparedForecast(0, 0, 0, 0)] * 10).median_error is None


def test_the_same_arguments_give_the_same_forecast() -> None:
    given, _ = world(3, rounds=0)
    one, same, other = (forecast(plan(), given, range(DEVICES), BYTES, number=1, seed=seed) for seed in (1, 1, 2))
    assert one == same != other


def test_rounds_follow_one_another_while_anybody_is_ready() -> None:
    trace = Trace(
        "2026-01-01T00:00:00+00:00",
        7200.0,
        DEVICES,
        DEVICES,
        10,
        [ReadyInterval(device, 3600.0, 5400.0) for device in range(DEVICES)],
        [part(device) for device in range(DEVICES)],
    )
    held = Rounds(plan(pause_s=60), Past.of(trace), Ready(trace), BYTES, 0).several(rounds=100, until_s=trace.lasts_s)
    assert held[0].opened_s == 3600.0 and held[-1].opened_s < 5400.0
    assert all(one.is_merged for one in held)
    assert held[1].opened_s - held[0].opened_s == pytest.approx(held[0].lasted_s + 60)


def test_without_a_past_or_with_other_rounds_nothing_is_told() -> None:
    with pytest.raises(NoHistory):
        past([part(0)] * 19)
    with pytest.raises(NotReplayed, match="holds no rounds"):
        check_replayed(parse_plan({"pace": {"kind": "alone"}}))
    with pytest.raises(NotReplayed, match="different rounds"):
        check_replayed(parse_plan({"pace": {"kind": "buffered"}}))
    with pytest.raises(msgspec.ValidationError, match="device 3"):
        content = msgspec.json.encode(replace_devices([part(3)]))
        msgspec.json.decode(content, type=Trace)


def replace_devices(parts: list[TracedPart]) -> dict[str, object]:
    return {"begins_at": "x", "lasts_s": 1, "devices": 3, "members": 3, "batch_size": 1, "parts": parts}


def test_a_past_is_a_value() -> None:
    given = past([part(device) for device in range(DEVICES)])
    assert replace(given, batch_size=1).batch_size == 1
