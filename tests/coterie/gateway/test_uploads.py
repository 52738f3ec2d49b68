import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import NamedTuple

import httpx
import pytest
from django.utils import timezone

from coterie.gateway.door.body import BodyStalled
from coterie.gateway.door.limits import Limits
from coterie.gateway.http import Request
from coterie.gateway.threads import in_thread
from coterie.gateway.uploads import UPDATES, receive_upload
from coterie.merging.models import Update
from tests.coterie.gateway.conftest import application
from tests.coterie.world import ScriptedDevice, fleet_of, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db(transaction=True)

BEARER = {"Authorization": "Bearer device-0"}


class Offered(NamedTuple):
    """An update that was announced and has not been sent."""

    device: ScriptedDevice
    payload: bytes
    url: str


@pytest.fixture
def offered() -> Offered:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=1)
    device = fleet_of(2)[0]
    now = timezone.now()
    directive = device.check_in(now)
    assert directive.assignment is not None
    assignment = directive.assignment.assignment
    payload = device.payload(1)
    device.offer(assignment, payload, now)
    return Offered(device, payload, f"uploads/{assignment}")


def at(offset: int) -> dict[str, str]:
    return {**BEARER, "Upload-Offset": str(offset)}


async def test_an_update_arrives_in_parts_and_counts_once(http: httpx.AsyncClient, offered: Offered) -> None:
    url, payload = offered.url, offered.payload
    first = await http.patch(url, content=payload[:100], headers=at(0))
    assert first.json() == {"offset": 100}
    last = await http.patch(url, content=payload[100:], headers=at(100))
    assert last.json() == {"offset": len(payload), "accepted": True}
    stored = await in_thread(Update.objects.get)
    assert (stored.sha256, stored.size_bytes) == (hashlib.sha256(payload).hexdigest(), len(payload))
    replayed = await http.patch(url, content=payload[100:], headers=at(100))
    assert (replayed.status_code, replayed.json()["code"]) == (410, "rounds.assignment_closed")
    assert await in_thread(Update.objects.count) == 1


async def test_a_wrong_offset_is_told_and_writes_nothing(http: httpx.AsyncClient, offered: Offered) -> None:
    answer = await http.patch(offered.url, content=b"x", headers=at(7))
    assert (answer.status_code, answer.json()["code"]) == (409, "upload.wrong_offset")
    assert answer.json()["fields"] == {"offset": 0, "given": 7}


@pytest.mark.parametrize("header", [{}, {"Upload-Offset": "-1"}, {"Upload-Offset": "x"}, {"Upload-Offset": "9" * 30}])
async def test_an_offset_must_be_said(header: dict[str, str], http: httpx.AsyncClient, offered: Offered) -> None:
    answer = await http.patch(offered.url, content=b"x", headers={**BEARER, **header})
    assert (answer.status_code, answer.json()["code"]) == (422, "gateway.offset_missing")


async def test_more_than_was_announced_is_dropped(http: httpx.AsyncClient, offered: Offered) -> None:
    answer = await http.patch(offered.url, content=offered.payload + b"more", headers=at(0))
    assert (answer.status_code, answer.json()["code"]) == (413, "gateway.upload_too_long")
    finished = await http.patch(offered.url, content=b"", headers=at(len(offered.payload)))
    assert finished.json()["accepted"], "what was announced had arrived"


async def test_an_update_with_another_hash_does_not_count(http: httpx.AsyncClient, offered: Offered) -> None:
    answer = await http.patch(offered.url, content=bytes(len(offered.payload)), headers=at(0))
    assert (answer.status_code, answer.json()["code"]) == (422, "upload.wrong_hash")
    assert await in_thread(Update.objects.count) == 0


async def test_another_devices_assignment_is_not_ones_own(http: httpx.AsyncClient, offered: Offered) -> None:
    answer = await http.patch(offered.url, content=b"x", headers={**at(0), "Authorization": "Bearer device-1"})
    assert (answer.status_code, answer.json()["code"]) == (403, "rounds.not_your_assignment")


@pytest.mark.parametrize("assignment", ["nonsense", "00000000-0000-0000-0000-000000000000", "..%2f..%2fsecret-key"])
async def test_an_unknown_assignment(assignment: str, http: httpx.AsyncClient, offered: Offered) -> None:
    answer = await http.patch(f"uploads/{assignment}", content=b"x", headers=at(0))
    assert answer.status_code == 404


async def test_of_two_writers_the_one_that_stalls_hinders_nobody(http: httpx.AsyncClient, offered: Offered) -> None:
    first_arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield offered.payload[:50]
        first_arrived.set()
        await go_on.wait()
        yield offered.payload[50:]

    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://platform/device/v1/") as other:
        slow = asyncio.create_task(other.patch(offered.url, content=slowly(), headers=at(0)))
        await first_arrived.wait()
        quick = await http.patch(offered.url, content=offered.payload, headers=at(0))
        assert quick.json()["accepted"]
        go_on.set()
        assert (await slow).json() == quick.json()
    assert await in_thread(Update.objects.count) == 1


async def test_what_another_writer_has_kept_is_not_written_again(http: httpx.AsyncClient, offered: Offered) -> None:
    first_arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield offered.payload[:50]
        first_arrived.set()
        await go_on.wait()
        yield offered.payload[50:60]

    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://platform/device/v1/") as other:
        slow = asyncio.create_task(other.patch(offered.url, content=slowly(), headers=at(0)))
        await first_arrived.wait()
        quick = await http.patch(offered.url, content=offered.payload[:70], headers=at(0))
        assert quick.json() == {"offset": 70}
        go_on.set()
        late = await slow
    assert (late.status_code, late.json()["code"]) == (503, "gateway.upload_busy")
    rest = await http.patch(offered.url, content=offered.payload[70:], headers=at(70))
    assert rest.json()["accepted"]


async def test_what_came_before_the_device_fell_silent_is_kept(offered: Offered, http: httpx.AsyncClient) -> None:
    parts: asyncio.Queue[dict[str, object]] = asyncio.Queue()
    parts.put_nowait({"type": "http.request", "body": offered.payload[:64], "more_body": True})
    headers = [(name.lower().encode(), value.encode()) for name, value in at(0).items()]
    scope = {"type": "http", "method": "PATCH", "path": f"/device/v1/{offered.url}", "headers": headers}

    async def send(event: object) -> None:
        raise AssertionError(f"the caller renders the error, not {event}")

    request = Request(scope, parts.get, limits=Limits(body_silence_s=0.01))
    with pytest.raises(BodyStalled):
        await receive_upload(UPDATES, offered.url.removeprefix("uploads/"), request, send)
    rest = await http.patch(offered.url, content=offered.payload[64:], headers=at(64))
    assert rest.json()["accepted"], "nobody holds the upload any more"


async def test_what_came_before_a_break_is_kept(offered: Offered, http: httpx.AsyncClient) -> None:
    events = [
        {"type": "http.request", "body": offered.payload[:64], "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, object]:
        return events.pop(0)

    async def send(event: object) -> None:
        raise AssertionError(f"there is nobody to tell {event}")

    headers = [(name.lower().encode(), value.encode()) for name, value in at(0).items()]
    scope = {"type": "http", "method": "PATCH", "path": f"/device/v1/{offered.url}", "headers": headers}
    await application(scope, receive, send)
    rest = await http.patch(offered.url, content=offered.payload[64:], headers=at(64))
    assert rest.json()["accepted"]
