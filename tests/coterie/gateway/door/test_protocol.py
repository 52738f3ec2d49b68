"""A connection costs what its bounds allow, whatever it sends, does not send, or does not read."""

import json

import pytest

from coterie_wire.messages import MAX_MESSAGE_BYTES
from tests.coterie.gateway.door.conftest import SMALL, Served, eventually

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


LONG = 1 << 20
"""More than the loop reads at once: what it does is bounded by that besides."""


def code_of(answer: bytes) -> str:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    return str(json.loads(body)["code"])


async def test_pipelined_requests_are_answered_in_their_order(served: Served) -> None:
    client = await served.open()
    await client.send(GET * SMALL.pipelined)
    for _ in range(SMALL.pipelined):
        assert (await client.head()).startswith(b"HTTP/1.1 200")


async def test_who_pipelines_without_end_is_cut_off(served: Served) -> None:
    served.may_answer.clear()
    client = await served.open()
    await client.send(GET * 1000)
    assert await client.rest() == b""
    assert served.begun == 1, "nothing that waited was begun"


async def test_nothing_is_read_while_requests_wait(served: Served) -> None:
    served.may_answer.clear()
    client = await served.open()
    await client.send(GET * 2)
    await eventually(lambda: served.begun == 1)
    large = b"POST /healthz HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n"
    client.writer.write(large + b"a" * (64 << 20))
    for _ in range(200):
        served.may_answer.clear()
        await eventually(lambda: True)
    assert client.writer.transport.get_write_buffer_size() > 32 << 20, "the kernel's buffers hold the little that went"


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"GET / HTTP/1.1\r\nX: " + b"a" * LONG, b"431", "gateway.head_too_large"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 4096 + b"\r\n\r\n", b"431", "gateway.head_too_large"),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 13, b"431", "gateway.head_too_large"),
        (b"GET /" + b"a" * 300 + b" HTTP/1.1\r\n", b"414", "gateway.address_too_long"),
        (b"no request\r\n\r\n", b"400", "gateway.malformed_request"),
        (b"GET /\xff HTTP/1.1\r\n\r\n", b"400", "gateway.malformed_request"),
        (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400", "gateway.malformed_request"),
        (b"GET / HTTP/1.1\r\nX", b"408", "gateway.head_stalled"),
        (b"BREW /pot HTTP/1.1\r\n\r\n", b"405", "gateway.unknown_method"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400", "gateway.malformed_request"),
    ],
    ids=[
        "endless header",
        "long header",
        "many headers",
        "long address",
        "no HTTP",
        "address of other bytes",
        "negative length",
        "half a head",
        "unknown method",
        "TLS",
    ],
)
async def test_a_head_is_short_and_comes_soon(served: Served, sent: bytes, status: bytes, code: str) -> None:
    client = await served.open()
    await client.send(sent)
    answer = await client.rest()
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert code_of(answer) == code
    assert served.begun == 0


async def test_trailers_are_bounded_as_headers_are(served: Served) -> None:
    client = await served.open()
    served.may_answer.clear()
    await client.send(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"a" * LONG)
    assert await client.rest() == b""


async def test_who_says_nothing_is_let_go(served: Served) -> None:
    client = await served.open()
    assert await client.rest() == b""


async def test_what_is_sent_between_requests_keeps_nothing_open(served: Served) -> None:
    client = await served.open()
    await client.send(GET)
    await client.head()
    await client.send(b"\r\n")
    assert await client.rest() == b""


async def test_a_refused_body_is_dropped_and_its_sender_reads_the_answer(served: Served) -> None:
    client = await served.open()
    await client.send(b"POST / HTTP/1.1\r\nContent-Length: 600000\r\n\r\n" + b"a" * 500_000)
    assert (await client.rest()).startswith(b"HTTP/1.1 200"), "the application answers before the body is there"
    other = await served.open()
    await other.send(b"POST / HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n" + b"a" * (16 << 20))
    await other.rest()
    await eventually(lambda: served.connections.refusal("127.0.0.1") is None)


async def test_who_reads_nothing_is_cut_off(served: Served) -> None:
    served.size_bytes = 64 << 20
    client = await served.open()
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # asyncio types it a writer's
    await client.send(GET)
    await eventually(lambda: served.begun == 1)
    await eventually(lambda: served.connections.open == 0)


async def test_an_address_has_so_many_connections_and_no_more(served: Served) -> None:
    clients = [await served.open() for _ in range(SMALL.connections_per_address)]
    served.may_answer.clear()
    for client in clients:
        await client.send(GET)
    await eventually(lambda: served.begun == len(clients))
    refused = await (await served.open()).rest()
    assert (refused[:12], code_of(refused)) == (b"HTTP/1.1 429", "gateway.too_many_connections")
    assert b"retry-after: 5" in refused
    clients[0].writer.close()
    await eventually(lambda: served.connections.refusal("127.0.0.1") is None)


HANDSHAKE = (
    b"GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def frame(opcode: int, payload: bytes = b"", *, last: bool = True) -> bytes:
    """A masked frame of a short payload (RFC 6455, 5.2)."""
    assert len(payload) < 126
    return bytes([opcode | (0x80 if last else 0), 0x80 | len(payload), 0, 0, 0, 0]) + payload


async def test_an_unknown_method_is_told_which_there_are(served: Served) -> None:
    client = await served.open()
    await client.send(b"BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" in await client.rest()


@pytest.mark.parametrize(
    ("missing", "status"), [(b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", b"400"), (b": 13", b"400")]
)
async def test_a_handshake_that_is_none_is_refused_with_a_problem(
    served: Served, missing: bytes, status: bytes
) -> None:
    client = await served.open()
    await client.send(HANDSHAKE.replace(missing, b": 12" if missing == b": 13" else b""))
    answer = await client.rest()
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"application/problem+json" in answer
    assert code_of(answer) == "gateway.no_handshake"


async def test_an_accepted_socket_does_not_count_against_its_address(served: Served) -> None:
    for _ in range(SMALL.connections_per_address + 2):
        client = await served.open()
        await client.send(HANDSHAKE)
        assert (await client.head()).startswith(b"HTTP/1.1 101")
    assert served.connections.refusal("127.0.0.1") is None


@pytest.mark.parametrize(
    "flood",
    [frame(1, b"x") * 100, frame(1, b"x", last=False) + frame(0, last=False) * 100],
    ids=["messages", "empty parts"],
)
async def test_a_socket_queues_little(served: Served, flood: bytes) -> None:
    served.may_answer.clear()
    client = await served.open()
    await client.send(HANDSHAKE)
    await client.head()
    await client.send(flood)
    assert await client.rest() == CLOSED


CLOSED = bytes([0x88, 25]) + (1008).to_bytes(2, "big") + b"gateway.too_many_frames"
"""A close frame (RFC 6455, 5.5.1)."""


async def test_pings_of_who_reads_nothing_are_not_read(served: Served) -> None:
    client = await served.open()
    await client.send(HANDSHAKE)
    await client.head()
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]
    client.writer.write(frame(9, b"p" * 100) * 400_000)
    for _ in range(2000):
        await eventually(lambda: True)
    assert client.writer.transport.get_write_buffer_size() > MAX_MESSAGE_BYTES, "the server reads on"
    client.writer.transport.abort()
