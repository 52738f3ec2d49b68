"""Runs on a platform's Celery workers: rows in its database, so that none is lost with a worker or this process.

The same runs of the same fleet are the same rows: a request that is repeated finds earlier results.
"""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Literal, TypeVar

import httpx
import msgspec

from coterie.core.login import Login
from coterie.simulation.errors import NoAnswer, RunCancelled, RunFailed
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.runner import ReportRounds
from coterie.simulation.fleet.shared import encode_fleet, wanted_of
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json

T = TypeVar("T")
AT_ONCE = 500
"""Runs in one request."""
POLL_S = 1.0
PATIENCE_S = 120.0
"""Seconds of retries while a platform does not answer, e.g. during a restart."""
NOT_NOW = (429, 502, 503, 504)
TIMEOUT = httpx.Timeout(30.0, read=300.0, write=300.0)


def client_of(login: Login) -> httpx.Client:
    """An HTTP client for the platform of `login`; the caller closes it."""
    headers = {"Authorization": f"Bearer {login.token}"}
    return httpx.Client(base_url=f"{login.url}/api/", headers=headers, timeout=TIMEOUT)


class _Fleet(msgspec.Struct, frozen=True):
    id: str


class _Run(msgspec.Struct, frozen=True):
    id: str
    state: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    progress: float
    reason_code: str
    reason_sentence: str


class _Done(msgspec.Struct, frozen=True):
    outcome: str


class _Page(msgspec.Struct, frozen=True):
    results: Sequence[_Run]


class _Problem(msgspec.Struct, frozen=True):
    code: str
    detail: str


class OnPlatform:
    """The workers of one platform."""

    def __init__(
        self,
        http: httpx.Client,
        *,
        sleep: Callable[[float], None] = time.sleep,
        say: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        """`http` has the platform's ``/api/`` as base and is authenticated. `say` prints why runs wait."""
        self._http, self._sleep, self._say = http, sleep, say

    def outcomes(self, runs: Sequence[FleetRun], report: ReportRounds) -> Sequence[FleetOutcome]:
        """Also raises NoAnswer, RunFailed or RunCancelled."""
        files = {"file": ("fleet", encode_fleet(runs[0]))}
        fleet = self._asked("POST", "simulated-fleets/", _Fleet, files=files).id
        wanted = [msgspec.to_builtins(wanted_of(run)) for run in runs]
        asked: list[_Run] = []
        for begin in range(0, len(wanted), AT_ONCE):
            body = {"runs": wanted[begin : begin + AT_ONCE]}
            asked += self._asked("POST", f"simulated-fleets/{fleet}/runs/", list[_Run], json=body)
        rounds = {one.id: run.rounds for one, run in zip(asked, runs, strict=True)}
        found: dict[str, FleetOutcome] = {}
        known = {one.id: one for one in asked}
        said = ""
        while True:
            waits = next((one.reason_sentence for one in known.values() if one.state == "queued"), "")
            if waits not in ("", said):
                self._say(f"a run waits, {waits}")
                said = waits
            for one in known.values():
                if one.state == "failed":
                    raise RunFailed(detail=one.reason_sentence)
                if one.state == "cancelled":
                    raise RunCancelled(detail=one.reason_sentence)
                if one.state == "succeeded" and one.id not in found:
                    found[one.id] = _outcome(self._asked("GET", f"simulation-runs/{one.id}/", _Done))
            report(sum(rounds[one.id] * known[one.id].progress for one in asked))
            if len(found) == len(known):
                return [found[one.id] for one in asked]
            self._sleep(POLL_S)
            known = self._known(fleet, known.keys() - found.keys()) | {key: known[key] for key in found}

    def _known(self, fleet: str, wanted: Collection[str]) -> dict[str, _Run]:
        """The states of the `wanted` runs. Raises RunFailed where they were removed."""
        found: dict[str, _Run] = {}
        number = 1
        while len(found) < len(wanted):
            query = {"fleet": fleet, "page": str(number), "page_size": str(AT_ONCE)}
            page = self._asked("GET", "simulation-runs/", _Page, params=query).results
            found |= {one.id: one for one in page if one.id in wanted}
            if len(page) < AT_ONCE:
                break
            number += 1
        if len(found) < len(wanted):
            raise RunFailed(detail="its fleet was removed from the platform")
        return found

    def _asked(self, method: str, path: str, struct: type[T], **content: object) -> T:
        """Send a request with retries; all are idempotent. Raises NoAnswer or RunFailed."""
        waited_s = 0.0
        while True:
            try:
                answer = self._http.request(method, path, **content)  # type: ignore[arg-type] # as httpx names them
                if answer.status_code not in NOT_NOW:
                    return _read(answer, struct)
                detail = f"it says {answer.status_code}"
            except httpx.TransportError as error:
                detail = str(error) or type(error).__name__
            if waited_s >= PATIENCE_S:
                raise NoAnswer(url=str(self._http.base_url), detail=detail)
            self._sleep(POLL_S)
            waited_s += POLL_S


def _outcome(done: _Done) -> FleetOutcome:
    try:
        return from_json(done.outcome.encode(), FleetOutcome)
    except UNREADABLE as error:
        raise RunFailed(detail=f"the platform is of a release whose outcomes are others: {error}") from error


def _read(answer: httpx.Response, struct: type[T]) -> T:
    try:
        if answer.is_success:
            return from_json(answer.content, struct)
        problem = from_json(answer.content, _Problem)
    except UNREADABLE as error:
        detail = f"status {answer.status_code}, but not from a platform"
        raise NoAnswer(url=str(answer.request.url), detail=detail) from error
    raise RunFailed(detail=f"{problem.detail} [{problem.code}]")
