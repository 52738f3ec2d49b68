"""The load of a soak: sockets that come and go, check-ins, rounds, readers of lists and tables, a webhook."""

import asyncio
import hashlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus

import httpx
import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from coterie_wire.bundle import Manifest
from coterie_wire.conditions import Conditions
from coterie_wire.messages import (
    Assignment,
    CheckIn,
    DataMetadata,
    OfferUpdate,
    PlatformFrame,
    Problem,
    Refusal,
    Reply,
    Request,
    UploadState,
    Wake,
)
from coterie_wire.version import PROTOCOL
from tests.benchmarks.processes.populate_fleet import AWAKE, credential
from tests.system.model import payload
from tests.system.operator_client import OperatorClient
from tests.system.scripted_device import NAMES

CHECK_IN_S = 90.0
"""On the mean, between two check-ins on a socket."""
CONNECTED_S = 600.0
"""On the mean, that a socket is held."""
BY_HTTP_S = 2.0
"""Between two check-ins by devices without a socket."""
TRAINING_S = (4.0, 8.0)
CHANGES = 0.2
"""Share of the check-ins that tell other conditions than the one before."""
READ_S = 5.0
TABLE_S = 60.0
PAUSE_S = 8.0
UPDATES = 4
"""Of each round of either federation."""
LISTS = (
    "devices/?page_size=50",
    "devices/?search=device-7&sort=-last_seen_at",
    "rounds/?sort=-number",
    "assignments/?page_size=50",
    "versions/?page_size=50",
    "federations/",
    "overview/",
    "webhook-deliveries/",
    "platform/",
)
TABLES = ("devices/?format=csv", "rounds/?format=csv", "assignments/?format=csv")
EVENTS = ["round.opened", "round.published", "round.abandoned", "champion.changed"]
FAILING = 0.02
"""Share of a webhook's deliveries that its receiver refuses, so that they come again."""
LATE = "410 rounds.assignment_closed"
"""What devices hear that were asked besides those that a round waited for."""
TRANSIENT = (httpx.HTTPError, WebSocketException, OSError, TimeoutError)


class _Answered(msgspec.Struct):
    """The part of a directive that the devices act on."""

    assignment: Assignment | None = None


