"""A service of predictions that computes nothing: what its callers wait for is themselves and the machine.

``python -m tests.benchmarks.processes.null_service HOME ANSWER`` listens on a Unix socket below HOME, writes serve.json
as ``coterie-agent serve`` does, and answers each request with the same ANSWER, a text of JSON.
"""

import asyncio
import sys
from pathlib import Path

import msgspec

from coterie_agent.home import Home, write_private
from coterie_agent.loopback import Address

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


class _Connection(asyncio.Protocol):
    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._arrived = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        head, end, body = self._arrived.partition(_HEAD_END)
        if end and len(body) >= _length_of(bytes(head)):
            self._arrived.clear()  # a caller asks again when it has its answer
            self._transport.write(self._answer)


def _length_of(head: bytes) -> int:
    _, _, rest = head.lower().partition(_LENGTH)
    return int(rest.split(b"\r\n")[0] or 0)


async def _serve(home: Home, body: bytes) -> None:
    path = home.root / "null.sock"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    server = await asyncio.get_running_loop().create_unix_server(lambda: _Connection(head + body), path)
    write_private(home.serving, msgspec.json.encode(Address(url="", token="", socket=str(path))))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(Home(Path(sys.argv[1])), sys.argv[2].encode()))
