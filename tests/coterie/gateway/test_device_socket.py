import json
from collections.abc import Callable
from datetime import datetime

import pytest

from coterie.core.events import wake_device
from coterie.fleet.models import Device
from coterie.fleet.services import EnrolledDevice, revoke_device
from coterie.gateway import device_socket
from coterie.gateway.ending import Ending
from coterie.gateway.threads import in_thread
from coterie_wire.closing import SERVICE_RESTART, reconnect_spread_s
from coterie_wire.messages import Refusal, Reply, Wake, decode_platform_frame
from coterie_wire.version import PROTOCOL

pytestmark = pytest.mark.django_db(transaction=True)

CHECK_IN = {"protocol": PROTOCOL, "conditions": {"charging": "yes"}}


def frame(number: int, name: str, body: object) -> str:
    return json.dumps({"frame": "request", "id": number, "name": name, "body": body})


@pytest.fixture
def device(enrol: Callable[..., EnrolledDevice]) -> EnrolledDevice:
    return enrol("kiosk")


async def test_answers_each_frame_and_survives_bad_messages(connect, device: EnrolledDevice) -> None:
    socket = connect(device.credential)
    assert (await socket.heard())["type"] == "websocket.accept"
    socket.say(frame(1, "check-in", CHECK_IN))
    socket.say(frame(2, "check-in", {"protocol": PROTOCOL}))
    socket.say(frame(3, "no-such-message", {}))
    socket.say(frame(4, "check-in", CHECK_IN).encode())
    heard = [decode_platform_frame((await socket.heard())["text"].encode()) for _ in range(4)]
    assert [(type(answer), answer.id) for answer in heard] == [(Reply, 1), (Refusal, 2), (Refusal, 3), (Reply, 4)]
    assert [answer.problem.code for answer in heard[1:3]] == ["wire.malformed", "gateway.unknown_message"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"frame": "reply", "id": 1, "body": {}}', b"\xff"])
async def test_closes_on_what_is_no_frame(text: str | bytes, connect, device: EnrolledDevice) -> None:
    socket = connect(device.credential)
    await socket.heard()
    socket.say(text)
    assert await socket.heard() == {"type": "websocket.close", "code": 1007, "reason": "wire.malformed"}


async def test_passes_a_wake_on_from_another_thread(connect, device: EnrolledDevice) -> None:
    socket = connect(device.credential)
    await socket.heard()
    await in_thread(lambda: wake_device(str(device.device.pk)))
    assert decode_platform_frame((await socket.heard())["text"].encode()) == Wake()


async def test_a_revoked_devices_sockets_close_at_once(connect, device: EnrolledDevice, now: datetime) -> None:
    sockets = [connect(device.credential), connect(device.credential)]
    for socket in sockets:
        await socket.heard()
    await in_thread(lambda: revoke_device(device=device.device, now=now))
    for socket in sockets:
        assert await socket.heard() == {"type": "websocket.close", "code": 1008, "reason": "fleet.revoked"}
        await socket.task


async def test_two_agents_that_run_as_one_device_are_noted(
    connect, device: EnrolledDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coterie.fleet.copies.LATE_S", 0.0)
    monkeypatch.setattr("coterie.fleet.copies.APART_S", 0.0)

    async def speak(socket) -> bool:
        socket.say(frame(1, "check-in", CHECK_IN))
        await socket.heard()
        return await in_thread(lambda: Device.objects.get().copied_at is not None)

    older = connect(device.credential)
    await older.heard()
    assert not await speak(older)
    newer = connect(device.credential)
    await newer.heard()
    while not await speak(older):  # once the hint has come
        assert not await speak(newer), "that of the newer socket is the device"


async def test_the_handshake_of_a_stranger_is_refused_with_a_problem(connect) -> None:
    socket = connect("cod_guessed")
    start, body = await socket.heard(), await socket.heard()
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 401)
    assert json.loads(body["body"])["code"] == "fleet.credential_unknown"


async def test_there_is_one_socket_address(connect, device: EnrolledDevice) -> None:
    socket = connect(device.credential, path="/device/v1/other")
    denied = await socket.heard()
    assert (denied["type"], denied["status"]) == ("websocket.http.response.start", 404)
    assert json.loads((await socket.heard())["body"])["code"] == "gateway.unknown_address"


async def test_a_process_that_ends_closes_its_sockets_and_says_when_to_come_again(
    connect, device: EnrolledDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = Ending()
    monkeypatch.setattr("coterie.gateway.device_socket.ENDING", ending)
    monkeypatch.setattr("coterie.gateway.ending.CONNECTS_PER_SECOND", 0.5)
    sockets = [connect(device.credential), connect(device.credential)]
    for socket in sockets:
        await socket.heard()
    steps = []
    await ending.close_sockets(is_hurried=lambda: not steps.append(1))
    assert len(steps) == 2, "one after the other, and without a pause when it is hurried"
    for socket in sockets:
        heard = await socket.heard()
        assert (heard["type"], heard["code"]) == ("websocket.close", SERVICE_RESTART)
        assert reconnect_spread_s(heard["code"], heard["reason"]) == 4
        await socket.task
    late = connect(device.credential)
    start, body = await late.heard(), await late.heard()
    assert (start["status"], json.loads(body["body"])["code"]) == (503, "gateway.ending")


@pytest.mark.parametrize(("code", "missed"), [(1006, True), (1005, True), (1000, False), (1012, False)])
async def test_a_device_is_missed_whose_socket_breaks_off_and_not_one_that_closes_it(
    code: int, missed: bool, connect, device: EnrolledDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(device_socket, "record_lost_socket", lambda *, device_id, **_: told.append(device_id))
    socket = connect(device.credential)
    await socket.heard()
    socket.say(frame(1, "check-in", CHECK_IN))
    await socket.heard()
    await socket.close(code)
    assert told == [str(device.device.pk)] * missed