class Load:
    """Plays everything from one event loop; counts what it did, and what went wrong with it."""

    def __init__(self, urls: Sequence[str], token: str, *, devices: int, sockets: int, seed: int = 0) -> None:
        self.done, self.problems = Counter[str](), Counter[str]()
        self._urls, self._token = urls, token
        self._devices, self._sockets = devices, sockets
        self._random = random.Random(seed)
        limits = httpx.Limits(max_connections=20, max_keepalive_connections=10)
        self._http = httpx.AsyncClient(timeout=30, limits=limits)
        self._parts: set[asyncio.Task[None]] = set()

    def begin(self, pairs: Sequence[str], held_out: str, webhook: str) -> None:
        """Start two federations of the devices with sockets: one merges in the worker, the other in child processes."""
        pace = {"kind": "sync", "target_updates": UPDATES, "min_updates": UPDATES, "over_selection": 1.5}
        plan = {"pace": {**pace, "pause_s": PAUSE_S, "deadline_s": 120.0}}
        forever = {"device_tag": AWAKE, "rounds_wanted": 100_000}
        with OperatorClient(self._urls[0], self._token) as operator:
            operator.post("/webhooks/", {"name": "soak", "url": webhook, "events": EVENTS})
            operator.start_federation("in-worker", pair=pairs[0], plan=plan, **forever)
            slow = {"pace": {**plan["pace"], "pause_s": 5 * PAUSE_S}}
            operator.start_federation("in-child", pair=pairs[1], plan=slow, held_out=held_out, **forever)

    async def play(self, ended: asyncio.Event) -> None:
        """Everything at once, until then."""
        async with asyncio.TaskGroup() as playing:
            tasks = [
                *(playing.create_task(self._hold(number)) for number in range(self._sockets)),
                playing.create_task(self._again("check-in by HTTP", BY_HTTP_S, self._check_in_by_http)),
                playing.create_task(self._again("list", READ_S, self._read_list)),
                playing.create_task(self._again("table", TABLE_S, self._read_table)),
            ]
            await ended.wait()
            for task in (*tasks, *self._parts):
                task.cancel()
        await self._http.aclose()

    async def _again(self, what: str, every_s: float, once: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(every_s)
            await self._counted(what, once())

    async def _counted(self, what: str, doing: Awaitable[None]) -> None:
        try:
            await doing
        except TRANSIENT as error:
            words = _words(error)
            if words == LATE:
                self.done["update that the round needed no more"] += 1
            else:
                self.problems[f"{what}: {words}"] += 1
        else:
            self.done[what] += 1

    async def _check_in_by_http(self) -> None:
        number = self._random.randrange(self._sockets, self._devices)
        await self._asked(number, "check-in", self._check_in(number))

    async def _read_list(self) -> None:
        await self._read(self._random.choice(LISTS))

    async def _read_table(self) -> None:
        await self._read(self._random.choice(TABLES))

    async def _read(self, path: str) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        (await self._http.get(f"{self._any_url()}/api/{path}", headers=headers)).raise_for_status()

    async def _hold(self, number: int) -> None:
        """A device's life: socket after socket."""
        await asyncio.sleep(self._random.uniform(0, CHECK_IN_S))
        while True:
            await self._counted("socket", self._hold_one(number))
            await asyncio.sleep(self._random.uniform(1, 5))

    async def _hold_one(self, number: int) -> None:
        host = self._urls[number % len(self._urls)].removeprefix("http://")
        headers = {"Authorization": f"Bearer {credential(number)}"}
        url = f"ws://{host}/device/v1/socket"
        async with connect(url, additional_headers=headers, compression=None, proxy=None, open_timeout=60) as socket:
            until_s = time.monotonic() + self._random.expovariate(1 / CONNECTED_S)
            ask_at_s = time.monotonic()
            while time.monotonic() < until_s:
                if time.monotonic() >= ask_at_s:
                    await self._ask(socket, number)
                    ask_at_s = time.monotonic() + self._random.uniform(0.5, 1.5) * CHECK_IN_S
                try:
                    async with asyncio.timeout(ask_at_s - time.monotonic()):
                        frame = msgspec.json.decode(await socket.recv(), type=PlatformFrame)
                except TimeoutError:
                    continue
                if isinstance(frame, Wake):
                    self.done["wake-up"] += 1
                    await self._ask(socket, number)
                elif isinstance(frame, Refusal):
                    self.problems[f"check-in on a socket: {frame.problem.code}"] += 1
                elif isinstance(frame, Reply):
                    self._take_part(number, msgspec.json.decode(frame.body, type=_Answered).assignment)

    async def _ask(self, socket: ClientConnection, number: int) -> None:
        body = msgspec.Raw(msgspec.json.encode(self._check_in(number)))
        await socket.send(msgspec.json.encode(Request(number, "check-in", body)).decode())
        self.done["check-in on a socket"] += 1

    def _take_part(self, number: int, assignment: Assignment | None) -> None:
        known = {part.get_name() for part in self._parts}
        if assignment is None or assignment.assignment in known:
            return
        doing = self._counted("update", self._deliver(number, assignment))
        part = asyncio.create_task(doing, name=assignment.assignment)
        self._parts.add(part)
        part.add_done_callback(self._parts.discard)

    async def _deliver(self, number: int, assignment: Assignment) -> None:
        """Fetch the version, wait as long as training takes, and send an update that no round has had."""
        headers = {"Authorization": f"Bearer {credential(number)}"}
        device = f"{self._any_url()}/device/v1"
        version = msgspec.json.decode(assignment.manifest.manifest, type=Manifest).parameters.sha256
        (await self._http.get(f"{device}/blobs/{version}", headers=headers)).raise_for_status()
        await asyncio.sleep(self._random.uniform(*TRAINING_S))
        update = payload(self._random.getrandbits(32))
        offer = OfferUpdate(
            assignment=assignment.assignment,
            sha256=hashlib.sha256(update).hexdigest(),
            size_bytes=len(update),
            samples=20,
            steps_done=5,
            steps_total=5,
            loss_before=1.5,
            loss_after=1.0,
            accuracy_before=0.5,
            train_s=1.0,
        )
        answer = await self._asked(number, NAMES[OfferUpdate][0], offer)
        offset = str(msgspec.json.decode(answer, type=UploadState).offset)
        sent = await self._http.patch(
            f"{device}/uploads/{assignment.assignment}", content=update, headers={**headers, "Upload-Offset": offset}
        )
        sent.raise_for_status()

    async def _asked(self, number: int, name: str, message: msgspec.Struct) -> bytes:
        headers = {"Authorization": f"Bearer {credential(number)}"}
        url = f"{self._any_url()}/device/v1/{name}"
        answer = await self._http.post(url, content=msgspec.json.encode(message), headers=headers)
        return answer.raise_for_status().content

    def _check_in(self, number: int) -> CheckIn:
        temperature_c = 20.0 + 10 * (self._random.random() < CHANGES)
        conditions = Conditions(charging="yes", network="wifi", temperature_c=temperature_c)
        return CheckIn(PROTOCOL, conditions, metadata=DataMetadata(samples=100 + number % 7))

    def _any_url(self) -> str:
        return self._random.choice(self._urls)


@asynccontextmanager
async def receiver(load: Load, *, seed: int = 0) -> AsyncIterator[str]:
    """The URL of a program that webhooks call, which refuses some of it."""
    moments = random.Random(seed)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        status = HTTPStatus.SERVICE_UNAVAILABLE if moments.random() < FAILING else HTTPStatus.NO_CONTENT
        load.done["webhook refused" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "webhook taken"] += 1
        writer.write(f"HTTP/1.1 {status} {status.phrase}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"


def _words(error: BaseException) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        try:
            problem = msgspec.json.decode(error.response.content, type=Problem)
        except msgspec.DecodeError:
            return f"{error.response.status_code} {error.response.text[:100]}"
        return f"{problem.status} {problem.code}"
    return f"{type(error).__name__}: {error}"
