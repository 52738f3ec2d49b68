"""Many connections that send what is no good, one after the other, from many addresses of this machine."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeVar

C = TypeVar("C")
Target = int | Path
"""A port of this machine, or a Unix socket."""
ADDRESSES = 50
READ_S = 2.0
"""How long an answer is waited for; what is half a request gets none sooner."""
SLOW_SHARE = 0.05
"""Of the connections: those that send a byte now and then, and hold on."""


@dataclass
class Outcome:
    """What came of it all."""

    sent: Counter[str] = field(default_factory=Counter)
    """Requests by kind."""
    answers: Counter[str] = field(default_factory=Counter)
    """By status, or how it ended without one."""
    broken: Counter[str] = field(default_factory=Counter)
    """Answers that a platform must never give, by kind and status."""

    @property
    def requests(self) -> int:
        return sum(self.sent.values())

    def add(self, other: "Outcome") -> None:
        """What came of another attack, too."""
        self.sent += other.sent
        self.answers += other.answers
        self.broken += other.broken


async def attack(
    target: Target,
    kinds: Mapping[str, Callable[[Random, C], bytes]],
    context: C,
    *,
    connections: int,
    requests: int | None = None,
    seconds: float = 600.0,
    announced: frozenset[str] = frozenset({"503"}),
) -> Outcome:
    """Send until so many requests or seconds are over; `announced` are the answers of 5xx that it may give."""
    outcome, ends_at = Outcome(), time.monotonic() + seconds
    slow = max(1, int(connections * SLOW_SHARE))

    async def one(number: int) -> None:
        rng = Random(number)
        names = sorted(kinds)
        rng.shuffle(names)
        turn = 0
        while time.monotonic() < ends_at and (requests is None or outcome.requests < requests):
            name = names[turn % len(names)]
            turn += 1
            outcome.sent[name] += 1
            status = await _send(target, number, kinds[name](rng, context), slow=number < slow)
            outcome.answers[status] += 1
            if status.startswith("5") and status not in announced:
                outcome.broken[f"{name}: {status}"] += 1

    await asyncio.gather(*(one(number) for number in range(connections)))
    return outcome


async def _send(target: Target, number: int, data: bytes, *, slow: bool) -> str:
    """The status of the answer, or how it ended without one."""
    try:
        reader, writer = await _connected(target, f"127.0.0.{2 + number % ADDRESSES}")
    except OSError:
        return "not connected"
    try:
        if slow:
            for start in range(3):
                writer.write(data[start : start + 1])
                await asyncio.sleep(0.5)
            data = data[3:]
        writer.write(data)
        answer = await asyncio.wait_for(_answer(reader, writer), READ_S)
    except TimeoutError:
        return "hung up first"
    except OSError:
        return "cut off"
    finally:
        writer.transport.abort()
    return answer[9:12].decode("latin-1") if answer.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")) else "cut off"


async def _connected(target: Target, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(target, Path):
        return await asyncio.open_unix_connection(target)
    return await asyncio.open_connection("127.0.0.1", target, local_addr=(address, 0))


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    reading = asyncio.ensure_future(reader.read(1 << 16))
    try:
        await writer.drain()
    except OSError:
        if not reading.done():
            await asyncio.wait([reading], timeout=0.1)
    return await reading
