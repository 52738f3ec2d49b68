"""A console is told what is and what changes, catches up when it comes back, and goes when it may no longer listen."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import msgspec
import pytest
from django.conf import settings
from django.test import Client

from coterie.accounts.models import Operator
from coterie.accounts.services import create_operator, issue_token
from coterie.core.acting import Scope
from coterie.core.events import notify_consoles
from coterie.fleet.models import Device
from coterie.gateway.console.frames import AnyServerFrame, Changed, Documents, Hello, Snapshot, Watch, apply
from coterie.gateway.console.socket import PATH
from coterie.gateway.threads import in_thread
from tests.coterie.gateway.conftest import WAIT_S, application
from tests.coterie.world import make_device

pytestmark = pytest.mark.django_db(transaction=True)


class Console:
    """The other side of the socket, which keeps what it is told."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._to_app: asyncio.Queue[dict[str, object]] = asyncio.Queue()
        self._from_app: asyncio.Queue[dict[str, object]] = asyncio.Queue()
        self.documents: Documents = {}
        self.epoch = ""
        self.number = 0
        pairs = [(name.encode(), value.encode()) for name, value in {"host": "testserver", **headers}.items()]
        scope = {"type": "websocket", "path": PATH, "headers": pairs, "extensions": {}}
        self._to_app.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.create_task(application(scope, self._to_app.get, self._from_app.put))

    def say(self, frame: Hello | Watch) -> None:
        self._to_app.put_nowait({"type": "websocket.receive", "text": msgspec.json.encode(frame).decode()})

    async def event(self) -> dict[str, object]:
        return await asyncio.wait_for(self._from_app.get(), WAIT_S)

    async def frame(self) -> AnyServerFrame:
        text = str((await self.event())["text"])
        frame: AnyServerFrame = msgspec.json.decode(text, type=AnyServerFrame)
        if isinstance(frame, Snapshot):
            self.epoch = frame.epoch
        self.number = frame.number
        self.documents = apply(self.documents, frame)
        return frame

    async def until(self, holds: Callable[[Documents], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not holds(self.documents):
                await self.frame()

    async def close(self) -> None:
        self._to_app.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait_for(self.task, WAIT_S)


@pytest.fixture
async def consoles() -> AsyncIterator[Callable[[dict[str, str]], Console]]:
    opened: list[Console] = []

    def open_console(headers: dict[str, str]) -> Console:
        opened.append(Console(headers))
        return opened[-1]

    yield open_console
    for console in opened:
        await console.close()


@pytest.fixture
def token() -> dict[str, str]:
    operator = create_operator(username="ada").operator
    _, secret = issue_token(operator=operator, name="ci", now=datetime.now(UTC))
    return {"authorization": f"Bearer {secret}"}


async def open_and_greet(console: Console, **hello: object) -> AnyServerFrame:
    assert await console.event() == {"type": "websocket.accept"}
    console.say(Hello(**hello))
    return await console.frame()


async def test_tells_what_is_and_then_what_changes(consoles, token: dict[str, str]) -> None:
    console = consoles(token)
    assert isinstance(await open_and_greet(console), Snapshot)
    assert console.documents["fleet", "fleet"].devices == 0

    def join() -> None:
        make_device("kitchen")
        notify_consoles("fleet")

    await in_thread(join)
    await console.until(lambda documents: documents["fleet", "fleet"].devices == 1)
    assert not any(key.kind == "device" for key in console.documents), "it watches none"


async def test_follows_the_devices_that_it_shows(consoles, token: dict[str, str]) -> None:
    shown, other = await in_thread(lambda: (make_device("shown"), make_device("other")))
    console, second = consoles(token), consoles(token)
    for each in (console, second):
        await open_and_greet(each, devices=(str(shown.pk),))
        assert each.documents["device", str(shown.pk)].name == "shown"

    def rename() -> None:
        Device.objects.update(name="renamed")
        notify_consoles("fleet")

    await in_thread(rename)
    await console.until(lambda documents: documents["device", str(shown.pk)].name == "renamed")
    second.say(Watch((str(other.pk),)))
    await second.until(lambda documents: ("device", str(other.pk)) in documents)
    assert ("device", str(other.pk)) not in console.documents


@pytest.mark.long
async def test_who_comes_back_is_told_what_it_missed(consoles, token: dict[str, str]) -> None:
    stays, leaves = consoles(token), consoles(token)
    for each in (stays, leaves):
        await open_and_greet(each)
    await leaves.close()

    def join() -> None:
        make_device("kitchen")
        notify_consoles("fleet")

    await in_thread(join)
    await stays.until(lambda documents: documents["fleet", "fleet"].devices == 1)
    back = consoles(token)
    back.documents = leaves.documents
    assert isinstance(await open_and_greet(back, epoch=leaves.epoch, number=leaves.number), Changed)
    await back.until(lambda documents: documents == stays.documents)
    stranger = consoles(token)
    assert isinstance(await open_and_greet(stranger, epoch="another", number=3), Snapshot)


async def test_a_browser_listens_with_its_session_and_from_our_pages_alone(consoles) -> None:
    def sign_in() -> str:
        client = Client()
        client.force_login(create_operator(username="ada").operator)
        return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"

    cookie = await in_thread(sign_in)
    ours = consoles({"cookie": cookie, "origin": "http://testserver"})
    assert isinstance(await open_and_greet(ours), Snapshot)
    for headers, code in (
        ({"cookie": cookie, "origin": "https://evil.example"}, "gateway.foreign_origin"),
        ({"cookie": cookie}, "gateway.foreign_origin"),
        ({"cookie": "sessionid=guessed", "origin": "http://testserver"}, "acting.nobody"),
        ({"origin": "http://testserver"}, "acting.nobody"),
        ({"authorization": "Bearer cot_guessed"}, "accounts.token_invalid"),
    ):
        assert await consoles(headers).event() == {"type": "websocket.close", "code": 1008, "reason": code}


async def test_a_token_that_may_not_read_hears_nothing(consoles, token: dict[str, str]) -> None:
    def narrow() -> str:
        operator = Operator.objects.get()
        return issue_token(operator=operator, name="x", scopes=[Scope.FLEET], now=datetime.now(UTC)).secret

    console = consoles({"authorization": f"Bearer {await in_thread(narrow)}"})
    assert (await console.event())["reason"] == "acting.scope_needed"


@pytest.mark.parametrize("text", ["", "{", '{"frame":"hello","number":-1}', '{"frame":"watch","devices":[]}'])
async def test_closes_on_what_is_no_greeting(text: str, consoles, token: dict[str, str]) -> None:
    console = consoles(token)
    await console.event()
    console._to_app.put_nowait({"type": "websocket.receive", "text": text})
    assert (await console.event())["code"] == 1007
