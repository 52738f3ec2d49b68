import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import cast

import httpx
import msgspec
import pytest
from django.utils import timezone

from coterie.cloud_answers.errors import Busy
from coterie.core.credentials import new_secret
from coterie.core.identity import verify_key
from coterie.fleet.models import Device
from coterie.fleet.services import EnrolledDevice, create_enrolment_token, leave_fleet, revoke_device
from coterie.gateway.messages import BATCHED, HANDLERS, SLOW, WITHOUT_CREDENTIAL
from coterie.gateway.threads import in_thread
from coterie_wire.fallback import PlatformAnswer
from coterie_wire.invitation import ReadInvitation
from coterie_wire.messages import EXCHANGES, MAX_MESSAGE_BYTES, Capabilities, Directive, Enrol, Enrolled
from coterie_wire.predictions import Prediction
from coterie_wire.version import PROTOCOL

pytestmark = pytest.mark.django_db(transaction=True)

CHECK_IN = {"protocol": PROTOCOL, "conditions": {"charging": "yes"}}


def test_every_message_of_the_protocol_has_a_handler() -> None:
    assert {*WITHOUT_CREDENTIAL, *BATCHED, *SLOW, *HANDLERS} == set(EXCHANGES)


@pytest.fixture
def device(enrol: Callable[..., EnrolledDevice]) -> EnrolledDevice:
    return enrol("kiosk")


@pytest.fixture
def bearer(device: EnrolledDevice) -> dict[str, str]:
    return {"Authorization": f"Bearer {device.credential}"}


def assert_problem(answer: httpx.Response, status: int, code: str) -> None:
    body = answer.json()
    assert (answer.status_code, body["code"], body["status"]) == (status, code, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert re.match(r"\S.*", body["detail"])


async def test_a_device_joins_checks_in_and_leaves(http: httpx.AsyncClient) -> None:
    now = timezone.now()
    secret = (
        await in_thread(lambda: create_enrolment_token(label="t", expires_at=now + timedelta(hours=1), now=now))
    ).secret
    capabilities = Capabilities(cores=1, memory_bytes=1, machine="m", agent="a")
    message = msgspec.json.encode(Enrol(protocol=PROTOCOL, token=secret, name="kiosk", capabilities=capabilities))
    enrolled = msgspec.json.decode((await http.post("enrol", content=message)).content, type=Enrolled)
    assert enrolled.platform_key == verify_key()
    bearer = {"Authorization": f"Bearer {enrolled.credential}"}
    answer = await http.post("check-in", json=CHECK_IN, headers=bearer)
    assert msgspec.json.decode(answer.content, type=Directive).check_in_s > 0
    assert (await http.post("leave", content=b"{}", headers=bearer)).json() == {}
    assert_problem(await http.post("check-in", json=CHECK_IN, headers=bearer), 401, "fleet.left")
    again = await http.post("enrol", content=message)
    assert_problem(again, 410, "fleet.token_used_up")


async def test_a_device_that_missed_the_answer_joins_again_with_the_credential_that_it_has_drawn(
    http: httpx.AsyncClient,
) -> None:
    now = timezone.now()
    secret = (
        await in_thread(lambda: create_enrolment_token(label="t", expires_at=now + timedelta(hours=1), now=now))
    ).secret
    capabilities = Capabilities(cores=1, memory_bytes=1, machine="m", agent="a")
    enrol = msgspec.json.encode(Enrol(protocol=PROTOCOL, token=secret, name="kiosk", capabilities=capabilities))
    drawn = new_secret("cod")
    bearer = {"Authorization": f"Bearer {drawn}"}
    joined = [
        msgspec.json.decode((await http.post("enrol", content=enrol, headers=bearer)).content, type=Enrolled)
        for _ in range(2)
    ]
    assert joined[0] == joined[1]
    assert joined[0].credential == drawn
    read = msgspec.json.encode(ReadInvitation(token=secret))
    invitation = (await http.post("read-invitation", content=read, headers=bearer)).json()
    assert invitation["devices_left"] == 1, "the device itself"
    assert_problem(await http.post("read-invitation", content=read), 410, "fleet.token_used_up")
    assert_problem(await http.post("enrol", content=enrol), 410, "fleet.token_used_up")
    for_a_proxy = {"Authorization": "Basic cHJveHk6cGFzc3dvcmQ="}
    assert_problem(await http.post("enrol", content=enrol, headers=for_a_proxy), 410, "fleet.token_used_up")
    assert (await http.post("check-in", json=CHECK_IN, headers=bearer)).status_code == 200


async def test_what_takes_long_is_answered_and_refused_as_the_rest(
    http: httpx.AsyncClient, bearer: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"federation": "digits", "samples": ["AACAPw=="], "remaining_s": 5}
    assert_problem(await http.post("ask-platform", json=asked), 401, "gateway.credential_missing")
    assert_problem(
        await http.post("ask-platform", json={**asked, "samples": []}, headers=bearer), 422, "wire.malformed"
    )
    assert_problem(await http.post("ask-platform", json=asked, headers=bearer), 403, "cloud_answers.no_consent")

    def busy(*_: object) -> Future[PlatformAnswer]:
        raise Busy(waiting=10, wait_s=2)

    answer = PlatformAnswer("c1", "cloud", (Prediction("one", 1, 0.5),))
    begun: Future[PlatformAnswer] = Future()
    begun.set_result(answer)
    for does, status in ((busy, 503), (lambda *_: begun, 200)):
        monkeypatch.setitem(cast(dict[str, object], SLOW), "ask-platform", does)
        found = await http.post("ask-platform", json=asked, headers=bearer)
        assert (found.status_code, found.headers.get("retry-after")) == (status, "2" if status == 503 else None)
    assert msgspec.json.decode(found.content, type=PlatformAnswer) == answer


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 422, "wire.malformed"),
        (b"{", 422, "wire.malformed"),
        (b"\xff\xfe", 422, "wire.malformed"),
        (b"[" * 100_000, 422, "wire.malformed"),
        (b'{"protocol": 1}', 422, "wire.malformed"),
        (json.dumps({**CHECK_IN, "version": 1}).encode(), 422, "wire.malformed"),
        (json.dumps({**CHECK_IN, "conditions": {"temperature_c": float("nan")}}).encode(), 422, "wire.malformed"),
        (json.dumps({**CHECK_IN, "version": "zero\0byte"}).encode(), 422, "wire.malformed"),
        (json.dumps({**CHECK_IN, "protocol": 99}).encode(), 422, "wire.protocol"),
        (b" " * (MAX_MESSAGE_BYTES + 1), 413, "wire.too_large"),
    ],
)
async def test_bad_messages_change_nothing(
    body: bytes, status: int, code: str, http: httpx.AsyncClient, bearer: dict[str, str]
) -> None:
    assert_problem(await http.post("check-in", content=body, headers=bearer), status, code)
    assert await in_thread(lambda: Device.objects.get().last_seen_at) is None


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ({}, "gateway.credential_missing"),
        ({"Authorization": "Basic YTpi"}, "gateway.credential_missing"),
        ({"Authorization": "Bearer "}, "gateway.credential_missing"),
        ({"Authorization": "Bearer cod_guessed"}, "fleet.credential_unknown"),
        ({"Authorization": b"Bearer \xe9"}, "fleet.credential_unknown"),
    ],
)
async def test_strangers_are_refused(header: dict[str, str], code: str, http: httpx.AsyncClient) -> None:
    answer = await http.post("check-in", json=CHECK_IN, headers=header)
    assert_problem(answer, 401, code)
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(("end", "code"), [(revoke_device, "fleet.revoked"), (leave_fleet, "fleet.left")])
async def test_an_ended_credential_is_refused_at_once(
    end: Callable[..., None],
    code: str,
    http: httpx.AsyncClient,
    device: EnrolledDevice,
    bearer: dict[str, str],
    now: datetime,
) -> None:
    assert (await http.post("check-in", json=CHECK_IN, headers=bearer)).status_code == 200
    await in_thread(lambda: end(device=device.device, now=now))
    assert_problem(await http.post("check-in", json=CHECK_IN, headers=bearer), 401, code)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", "no-such-message", "gateway.unknown_message"),
        ("POST", "check-in/more", "gateway.unknown_address"),
        ("GET", "check-in", "gateway.unknown_address"),
        ("DELETE", "blobs/abc", "gateway.unknown_address"),
        ("POST", "", "gateway.unknown_message"),
    ],
)
async def test_unknown_addresses(
    method: str, path: str, code: str, http: httpx.AsyncClient, bearer: dict[str, str]
) -> None:
    assert_problem(await http.request(method, path, content=b"{}", headers=bearer), 404, code)


