"""Bad messages, tokens and credentials on a platform that runs: each gets a documented code, and nothing changes."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from coterie_wire.messages import MAX_MESSAGE_BYTES, Enrol
from coterie_wire.version import PROTOCOL
from tests.system.conftest import Site
from tests.system.scripted_device import CAPABILITIES, Refused, ScriptedDevice

CHECK_IN: dict[str, Any] = {"protocol": PROTOCOL, "conditions": {}}


def json(**changes: object) -> bytes:
    """A check-in that is right but for `changes`."""
    return msgspec.json.encode(CHECK_IN | changes)


BODIES: dict[str, tuple[int, str, bytes]] = {
    "nothing": (422, "wire.malformed", b""),
    "no JSON": (422, "wire.malformed", b"{"),
    "no UTF-8": (422, "wire.malformed", b'{"protocol": 1, "version": "\xff"}'),
    "random bytes": (422, "wire.malformed", bytes(range(256))),
    "a list": (422, "wire.malformed", b"[]"),
    "deep nesting": (422, "wire.malformed", b"[" * 100_000),
    "no conditions": (422, "wire.malformed", msgspec.json.encode({"protocol": PROTOCOL})),
    "wrong type": (422, "wire.malformed", json(conditions="charging")),
    "not a number": (422, "wire.malformed", b'{"protocol": 1, "conditions": {"temperature_c": NaN}}'),
    "infinite number": (422, "wire.malformed", b'{"protocol": 1, "conditions": {"temperature_c": 1e999}}'),
    "too many blockers": (422, "wire.malformed", json(blockers=[{"code": "a", "sentence": "b"}] * 17)),
    "negative count": (422, "wire.malformed", json(metadata={"samples": -1})),
    "huge number": (422, "wire.malformed", json(metadata={"samples": 2**60})),
    "old protocol": (422, "wire.protocol", json(protocol=0)),
    "coming protocol": (422, "wire.protocol", json(protocol=PROTOCOL + 1, unheard_of=1)),
    "too large": (413, "wire.too_large", json(version="v" * MAX_MESSAGE_BYTES)),
}
ADDRESSES: dict[str, tuple[str, str, int, str]] = {
    "unknown message": ("POST", "/obey", 404, "gateway.unknown_message"),
    "unknown address": ("POST", "/check-in/more", 404, "gateway.unknown_address"),
    "wrong method": ("GET", "/check-in", 404, "gateway.unknown_address"),
    "unknown blob": ("GET", f"/blobs/{'0' * 64}", 404, "registry.unknown_blob"),
    "path for a blob": ("GET", "/blobs/..%2f..%2fsecret-key", 404, "gateway.unknown_address"),
    "no hash for a blob": ("GET", "/blobs/secret-key", 404, "registry.unknown_blob"),
}


@pytest.fixture(scope="module")
def device(site: Site) -> Iterator[ScriptedDevice]:
    with closing(ScriptedDevice(site.url, site.operator.enrolment_token(), "kiosk")) as device:
        yield device


def open_socket(site: Site, credential: str) -> ClientConnection:
    address = f"ws{site.url.removeprefix('http')}/device/v1/socket"
    headers = {"Authorization": f"Bearer {credential}"}
    return connect(address, additional_headers=headers, compression=None, proxy=None)


@pytest.mark.parametrize("name", BODIES)
def test_bad_message_is_refused(device: ScriptedDevice, name: str) -> None:
    status, code, body = BODIES[name]
    answer = device.http.post("/check-in", content=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    device.check_in()


@pytest.mark.parametrize("name", ADDRESSES)
def test_bad_address_is_refused(device: ScriptedDevice, name: str) -> None:
    method, path, status, code = ADDRESSES[name]
    answer = device.http.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("", "gateway.credential_missing"),
        ("Basic b3BlcmF0b3I6cGFzc3dvcmQ=", "gateway.credential_missing"),
        ("Bearer nobody", "fleet.credential_unknown"),
        ("Bearer " + "x" * 5000, "fleet.credential_unknown"),
        ("Bearer \xff\xfe", "fleet.credential_unknown"),
    ],
)
def test_bad_credential_is_refused(device: ScriptedDevice, header: str, code: str) -> None:
    answer = device.http.post("/check-in", content=json(), headers={b"Authorization": header.encode("latin-1")})
    assert (answer.status_code, answer.json()["code"]) == (401, code)


def test_operator_token_is_no_credential_and_credential_no_operator_token(site: Site, device: ScriptedDevice) -> None:
    operators = {"Authorization": site.operator.http.headers["Authorization"]}
    assert device.http.post("/check-in", content=json(), headers=operators).status_code == 401
    devices = {"Authorization": f"Bearer {device.credential}"}
    answer = site.operator.http.get("/devices/", headers=devices)
    assert (answer.status_code, answer.json()["code"]) == (401, "accounts.token_invalid")


def enrol(site: Site, token: str) -> None:
    ScriptedDevice(site.url, token, "newcomer").close()


def test_enrolment_token_lets_in_as_many_as_it_says(site: Site) -> None:
    token = site.operator.enrolment_token(uses=2)
    enrol(site, token)
    enrol(site, token)
    with pytest.raises(Refused) as refusal:
        enrol(site, token)
    assert (refusal.value.problem.status, refusal.value.problem.code) == (410, "fleet.token_used_up")


def test_withdrawn_and_unknown_enrolment_tokens_let_nobody_in(site: Site) -> None:
    withdrawn = site.operator.enrolment_token()
    newest = site.operator.list("/enrolment-tokens/")[0]
    site.operator.post(f"/enrolment-tokens/{newest['id']}/revoke/")
    before = site.operator.get("/devices/")["count"]
    for token, status, code in [
        (withdrawn, 410, "fleet.token_revoked"),
        ("coe_guessed", 401, "fleet.token_unknown"),
    ]:
        with pytest.raises(Refused) as refusal:
            enrol(site, token)
        assert (refusal.value.problem.status, refusal.value.problem.code) == (status, code)
    assert site.operator.get("/devices/")["count"] == before


def test_refused_enrolment_leaves_the_token_good(site: Site, device: ScriptedDevice) -> None:
    token = site.operator.enrolment_token()
    nameless = msgspec.to_builtins(Enrol(protocol=PROTOCOL, token=token, name="x", capabilities=CAPABILITIES))
    answer = device.http.post("/enrol", content=msgspec.json.encode(nameless | {"name": ""}))
    assert (answer.status_code, answer.json()["code"]) == (422, "wire.malformed")
    enrol(site, token)


def test_revoked_device_is_shut_out_of_http_and_of_its_open_socket_at_once(site: Site) -> None:
    with (
        closing(ScriptedDevice(site.url, site.operator.enrolment_token(), "lost")) as device,
        open_socket(site, device.credential) as connection,
    ):
        site.operator.post(f"/devices/{device.id}/revoke/")
        with pytest.raises(Refused) as refusal:
            device.check_in()
        assert (refusal.value.problem.status, refusal.value.problem.code) == (401, "fleet.revoked")
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=10)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "fleet.revoked")
        with pytest.raises(InvalidStatus) as denied:
            open_socket(site, device.credential)
        assert denied.value.response.status_code == 401


FRAMES = ["", "noise", "[]", '{"frame":"reply","id":1,"body":{}}', "x" * (MAX_MESSAGE_BYTES + 1)]


@pytest.mark.parametrize("frame", FRAMES, ids=["empty", "noise", "list", "reply", "too large"])
def test_bad_frame_closes_its_socket_alone(site: Site, device: ScriptedDevice, frame: str) -> None:
    with open_socket(site, device.credential) as good, open_socket(site, device.credential) as bad:
        bad.send(frame)
        with pytest.raises(ConnectionClosed) as closed:
            bad.recv(timeout=10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1007
        good.send('{"frame":"request","id":7,"name":"check-in","body":' + json().decode() + "}")
        assert msgspec.json.decode(good.recv(timeout=10))["frame"] == "reply"


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        ("obey", "{}", "gateway.unknown_message"),
        ("check-in", "{}", "wire.malformed"),
        ("enrol", "{}", "gateway.unknown_message"),
    ],
)
def test_bad_request_on_a_socket_is_answered_and_the_socket_stays(
    site: Site, device: ScriptedDevice, name: str, body: str, code: str
) -> None:
    with open_socket(site, device.credential) as connection:
        for number in (1, 2):
            connection.send(f'{{"frame":"request","id":{number},"name":"{name}","body":{body}}}')
            refusal = msgspec.json.decode(connection.recv(timeout=10))
            assert (refusal["frame"], refusal["id"]) == ("refusal", number)
            assert refusal["problem"]["code"] == code


def test_the_platform_logged_no_failure(site: Site, device: ScriptedDevice) -> None:
    for _, _, body in BODIES.values():
        device.http.post("/check-in", content=body)
    device.check_in()
    assert "Traceback" not in site.platform.log()
