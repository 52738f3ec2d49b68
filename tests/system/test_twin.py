"""The twin on rounds of eight real agents with scripted conditions; the benchmark has the figures."""

import pytest

from tests.benchmarks.twin import AGENTS, record, second_half


@pytest.mark.long
def test_rounds_of_real_agents_are_forecast_from_those_before() -> None:
    live = record(rounds=16)
    assert live.trace.devices == AGENTS
    assert {part.device for part in live.trace.parts} == set(range(AGENTS)), "each took part"
    assert all(part.train_s > 0 for part in live.trace.parts if part.ending == "delivered")
    half = second_half(live)
    assert len(half.duration_s) == 8
    assert all(0 < one.low <= one.middle <= one.high for one in half.duration_s)
    assert [one["rounds"] for one in live.calibration if one["figure"] == "duration_s"] != [0]