async def test_a_field_that_is_not_known_is_passed_over(http: httpx.AsyncClient, bearer: dict[str, str]) -> None:
    answer = await http.post("check-in", json={**CHECK_IN, "surprise": 1}, headers=bearer)
    assert answer.status_code == 200


async def test_check_ins_that_come_together_are_answered_together(
    http: httpx.AsyncClient, enrol: Callable[..., EnrolledDevice], now: datetime
) -> None:
    devices = await in_thread(lambda: [enrol() for _ in range(8)])
    await in_thread(lambda: revoke_device(device=devices[0].device, now=now))
    bodies = [CHECK_IN, {**CHECK_IN, "version": 1}, *[CHECK_IN] * 6]

    async def check_in(device: EnrolledDevice, body: object) -> httpx.Response:
        return await http.post("check-in", json=body, headers={"Authorization": f"Bearer {device.credential}"})

    answers = await asyncio.gather(*map(check_in, devices, bodies))
    assert [answer.status_code for answer in answers] == [401, 422, *[200] * 6]
    assert_problem(answers[0], 401, "fleet.revoked")
    assert_problem(answers[1], 422, "wire.malformed")
    seen = await in_thread(lambda: set(Device.objects.exclude(last_seen_at=None).values_list("pk", flat=True)))
    assert seen == {device.device.pk for device in devices[2:]}


async def test_one_message_that_breaks_its_answer_leaves_the_others_theirs(
    http: httpx.AsyncClient, enrol: Callable[..., EnrolledDevice]
) -> None:
    devices = await in_thread(lambda: [enrol() for _ in range(3)])
    broken = devices[1].device
    await in_thread(lambda: Device.objects.filter(pk=broken.pk).update(pinned_version="no version's id"))

    async def check_in(device: EnrolledDevice) -> httpx.Response:
        return await http.post("check-in", json=CHECK_IN, headers={"Authorization": f"Bearer {device.credential}"})

    answers = await asyncio.gather(*map(check_in, devices))
    assert [answer.status_code for answer in answers] == [200, 500, 200]
