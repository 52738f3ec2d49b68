"""What a platform in embedded mode takes of the processor while nothing happens: processor time of the server.

Three times of a minute: without a federation, with one that waits for more devices than there are, and the same while
devices check in that have nothing new to say.
"""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.fleet.devices import Fleet
from tests.benchmarks.fleet.platforms import EMBEDDED, Running, populated
from tests.benchmarks.report import Figure
from tests.system.operator_client import OperatorClient

DEVICES = 100
SETTLES_S = 20.0
"""After the start, and after a change."""
LASTS_S = 60.0
MOST_PERCENT = 1.0
EVERY_S = 15.0
"""Between two check-ins of a device that waits."""


def measure() -> Sequence[Figure]:
    """Some five minutes."""
    with (
        tempfile.TemporaryDirectory() as directory,
        EMBEDDED.start(Path(directory), populated(devices=DEVICES, awake=0)) as platform,
    ):
        return asyncio.run(_while_idle(platform))


async def _while_idle(platform: Running) -> Sequence[Figure]:
    found = [await _taken("no federation", platform)]
    with OperatorClient(platform.url, platform.seeded.token) as operator:
        pace = {"kind": "sync", "target_updates": 2 * DEVICES, "min_updates": 2 * DEVICES}
        operator.start_federation("waiting", pair=platform.seeded.pairs[0], plan={"pace": pace})
    found.append(await _taken(f"a federation waits for devices, {DEVICES} are silent", platform))
    speaking = asyncio.create_task(_speak(Fleet(platform.url, devices=DEVICES)))
    found.append(await _taken(f"the same, {DEVICES} devices check in each {EVERY_S:g} s", platform, target=False))
    speaking.cancel()
    load = os.getloadavg()[1]
    return [*found, Figure("this machine", "processes that wanted a core, over the last 5 minutes", load, "")]


async def _taken(case: str, platform: Running, *, target: bool = True) -> Figure:
    await asyncio.sleep(SETTLES_S)
    before_s = platform.processor_s()
    await asyncio.sleep(LASTS_S)
    percent = 100 * (platform.processor_s() - before_s) / LASTS_S
    if not target:
        return Figure(case, "processor", percent, "% of a core")
    against = f"target < {MOST_PERCENT:g} %"
    return Figure(case, "processor", percent, "% of a core", against, MOST_PERCENT / percent)


async def _speak(fleet: Fleet) -> None:
    while True:
        await fleet.check_in(1)
        await asyncio.sleep(EVERY_S / DEVICES)
