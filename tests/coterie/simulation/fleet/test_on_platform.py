"""Runs as a platform's work, as whoever asks for them sees it; `tests/system` has real workers."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import httpx
import msgspec
import pytest

from coterie.simulation.errors import NoAnswer, RunCancelled, RunFailed
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.on_platform import PATIENCE_S, OnPlatform
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.shared import wanted_of
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.progress import unreported
from tests.coterie.simulation.fleet.fleets import run


@cache
def runs() -> list[FleetRun]:
    return [replace(run(), seed=seed) for seed in (0, 1)]


@cache
def outcome() -> FleetOutcome:
    """Of either, says the platform."""
    return simulate_fleet(run(), report=unreported)


def done() -> dict[str, str]:
    return {"outcome": msgspec.json.encode(outcome()).decode()}


def state(number: int, state: str, progress: float = 0.0, **more: object) -> dict[str, object]:
    return {"id": f"r{number}", "state": state, "progress": progress, "reason_code": "", "reason_sentence": "", **more}


class Scripted:
    """A platform that says what it is told to, in order."""

    def __init__(self, *answers: object) -> None:
        self.asked: list[str] = []
        self.slept_s = 0.0
        self.said: list[str] = []
        self._answers: Iterator[object] = iter(answers)
        http = httpx.Client(base_url="http://there/api/", transport=httpx.MockTransport(self._answer))
        self.runner = OnPlatform(http, sleep=self._sleep, say=self.said.append)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.asked.append(f"{request.method} {request.url.path.removeprefix('/api/')}")
        if request.url.path.endswith("/runs/"):
            wanted = [msgspec.to_builtins(wanted_of(one)) for one in runs()]
            assert msgspec.json.decode(request.content) == {"runs": wanted}
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    def _sleep(self, seconds: float) -> None:
        self.slept_s += seconds


FLEET = {"id": "f"}


def test_it_asks_waits_and_gives_outcomes_in_order() -> None:
    told: list[float] = []
    platform = Scripted(
        FLEET,
        [state(0, "queued"), state(1, "running", 0.5)],
        {"results": [state(1, "succeeded", 1.0), state(0, "running", 1 / 3)]},
        done(),
        {"results": [state(1, "succeeded", 1.0), state(0, "succeeded", 1.0)]},
        done(),
    )
    assert [one.json() for one in platform.runner.outcomes(runs(), told.append)] == [outcome().json()] * 2
    assert told == [1.5, 4.0, 6.0]
    assert platform.asked == [
        "POST simulated-fleets/",
        "POST simulated-fleets/f/runs/",
        "GET simulation-runs/",
        "GET simulation-runs/r1/",
        "GET simulation-runs/",
        "GET simulation-runs/r0/",
    ]


def test_what_is_done_already_is_not_waited_for() -> None:
    platform = Scripted(FLEET, [state(0, "succeeded", 1.0), state(1, "succeeded", 1.0)], done(), done())
    assert [one.json() for one in platform.runner.outcomes(runs(), lambda _: None)] == [outcome().json()] * 2
    assert not platform.slept_s


def test_a_platform_that_is_started_anew_is_asked_again() -> None:
    platform = Scripted(
        httpx.ConnectError("refused"),
        FLEET,
        httpx.Response(503),
        [state(0, "succeeded", 1.0), state(1, "succeeded", 1.0)],
        done(),
        done(),
    )
    assert [one.json() for one in platform.runner.outcomes(runs(), lambda _: None)] == [outcome().json()] * 2
    gone = Scripted(*[httpx.ConnectError("refused")] * 1000)
    with pytest.raises(NoAnswer, match="refused"):
        gone.runner.outcomes(runs(), lambda _: None)
    assert gone.slept_s == PATIENCE_S


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([FLEET, [state(0, "failed", reason_sentence="no memory"), state(1, "queued")]], "no memory"),
        ([FLEET, [state(0, "queued"), state(1, "queued")], {"results": [state(1, "queued")]}], "removed"),
        ([httpx.Response(403, json={"code": "acting.role_needed", "detail": "no"})], "acting.role_needed"),
    ],
)
def test_a_run_that_fails_ends_it(answers: list[object], told: str) -> None:
    with pytest.raises(RunFailed, match=told):
        Scripted(*answers).runner.outcomes(runs(), lambda _: None)


def test_a_run_that_somebody_cancels_ends_it() -> None:
    cancelled = state(0, "cancelled", reason_sentence="ada cancelled it")
    with pytest.raises(RunCancelled, match="ada cancelled it"):
        Scripted(FLEET, [cancelled, state(1, "running")]).runner.outcomes(runs(), lambda _: None)


def test_an_outcome_of_another_release_is_told() -> None:
    answers = (FLEET, [state(0, "succeeded", 1.0), state(1, "succeeded", 1.0)], {"outcome": '{"devices": 9}'})
    with pytest.raises(RunFailed, match="of a release whose outcomes are others"):
        Scripted(*answers).runner.outcomes(runs(), lambda _: None)


def test_an_answer_that_is_no_platforms_is_told() -> None:
    with pytest.raises(NoAnswer, match="not from a platform"):
        Scripted(httpx.Response(200, text="<html>")).runner.outcomes(runs(), lambda _: None)


def test_it_says_once_why_runs_wait() -> None:
    away = "it goes on 5 s from now: The file storage does not answer"
    waits = state(0, "queued", reason_code="storage.unavailable", reason_sentence=away)
    platform = Scripted(
        FLEET,
        [waits, state(1, "queued")],
        {"results": [waits, state(1, "queued")]},
        {"results": [state(1, "succeeded", 1.0), state(0, "succeeded", 1.0)]},
        done(),
        done(),
    )
    platform.runner.outcomes(runs(), lambda _done: None)
    assert platform.said == [f"a run waits, {away}"]
