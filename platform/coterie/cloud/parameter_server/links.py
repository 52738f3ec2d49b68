"""A worker's connections to the servers: many concurrent questions, each answered independently."""

import asyncio
import itertools
from asyncio import StreamReader, StreamWriter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from threading import Lock, Thread

from coterie.cloud.exchange.frames import Frame, pack, read_frame
from coterie.cloud.exchange.server import LOOPBACK
from coterie.cloud.parameter_server.messages import KEY
from coterie_wire.errors import WireError
from coterie_wire.tensors import Array

GONE = "a server of the model is gone"


class Links:
    """Connections read and written by their own thread, which also runs the callbacks of answers."""

    def __init__(self, ports: Sequence[int], hello: Mapping[str, str], *, most_bytes: int) -> None:
        """Raises OSError where a server does not listen."""
        self._most_bytes = most_bytes
        self._keys = itertools.count()
        self._lock = Lock()
        self._pending: dict[str, Future[Frame]] = {}
        self._gone = False
        self._writers: list[StreamWriter] = []
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, name="links", daemon=True).start()
        asyncio.run_coroutine_threadsafe(self._connect(ports, hello), self._loop).result()

    def ask(self, server: int, words: Mapping[str, str], tensors: Mapping[str, Array]) -> Future[Frame]:
        """A future of the answer; it fails with ConnectionError where none will come."""
        key, answer = str(next(self._keys)), Future[Frame]()
        question = pack({**words, KEY: key}, tensors)
        with self._lock:
            if self._gone:
                answer.set_exception(ConnectionError(GONE))
                return answer
            self._pending[key] = answer
        self._loop.call_soon_threadsafe(self._writers[server].write, question)
        return answer

    async def _connect(self, ports: Sequence[int], hello: Mapping[str, str]) -> None:
        self._listening = []
        for port in ports:
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.write(pack(hello, {}))
            self._writers.append(writer)
            self._listening.append(self._loop.create_task(self._listen(reader)))

    async def _listen(self, reader: StreamReader) -> None:
        try:
            while True:
                frame = await read_frame(reader, most_bytes=self._most_bytes)
                with self._lock:
                    answer = self._pending.pop(frame.words[KEY])
                answer.set_result(frame)
        except (WireError, OSError, asyncio.IncompleteReadError):
            with self._lock:
                self._gone = True
                lost = list(self._pending.values())
                self._pending.clear()
            for answer in lost:
                answer.set_exception(ConnectionError(GONE))
