"""Uploads: what the server's memory grows by while devices send updates of a large model."""

import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil

from coterie.config.announce import Ready
from coterie_learning.codec.float32 import Float32Codec
from tests.benchmarks.report import Figure
from tests.system.model import payload, spec_with
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform, prepare_state
from tests.system.scripted_device import ScriptedDevice

SIDE = 1581
"""25 million parameters: 100 MB."""
AT_ONCE = (1, 4)
BEFORE_MB = 301
"""With four at once, when the end of an upload read it whole."""
PACE = {"kind": "sync", "target_updates": 100, "min_updates": 1, "over_selection": 1, "absent_s": 3600}
"""Nothing is merged meanwhile: what a merge takes is another process's, which `merge` measures."""


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        seeded = prepare_state(root, pairs=len(AT_ONCE), side=SIDE, state=str(root / "state"))
        platform = Platform(root / "state")
        platform.start()
        try:
            with OperatorClient(platform.url, seeded.token) as operator:
                found = [
                    _figures(platform, operator, pair, devices)
                    for pair, devices in zip(seeded.pairs, AT_ONCE, strict=True)
                ]
        finally:
            platform.stop()
    return [figure for figures in found for figure in figures]


def _figures(platform: Platform, operator: OperatorClient, pair: str, devices: int) -> list[Figure]:
    name = f"{devices}-at-once"
    operator.start_federation(name, pair=pair, plan={"codec": {"kind": "float32"}, "pace": PACE})
    secret = operator.enrolment_token(tag=name, uses=devices)
    asked = [ScriptedDevice(platform.url, secret, f"{name} {number}") for number in range(devices)]
    parts = [device.assignment(1).assignment for device in asked]
    update = payload(1, Float32Codec(), spec=spec_with(SIDE))
    server = psutil.Process(platform.told(Ready)[-1].server_pid)
    before = server.memory_info().rss
    with _watched(server) as most, ThreadPoolExecutor(devices) as senders:
        began = time.monotonic()
        list(senders.map(lambda device, part: device.deliver(part, update), asked, parts))
        lasted = time.monotonic() - began
    for device in asked:
        device.close()
    grown_mb = (max(most) - before) / 1e6
    case = f"updates of {len(update) / 1e6:.0f} MB, {devices} at once"
    known = devices == AT_ONCE[-1]
    return [
        Figure(
            case,
            "memory of the server, growth at most",
            grown_mb,
            "MB",
            against=f"uploads read whole at their end, {BEFORE_MB} MB" if known else None,
            ratio=BEFORE_MB / grown_mb if known else None,
        ),
        Figure(case, "from the first byte to the last acceptance", lasted, "s"),
    ]


@contextmanager
def _watched(process: psutil.Process) -> Iterator[list[int]]:
    """What a process holds, in bytes, looked at every 10 ms."""
    ended, found = threading.Event(), [process.memory_info().rss]

    def watch() -> None:
        while not ended.wait(0.01):
            found.append(process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        ended.set()
        watcher.join()
