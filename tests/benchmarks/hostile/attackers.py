"""Many connections that send what is no good, one after the other, from many addresses of this machine."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from tests.benchmarks.hostile.kinds import Context, Make

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
    port: int,
    kinds: Mapping[str, Make],
    context: Context,
    *,
    connections: int,
    requests: int | None = None,
    seconds: float = 600.0,
    seed: int = 0,
) -> Outcome:
    """Send until so many requests or seconds are over."""
    outcome, ends_at = Outcome(), time.monotonic() + seconds
    slow = max(1, int(connections * SLOW_SHARE))

    async def one(number: int) -> None:
        rng = Random(f"{seed}:{number}")
        names = sorted(kinds)
        rng.shuffle(names)
        turn = 0
        while time.monotonic() < ends_at and (requests is None or outcome.requests < requests):
            name = names[turn % len(names)]
            turn += 1
            outcome.sent[name] += 1
            await _send(port, number, name, kinds[name](rng, context), outcome, slow=number < slow)

    await asyncio.gather(*(one(number) for number in range(connections)))
    return outcome


async def _send(port: int, number: int, name: str, data: bytes, outcome: Outcome, *, slow: bool) -> None:
    address = f"127.0.0.{2 + number % ADDRESSES}"
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    except OSError:
        outcome.answers["not connected"] += 1
        return
    try:
        if slow:
            for start in range(3):
                writer.write(data[start : start + 1])
                await asyncio.sleep(0.5)
            data = data[3:]
        writer.write(data)
        answer = await asyncio.wait_for(_answer(reader, writer), READ_S)
    except TimeoutError:
        outcome.answers["hung up first"] += 1
        return
    except OSError:
        outcome.answers["cut off"] += 1
        return
    finally:
        writer.transport.abort()
    status = answer[9:12].decode("latin-1") if answer.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")) else "cut off"
    outcome.answers[status] += 1
    if status.startswith("5") and status != "503":
        outcome.broken[f"{name}: {status}"] += 1


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    reading = asyncio.ensure_future(reader.read(1 << 16))
    try:
        await writer.drain()
    except OSError:
        if not reading.done():
            await asyncio.wait([reading], timeout=0.1)
    return await reading
