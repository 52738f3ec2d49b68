"""One credential holds few sockets and threads, and guessing one costs the guesser."""

import asyncio
import json
from collections.abc import Callable

import httpx
import pytest

from coterie.fleet.selectors import Shown
from coterie.fleet.services import EnrolledDevice
from coterie.gateway.door.devices import DeviceGate
from coterie.gateway.door.limits import Limits
from coterie.gateway.door.turns import TooManyWaiting
from coterie_wire.messages import MAX_MESSAGE_BYTES, Refusal, decode_platform_frame
from coterie_wire.version import PROTOCOL
from tests.coterie.gateway.conftest import application

pytestmark = pytest.mark.django_db(transaction=True)

SMALL = Limits(sockets_per_device=2, guesses_per_minute=3, requests_per_device=1)
CHECK_IN = {"protocol": PROTOCOL, "conditions": {"charging": "yes"}}
FRAME = json.dumps({"frame": "request", "id": 1, "name": "check-in", "body": CHECK_IN})


@pytest.fixture(autouse=True)
def gate(monkeypatch: pytest.MonkeyPatch) -> DeviceGate:
    gate = DeviceGate(SMALL)
    monkeypatch.setattr("coterie.gateway.asgi.GATE", gate)
    monkeypatch.setattr("coterie.gateway.device_socket.GATE", gate)
    return gate


@pytest.fixture
def device(enrol: Callable[..., EnrolledDevice]) -> EnrolledDevice:
    return enrol("kiosk")


async def post(credential: str, name: str = "check-in", address: str = "192.0.2.1", **more: object) -> httpx.Response:
    transport = httpx.ASGITransport(application, client=(address, 1))
    headers = {"Authorization": f"Bearer {credential}"} if credential else {}
    async with httpx.AsyncClient(transport=transport, base_url="http://platform/device/v1/", headers=headers) as client:
        return await client.post(name, **{"json": CHECK_IN, **more})


async def test_a_device_has_so_many_sockets_and_another_its_own(connect, device: EnrolledDevice) -> None:
    sockets, heard = [], []
    for _ in range(3):
        sockets.append(connect(device.credential))
        heard.append(await sockets[-1].heard())
    assert [event["type"] for event in heard[:2]] == ["websocket.accept"] * 2
    assert (heard[2]["type"], heard[2]["status"]) == ("websocket.http.response.start", 429)
    assert b"gateway.too_many_sockets" in (await sockets[2].heard())["body"]
    await sockets[0].close()
    assert (await connect(device.credential).heard())["type"] == "websocket.accept"


async def test_a_device_that_asks_too_often_has_to_wait(connect, device: EnrolledDevice, settings) -> None:
    settings.DEVICE_REQUESTS_PER_MINUTE = 2
    socket = connect(device.credential)
    await socket.heard()
    socket.say(FRAME)
    await socket.heard()
    assert (await post(device.credential)).status_code == 200
    refused = await post(device.credential)
    assert (refused.status_code, refused.json()["code"]) == (429, "gateway.too_many_requests")
    assert int(refused.headers["retry-after"]) in range(1, 31)
    socket.say(FRAME)
    answer = decode_platform_frame((await socket.heard())["text"].encode())
    assert isinstance(answer, Refusal)
    assert answer.problem.status == 429


async def test_guessing_costs_the_guesser_and_no_neighbour(device: EnrolledDevice) -> None:
    assert (await post(device.credential)).status_code == 200
    guesses = [(await post("cod_guessed")).status_code for _ in range(SMALL.guesses_per_minute + 2)]
    assert guesses == [401, 401, 401, 429, 429]
    enrol = {"protocol": PROTOCOL, "token": "x", "name": "x", "capabilities": {}}
    assert (await post("", "enrol", json=enrol)).status_code == 429
    assert (await post(device.credential)).status_code == 200, "who is known and shares the address goes on"
    assert (await post("cod_guessed", address="192.0.2.2")).status_code == 401


async def test_a_strangers_body_is_not_read(device: EnrolledDevice) -> None:
    read = 0

    async def body() -> object:
        nonlocal read
        for _ in range(100):
            read += 1
            yield b"a" * 1000

    assert (await post("cod_guessed", content=body())).status_code == 401
    assert (await post("cod_guessed", content=b"a" * 100_000)).status_code == 401
    assert (await post("", content=body())).status_code == 401
    assert read == 0
    large = await post("", "enrol", content=b"a" * 100_000)
    assert (large.status_code, large.json()["code"]) == (413, "wire.too_large")
    assert (await post(device.credential, content=b"a" * (MAX_MESSAGE_BYTES + 1))).status_code == 413


async def test_a_devices_requests_wait_for_one_another(gate: DeviceGate) -> None:
    running, most = 0, 0

    async def work() -> None:
        nonlocal running, most
        async with gate.turn(Shown("cod_one")):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(work() for _ in range(5)))
    assert most == SMALL.requests_per_device


async def test_a_device_that_does_not_wait_for_answers_is_sent_away(gate: DeviceGate) -> None:
    async def work() -> None:
        async with gate.turn(Shown("cod_one")):
            await asyncio.sleep(0)

    done = await asyncio.gather(*(work() for _ in range(SMALL.requests_waiting + 3)), return_exceptions=True)
    assert [type(one) for one in done if one is not None] == [TooManyWaiting] * 3
    await work()
