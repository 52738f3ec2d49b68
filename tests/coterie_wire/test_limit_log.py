"""An offender is told of once, not a million times."""

import logging

import pytest

from coterie_wire import limit_log
from coterie_wire.limit_log import LOG_INTERVAL_S, LimitLog


def test_each_offence_of_each_address_is_told_once_in_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    seen = LimitLog(lambda: now)
    with caplog.at_level(logging.WARNING):
        for _ in range(1000):
            seen.log("192.0.2.1", "gateway.head_too_large")
            seen.log("192.0.2.2", "gateway.head_too_large")
        assert len(caplog.records) == 2
        now = LOG_INTERVAL_S
        seen.log("192.0.2.1", "gateway.head_too_large")
    assert "999 more" in caplog.records[-1].getMessage()


def test_however_many_come_memory_is_bounded(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_log, "REMEMBERED", 2)
    seen = LimitLog(lambda: 0.0)
    for address in ("a", "b", "c", "a"):
        seen.log(address, "x")
    assert len(caplog.records) == 4, "the first was forgotten for the third"
