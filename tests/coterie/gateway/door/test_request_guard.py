"""Django is asked by who may ask: how often, with how much, in whose turn."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO

import httpx
import pytest
from django.db import OperationalError

from coterie.accounts.services import create_operator, issue_token
from coterie.core.away import AWAY, DATABASE
from coterie.gateway.asgi import in_front_of
from coterie.gateway.door import request_guard
from coterie.gateway.door.body import Receive
from coterie.gateway.door.limits import Limits
from coterie.gateway.door.request_guard import ADDRESS_TIMES, RequestGuard
from coterie.gateway.door.site_body import SiteBody
from coterie.gateway.http import Scope, Send, reply
from coterie.gateway.outage import WATCH
from coterie.gateway.threads import in_thread
from tests.coterie.world import START

pytestmark = pytest.mark.django_db(transaction=True)

SMALL = Limits(
    body_bytes=1000,
    body_silence_s=0.2,
    site_at_once=1,
    anonymous_at_once=2,
    anonymous_each=1,
    site_wait_s=0.1,
)
SPOOL_BYTES = 8 << 20
UPLOAD = "/api/datasets/"


class FakeSite:
    """Stands where Django does: reads the body, and answers once it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.bodies: list[int] = []
        self.clients: list[tuple[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert isinstance(receive, SiteBody)
        file: IO[bytes] = receive.file
        self.bodies.append(len(file.read()))
        self.clients.append((scope["client"][0], scope["scheme"]))
        await self.may_answer.wait()
        await reply(send)


@pytest.fixture
def site() -> FakeSite:
    return FakeSite()


@pytest.fixture
def door(site: FakeSite, tmp_path: Path) -> RequestGuard:
    return RequestGuard(site, spool=tmp_path, spool_bytes=SPOOL_BYTES, limits=SMALL)


Asker = Callable[..., httpx.AsyncClient]


@pytest.fixture
async def asker(door: RequestGuard) -> AsyncIterator[Asker]:
    """Makes clients: ``asker(address)``."""
    clients: list[httpx.AsyncClient] = []

    def make(address: str = "192.0.2.1", **headers: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(in_front_of(door), client=(address, 1))
        client = httpx.AsyncClient(transport=transport, base_url="http://testserver", headers=headers)
        clients.append(client)
        return client

    yield make
    for client in clients:
        await client.aclose()


@pytest.fixture
def token() -> str:
    ada = create_operator(username="ada").operator
    return f"Bearer {issue_token(operator=ada, name='ci', now=START).secret}"


async def pieces(size_bytes: int) -> AsyncIterator[bytes]:
    for _ in range(0, size_bytes, 1000):
        yield b"a" * 1000


async def test_anybody_may_send_little(asker: Asker, site: FakeSite) -> None:
    assert (await asker().post("/sign-in/", content=b"a" * 1000)).status_code == 200
    assert site.bodies == [1000]


@pytest.mark.parametrize("declared", [True, False])
async def test_a_stranger_sends_no_large_body(asker: Asker, site: FakeSite, tmp_path: Path, declared: bool) -> None:
    content = b"a" * 10_000 if declared else pieces(10_000)
    answer = await asker().post(UPLOAD, content=content)
    assert (answer.status_code, answer.json()["code"]) == (401, "acting.nobody")
    guessed = await asker(Authorization="Bearer cot_guessed").post(UPLOAD, content=b"a" * 10_000)
    assert (guessed.status_code, guessed.json()["code"]) == (401, "accounts.token_invalid")
    assert site.bodies == []


async def test_who_is_known_sends_files_where_they_are_taken(asker: Asker, site: FakeSite, token: str) -> None:
    assert (await asker(Authorization=token).post(UPLOAD, content=b"a" * (3 << 20))).status_code == 200
    assert site.bodies == [3 << 20]
    elsewhere = await asker(Authorization=token).post("/api/federations/", content=b"a" * (3 << 20))
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (413, "gateway.body_too_long")
    too_long = await asker(Authorization=token).post(UPLOAD, content=b"a" * (SPOOL_BYTES // 2 + 1))
    assert too_long.status_code == 413


async def test_uploads_share_a_quota_and_give_it_back(asker: Asker, site: FakeSite, token: str, tmp_path: Path) -> None:
    site.may_answer.clear()
    first = asyncio.create_task(asker(Authorization=token).post(UPLOAD, content=b"a" * (3 << 20)))
    while not site.bodies:
        await asyncio.sleep(0)
    full = await asker(Authorization=token).post(UPLOAD, content=b"a" * (2 << 20))
    assert (full.status_code, full.json()["code"], full.headers["retry-after"]) == (503, "gateway.spool_full", "5")
    site.may_answer.set()
    assert (await first).status_code == 200
    assert (await asker(Authorization=token).post(UPLOAD, content=b"a" * (3 << 20))).status_code == 200
    assert list(tmp_path.iterdir()) == []


async def test_a_body_that_stalls_is_given_up(door: RequestGuard, site: FakeSite) -> None:
    answers = []
    begun: list[dict[str, object]] = [{"type": "http.request", "body": b"a", "more_body": True}]

    async def receive() -> dict[str, object]:
        return begun.pop() if begun else await asyncio.Event().wait() and {}

    async def send(event: object) -> None:
        answers.append(event)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/sign-in/",
        "headers": [(b"host", b"testserver")],
        "client": ("192.0.2.1", 1),
    }
    await in_front_of(door)({**scope, "scheme": "http"}, receive, send)
    assert answers[0]["status"] == 503
    assert site.bodies == []


async def test_an_address_has_its_turn_and_leaves_others_theirs(asker: Asker, site: FakeSite) -> None:
    site.may_answer.clear()
    one, other = asker("192.0.2.1"), asker("192.0.2.2")
    first = asyncio.create_task(one.get("/"))
    while not site.bodies:
        await asyncio.sleep(0)
    second = await one.get("/")
    assert (second.status_code, second.json()["code"], second.headers["retry-after"]) == (503, "gateway.busy", "5")
    theirs = asyncio.create_task(other.get("/"))
    while len(site.bodies) < 2:
        await asyncio.sleep(0)
    site.may_answer.set()
    assert [(await first).status_code, (await theirs).status_code] == [200, 200]


async def test_who_has_hung_up_while_waiting_is_not_answered(door: RequestGuard, asker: Asker, site: FakeSite) -> None:
    site.may_answer.clear()
    first = asyncio.create_task(asker().get("/first"))
    while not site.bodies:
        await asyncio.sleep(0)
    coming: list[dict[str, object]] = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"a"}]

    async def receive() -> dict[str, object]:
        return coming.pop()

    answers: list[object] = []

    async def send(event: object) -> None:
        answers.append(event)

    scope = {"type": "http", "scheme": "http", "method": "POST", "path": "/second", "client": ("192.0.2.1", 1)}
    second = asyncio.create_task(in_front_of(door)({**scope, "headers": [(b"host", b"testserver")]}, receive, send))
    while len(coming) > 1:
        await asyncio.sleep(0)
    site.may_answer.set()
    assert (await first).status_code == 200
    await second
    assert len(site.bodies) == 1
    assert answers == []


async def test_who_is_known_waits_behind_no_stranger(asker: Asker, site: FakeSite, token: str) -> None:
    site.may_answer.clear()
    waiting = [asyncio.create_task(asker(f"192.0.2.{number}").get("/")) for number in (1, 2)]
    while len(site.bodies) < 2:
        await asyncio.sleep(0)
    guessed = await asker("192.0.2.3", Cookie="sessionid=guessed").get("/api/devices/")
    assert (guessed.status_code, guessed.json()["code"]) == (503, "gateway.busy")
    known = asyncio.create_task(asker("192.0.2.1", Authorization=token).get("/api/devices/"))
    while len(site.bodies) < 3:
        await asyncio.sleep(0)
    site.may_answer.set()
    assert [answer.status_code for answer in await asyncio.gather(*waiting, known)] == [200] * 3


async def test_an_address_that_asks_too_often_has_to_wait(asker: Asker, settings) -> None:
    settings.REQUESTS_PER_MINUTE = 2
    eager, other = asker("192.0.2.1"), asker("192.0.2.2")
    answers = [await eager.get("/healthz") for _ in range(ADDRESS_TIMES * 2 + 1)]
    assert [answer.status_code for answer in answers] == [*[200] * ADDRESS_TIMES * 2, 429]
    assert answers[-1].json()["code"] == "gateway.too_many_requests"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 8
    assert (await other.get("/healthz")).status_code == 200


async def test_without_a_database_everybody_is_told_at_once(asker: Asker, site: FakeSite) -> None:
    AWAY.record_failure(DATABASE)
    try:
        answers = [await asker().get("/healthz"), await asker().post("/device/v1/check-in")]
        style = await asker().get("/static/style.css")
    finally:
        AWAY.record_answer(DATABASE)
    told = {(answer.status_code, answer.json()["code"], answer.headers["retry-after"]) for answer in answers}
    assert told == {(503, "gateway.database_away", "5")}
    assert style.status_code == 200


async def test_who_misses_the_database_first_is_told_so_too(
    asker: Asker, site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unanswered(_headers: object) -> None:
        raise OperationalError("unable to open database file")

    before = WATCH.suspicions
    monkeypatch.setattr(request_guard, "operator_behind", unanswered)
    answer = await asker(Authorization="Bearer cot_unknown").get("/api/devices/")
    assert (answer.status_code, answer.json()["code"]) == (503, "gateway.database_away")
    assert answer.headers["retry-after"] == "5"
    assert WATCH.suspicions == before + 1
    WATCH.join()


async def test_a_foreign_host_is_refused_with_what_to_do(asker: Asker, site: FakeSite) -> None:
    answer = await asker(Host="elsewhere.example:80").get("/sign-in/")
    assert (answer.status_code, answer.json()["code"]) == (422, "gateway.unknown_host")
    assert "COTERIE_PUBLIC_URL" in answer.json()["detail"]
    assert site.bodies == []


async def test_a_session_may_upload_as_a_token_may(asker: Asker, site: FakeSite) -> None:
    from django.test import Client

    def sign_in() -> str:
        client = Client()
        client.force_login(create_operator(username="ada").operator)
        return client.cookies["sessionid"].value

    session = await in_thread(sign_in)
    assert (await asker(Cookie=f"sessionid={session}").post(UPLOAD, content=b"a" * 5000)).status_code == 200
