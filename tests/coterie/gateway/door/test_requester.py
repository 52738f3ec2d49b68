"""Who is refused over and over pays for it, and nobody who shares the address does."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from django.utils import timezone

from coterie.accounts.services import create_operator, issue_token
from coterie.fleet.services import EnrolledDevice, revoke_device
from coterie.gateway.asgi import in_front_of
from coterie.gateway.door.devices import DeviceGate
from coterie.gateway.door.limits import Limits
from coterie.gateway.door.refusal_costs import RefusalCosts
from coterie.gateway.door.request_guard import RequestGuard
from coterie.gateway.door.requester import LOOP_S, Requester, metered, requesting
from coterie.gateway.http import Application
from coterie.gateway.site import Site
from coterie.gateway.threads import ANONYMOUS_THREADS, in_anonymous_thread, in_thread
from coterie_wire.limit_log import LimitLog
from coterie_wire.messages import Refusal, decode_platform_frame
from coterie_wire.version import PROTOCOL
from tests.coterie.gateway.conftest import WAIT_S, SocketClient
from tests.coterie.world import START

pytestmark = pytest.mark.django_db(transaction=True)

LIMITS = Limits(refusals_allowance_s=0.02, guesses_per_minute=1000)
NAT = "192.0.2.1"
CHECK_IN = {"protocol": PROTOCOL, "conditions": {"charging": "yes"}}
RUBBISH = {"json": {"protocol": "none"}}
MANY = 200
"""Refusals that cost more than the allowance, on any machine."""


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def platform(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Application:
    """Django and the device API behind the door, on a clock that stands still."""
    gate = DeviceGate(LIMITS)
    monkeypatch.setattr("coterie.gateway.asgi.GATE", gate)
    monkeypatch.setattr("coterie.gateway.device_socket.GATE", gate)
    entrance = RequestGuard(Site(), spool=tmp_path, spool_bytes=8 << 20, limits=LIMITS)
    return in_front_of(entrance, refusal_costs=RefusalCosts(LIMITS, clock))


class Sender:
    """Sends from one address."""

    def __init__(self, platform: Application, address: str) -> None:
        self._transport = httpx.ASGITransport(platform, client=(address, 1))

    async def send(self, method: str, path: str, secret: str = "", **more: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        async with httpx.AsyncClient(transport=self._transport, base_url="http://testserver") as client:
            return await client.request(method, path, headers=headers, **more)

    async def check_in(self, credential: str, **more: object) -> httpx.Response:
        return await self.send("POST", "/device/v1/check-in", credential, **{"json": CHECK_IN, **more})

    async def until_turned_away(self, *args: str, **more: object) -> httpx.Response:
        """Send what is refused until it is not even looked at."""
        for _ in range(MANY):
            answer = await self.send(*args, **more)
            if answer.status_code == 429:
                return answer
            assert 400 <= answer.status_code < 500
        raise AssertionError("was never turned away")


@pytest.fixture
def nat(platform: Application) -> Sender:
    return Sender(platform, NAT)


@pytest.fixture
def phone(enrol: Callable[..., EnrolledDevice]) -> EnrolledDevice:
    return enrol("phone")


@pytest.fixture
def phones(enrol: Callable[..., EnrolledDevice]) -> list[EnrolledDevice]:
    return [enrol(f"phone-{number}") for number in range(100)]


async def test_one_of_a_hundred_phones_behind_an_address_misbehaves(
    nat: Sender, phones: list[EnrolledDevice], clock: Clock
) -> None:
    bad, *good = phones
    refused = await nat.until_turned_away("POST", "/device/v1/check-in", bad.credential, **RUBBISH)
    assert refused.json()["code"] == "gateway.refused_too_often"
    assert int(refused.headers["retry-after"]) >= 1
    assert (await nat.check_in(bad.credential)).status_code == 429, "also what would be right"
    assert {(await nat.check_in(phone.credential)).status_code for phone in good} == {200}
    strangers = await nat.send("POST", "/device/v1/enrol", json={"protocol": PROTOCOL, "token": "coe_guessed"})
    assert strangers.status_code != 429
    clock.now += int(refused.headers["retry-after"])
    assert (await nat.check_in(bad.credential)).status_code == 200


async def test_a_stranger_behind_the_address_of_a_hundred_phones_misbehaves(
    platform: Application, nat: Sender, phones: list[EnrolledDevice]
) -> None:
    *before, new = phones
    for phone in before:
        assert (await nat.check_in(phone.credential)).status_code == 200
    refused = await nat.until_turned_away("GET", "/api/nothing-is-here/")
    assert refused.json()["code"] == "gateway.refused_too_often"
    assert {(await nat.check_in(phone.credential)).status_code for phone in before} == {200}
    assert (await nat.check_in(new.credential)).status_code == 200, "who was never seen by this process, either"
    assert (await nat.check_in("cod_guessed")).status_code == 401
    enrol = {"protocol": PROTOCOL, "token": "coe_guessed"}
    assert (await nat.send("POST", "/device/v1/enrol", json=enrol)).status_code == 429
    assert (await Sender(platform, "192.0.2.2").send("GET", "/sign-in/")).status_code == 200


async def test_an_operator_behind_the_address_goes_on_and_probes_are_answered(nat: Sender) -> None:
    token = await in_thread(
        lambda: issue_token(operator=create_operator(username="ada").operator, name="ci", now=START)
    )
    await nat.until_turned_away("GET", "/api/nothing-is-here/")
    assert (await nat.send("GET", "/api/devices/", token.secret)).status_code == 200
    assert (await nat.send("GET", "/api/devices/", "cot_guessed")).status_code == 401
    assert (await nat.send("GET", "/sign-in/")).status_code == 429
    for probe in ("/healthz", "/readyz"):
        assert (await nat.send("GET", probe)).status_code != 429


async def test_a_token_whose_requests_are_refused_pays_itself(nat: Sender) -> None:
    def tokens() -> list[str]:
        ada = create_operator(username="ada").operator
        return [issue_token(operator=ada, name=name, now=START).secret for name in ("bad", "good")]

    bad, good = await in_thread(tokens)
    await nat.until_turned_away("GET", "/api/devices/?page=-1", bad)
    assert (await nat.send("GET", "/api/devices/", bad)).status_code == 429
    assert (await nat.send("GET", "/api/devices/", good)).status_code == 200
    assert (await nat.send("GET", "/sign-in/")).status_code == 200


async def test_a_socket_whose_messages_are_refused_waits_and_stays_open(
    platform: Application, phone: EnrolledDevice
) -> None:
    rubbish = json.dumps({"frame": "request", "id": 1, "name": "check-in", "body": RUBBISH["json"]})
    socket = SocketClient(phone.credential, application=platform)
    try:
        assert (await socket.heard())["type"] == "websocket.accept"
        codes = []
        while "gateway.refused_too_often" not in codes and len(codes) < MANY:
            socket.say(rubbish)
            answer = decode_platform_frame((await socket.heard())["text"].encode())
            assert isinstance(answer, Refusal)
            codes.append(answer.problem.code)
        assert set(codes) == {"wire.malformed", "gateway.refused_too_often"}
        another = SocketClient(phone.credential, application=platform)
        assert (await another.heard())["status"] == 429
        await another.close()
    finally:
        await socket.close()


async def test_who_was_revoked_is_a_stranger_again(nat: Sender, phone: EnrolledDevice) -> None:
    assert (await nat.check_in(phone.credential)).status_code == 200
    await in_thread(lambda: revoke_device(device=phone.device, now=timezone.now()))
    for _ in range(MANY):
        await nat.check_in(phone.credential)
    assert (await nat.send("GET", "/sign-in/")).status_code == 429


async def test_an_offender_is_in_the_log_once(
    nat: Sender, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    offences = LimitLog()
    for module in ("requester", "request_guard"):
        monkeypatch.setattr(f"coterie.gateway.door.{module}.LIMIT_LOG", offences)
    await nat.until_turned_away("GET", "/api/nothing-is-here/")
    for _ in range(50):
        assert (await nat.send("GET", "/")).status_code == 429
    told = [line for line in caplog.messages if "gateway.refused_too_often" in line]
    assert told == [f"refused {NAT}: gateway.refused_too_often (0 more since it was last logged)"]


async def test_a_thread_that_works_for_a_request_is_paid_for() -> None:
    clock = Clock()
    refusal_costs = RefusalCosts(Limits(refusals_allowance_s=1000.0), clock)
    lazy, busy = Requester(refusal_costs, "192.0.2.1"), Requester(refusal_costs, "192.0.2.2")
    with requesting(busy):
        await in_thread(lambda: sum(range(300_000)))
    for requester in (lazy, busy):
        requester.record_answer(404)
    assert len(refusal_costs) == 2
    clock.now += 2 * LOOP_S / Limits().refusals_share + 0.001
    refusal_costs.check("address 192.0.2.1")
    assert len(refusal_costs) == 1, "who was refused at once has paid, and who took a thread has not"


def test_nobodys_work_is_not_counted() -> None:
    assert metered(lambda: 1) == 1


async def test_no_known_device_waits_behind_strangers(nat: Sender, phone: EnrolledDevice) -> None:
    assert (await nat.check_in(phone.credential)).status_code == 200
    may_end = threading.Event()
    guesses = [asyncio.create_task(in_anonymous_thread(may_end.wait)) for _ in range(10 * ANONYMOUS_THREADS)]
    try:
        assert (await asyncio.wait_for(nat.check_in(phone.credential), WAIT_S)).status_code == 200
        assert not any(guess.done() for guess in guesses)
    finally:
        may_end.set()
        await asyncio.gather(*guesses)
