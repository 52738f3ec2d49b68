"""The first process's side: workers connect and disconnect, each with the newest question that it has not answered
yet.
"""

import asyncio
import hmac
import logging
from asyncio import StreamReader, StreamWriter
from typing import NamedTuple

from coterie.cloud.exchange.frames import Frame, read_frame
from coterie.core.errors import CoterieError
from coterie_wire.errors import WireError

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
HELLO_S = 60.0
HELLO_BYTES = 1 << 16
SECRET, WORKER = "secret", "worker"


class Reply(NamedTuple):
    """A worker's answer."""

    worker: int
    frame: Frame


class Exchange:
    """A question without an answer is sent again when its worker reconnects."""

    def __init__(self, workers: int, *, secret: str, most_bytes: int) -> None:
        self._secret, self._most_bytes = secret, most_bytes
        self._questions: list[bytes | None] = [None] * workers
        self._has_question = [asyncio.Event() for _ in range(workers)]
        self._writers: dict[int, StreamWriter] = {}
        self._replies: asyncio.Queue[Reply | CoterieError] = asyncio.Queue()
        self._server: asyncio.Server | None = None
        self._served: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        """Listen; returns the port."""
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Close all connections, and wait for their tasks."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers.values():
            writer.transport.abort()
        if self._served:
            await asyncio.wait(self._served)

    def ask(self, worker: int, question: bytes) -> None:
        """Send a question to `worker`; replaces a question that has not been sent yet."""
        self._questions[worker] = question
        self._has_question[worker].set()

    def fail(self, error: CoterieError) -> None:
        """Have the next `reply` raise `error`."""
        self._replies.put_nowait(error)

    async def reply(self) -> Reply:
        """The next answer. Raises the error given to `fail`."""
        found = await self._replies.get()
        if isinstance(found, CoterieError):
            raise found
        return found

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        sender: asyncio.Task[None] | None = None
        served = asyncio.current_task()
        assert served is not None, "each connection has one"
        self._served.add(served)
        try:
            worker = await asyncio.wait_for(self._greeted(reader), HELLO_S)
            if (former := self._writers.get(worker)) is not None:
                former.close()
            self._writers[worker] = writer
            if self._questions[worker] is not None:
                self._has_question[worker].set()
            sender = asyncio.create_task(self._send(worker, writer))
            while True:
                frame = await read_frame(reader, most_bytes=self._most_bytes)
                self._replies.put_nowait(Reply(worker, frame))
        except (WireError, TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            logger.info("a worker is gone: %s", error)
        finally:
            if sender is not None:
                sender.cancel()
            writer.close()
            self._served.discard(served)

    async def _greeted(self, reader: StreamReader) -> int:
        words = (await read_frame(reader, most_bytes=HELLO_BYTES)).words
        number = words.get(WORKER, "")
        known = number.isdecimal() and int(number) < len(self._questions)
        if not known or not hmac.compare_digest(words.get(SECRET, "").encode(), self._secret.encode()):
            raise WireError("wire.malformed", "a stranger")
        return int(number)

    async def _send(self, worker: int, writer: StreamWriter) -> None:
        asked = self._has_question[worker]
        while True:
            await asked.wait()
            asked.clear()
            question = self._questions[worker]
            assert question is not None, "it was asked"
            writer.write(question)
            await writer.drain()
