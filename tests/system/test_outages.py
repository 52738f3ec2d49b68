"""Scaled mode while Redis or PostgreSQL is away: what goes on, what is told at once, and that it ends by itself."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from coterie.core.away import DATABASE, REDIS
from coterie_wire.messages import Wake, decode_platform_frame
from tests.system.eventually import eventually
from tests.system.line import Line
from tests.system.operator_client import OperatorClient
from tests.system.processes import prepare_state
from tests.system.scaled import CELERY, SCALED, Processes
from tests.system.scripted_device import ScriptedDevice
from tests.system.seed import Seeded
from tests.system.test_scaled import WAIT_S, settings

__all__ = ["settings"]  # a fixture of this file, too

pytestmark = SCALED

WEDGED_S = 30.0
"""Longer than any answer may take while a server is away, and shorter than a request that waits for it."""


class Outages:
    """A web process whose lines to PostgreSQL and Redis can be cut."""

    def __init__(self, url: str, seeded: Seeded, lines: dict[str, Line], web: Processes) -> None:
        self.url, self.seeded, self.lines, self.web = url, seeded, lines, web
        self.http = httpx.Client(base_url=url, timeout=WEDGED_S, headers={"Authorization": f"Bearer {seeded.token}"})

    def health(self) -> str:
        """What the platform says of itself."""
        answer = self.http.get("/healthz")
        return str(answer.json()["status"]) if answer.status_code == 200 else str(answer.status_code)


@pytest.fixture(scope="module")
def outages(settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outages]:
    seeded = prepare_state(tmp_path_factory.mktemp("seed"), pairs=1, **settings)
    with ExitStack() as running:
        lines = {REDIS: running.enter_context(Line(6379)), DATABASE: running.enter_context(Line(5432))}
        cut = {
            **settings,
            "redis_url": settings["redis_url"].replace(":6379", f":{lines[REDIS].port}"),
            "database_url": settings["database_url"].replace(":5432", f":{lines[DATABASE].port}"),
        }
        listener = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        web = Processes(cut, Path(tmp_path_factory.mktemp("web")), running)
        web.start("coterie", "serve", "--fd", str(listener.fileno()), pass_fds=(listener.fileno(),))
        Processes(settings, web.directory, running).start(
            *CELERY, "beat", "--schedule", str(web.directory / "schedule")
        )
        outages = Outages(f"http://127.0.0.1:{listener.getsockname()[1]}", seeded, lines, web)
        running.callback(outages.http.close)
        eventually(lambda: outages.health() == "ok", within_s=WAIT_S)
        yield outages


@pytest.mark.long
def test_without_redis_everything_but_other_processes_wakes_goes_on(outages: Outages) -> None:
    with OperatorClient(outages.url, outages.seeded.token) as operator:
        device = ScriptedDevice(outages.url, operator.enrolment_token(), "kiosk")
        outages.lines[REDIS].cut()
        try:
            eventually(lambda: outages.health() == "degraded", within_s=WAIT_S)
            assert operator.list("/devices/")[0]["name"] == "kiosk"
            device.check_in()
            address = f"{outages.url.replace('http', 'ws', 1)}/device/v1/socket"
            with connect(address, additional_headers={"Authorization": f"Bearer {device.credential}"}) as socket_:
                operator.post(f"/devices/{device.id}/pause/")
                text = socket_.recv(timeout=WAIT_S)
                assert isinstance(text, str)
                assert decode_platform_frame(text.encode()) == Wake(), "a hint within the process"
            assert outages.http.get("/healthz").json()["without"].keys() == {REDIS}
            codes = {repair["code"] for repair in operator.http.get("/repairs/").json()}
            assert "repairs.server_away" in codes
        finally:
            outages.lines[REDIS].mend()
        eventually(lambda: outages.health() == "ok", within_s=WAIT_S)
        device.close()


@pytest.mark.long
def test_without_postgresql_everybody_is_told_to_come_back_and_nobody_waits(outages: Outages) -> None:
    with OperatorClient(outages.url, outages.seeded.token) as operator:
        device = ScriptedDevice(outages.url, operator.enrolment_token(), "till")
        outages.lines[DATABASE].cut()
        try:
            eventually(lambda: outages.health() == "503", within_s=WAIT_S)
            for answer in (
                outages.http.get("/api/devices/"),
                outages.http.get("/sign-in/"),
                device.http.post("/check-in", content=b"{}"),
            ):
                told = (answer.status_code, answer.json()["code"], answer.headers["retry-after"])
                assert told == (503, "gateway.database_away", "5")
        finally:
            outages.lines[DATABASE].mend()
        eventually(lambda: outages.health() == "ok", within_s=WAIT_S)
        device.check_in()
        device.close()
    assert outages.web.log("coterie").read_text().count("Traceback") < 20, "one outage does not fill the log"
