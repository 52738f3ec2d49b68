"""A line between two namespaces that delays packets and loses some, where the kernel has no netem: two TUN devices.

``python -m tests.nat.line NAMESPACE NAMESPACE DELAY_MS LOSS`` makes a device ``line`` in each, and says so.
"""

import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

from tests.nat.network import enter

_TUNSETIFF, _TUN, _NO_INFO = 0x400454CA, 0x0001, 0x1000
PACKET_BYTES = 2048


def open_tun(namespace: str) -> int:
    """A device ``line`` in the namespace, which this thread enters."""
    with Path("/run/netns", namespace).open("rb") as entry:
        enter(entry)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH", b"line", _TUN | _NO_INFO))
    return tun


def main(one: str, other: str, delay_ms: str, loss: str) -> None:
    ends = open_tun(one), open_tun(other)
    rng, order = random.Random(1), count()
    flying: list[tuple[float, int, int, bytes]] = []
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        wait_s = max(0.0, flying[0][0] - time.monotonic()) if flying else None
        for end in select.select(ends, (), (), wait_s)[0]:
            to = ends[1 - ends.index(end)]
            with suppress(BlockingIOError):
                while True:
                    packet = os.read(end, PACKET_BYTES)
                    if rng.random() >= float(loss):
                        heapq.heappush(flying, (time.monotonic() + float(delay_ms) / 1000, next(order), to, packet))
        while flying and flying[0][0] <= time.monotonic():
            _, _, to, packet = heapq.heappop(flying)
            with suppress(OSError):  # the device is down, or its queue is full
                os.write(to, packet)


if __name__ == "__main__":
    main(*sys.argv[1:])
