"""Connections for which there is no descriptor do not fill the log."""

import asyncio
import errno
import logging

import pytest

from coterie.config.serving import log_failure
from coterie_wire import limit_log
from coterie_wire.limit_log import LimitLog


async def test_missing_descriptors_are_told_of_once_and_other_failures_each_time(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coterie.config.serving.LIMIT_LOG", LimitLog())
    loop = asyncio.get_running_loop()
    with caplog.at_level(logging.WARNING):
        for _ in range(1000):
            log_failure(loop, {"message": "accept", "exception": OSError(errno.EMFILE, "too many open files")})
        assert [record.name for record in caplog.records] == [limit_log.__name__]
        log_failure(loop, {"message": "something else", "exception": ValueError("x")})
        log_failure(loop, {"message": "something else", "exception": ValueError("x")})
    assert [record.name for record in caplog.records[1:]] == ["asyncio", "asyncio"]
