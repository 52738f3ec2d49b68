"""What a device costs the platform in fleets of 100 to 100,000: check-ins, waking, assignments and enrolment.

The platform runs as real processes in either mode, on the machine that plays the devices, too. Where only the
platform's own work counts the figure is processor time of its processes, the database's among them; seconds on the
clock are those of a machine of two cores that nobody else uses.
"""

import asyncio
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.benchmarks.fleet.devices import Fleet, Woken
from tests.benchmarks.fleet.platforms import EMBEDDED, SCALED, Mode, Running, populated
from tests.benchmarks.processes.populate_fleet import AWAKE
from tests.benchmarks.report import Figure
from tests.system.operator_client import OperatorClient

SIZES = (100, 1_000, 10_000, 100_000)
SOCKETS = 10_000
CHECK_INS = 3_000
ENROLMENTS = 500
IDLE_S = 10.0
CHECK_IN_MS = 2.5
WOKEN_S = 2.0
ASSIGNED_S = 30.0
ENROLLED_PER_S = 100.0


def measure() -> Sequence[Figure]:
    """Some ten minutes, most of them for the largest fleets."""
    figures = [figure for mode in (EMBEDDED, SCALED) for devices in SIZES for figure in _figures(mode, devices)]
    load = os.getloadavg()[2]
    return [*figures, Figure("this machine", "processes that wanted a core, over the last 15 minutes", load, "")]


def _figures(mode: Mode, devices: int) -> Iterator[Figure]:
    case = f"{mode.name}, {devices:,} devices"
    with (
        tempfile.TemporaryDirectory() as directory,
        mode.start(Path(directory), populated(devices=devices, awake=SOCKETS)) as platform,
    ):
        yield from asyncio.run(_of_a_fleet(case, platform, devices))


async def _of_a_fleet(case: str, platform: Running, devices: int) -> list[Figure]:
    found = []
    sockets = min(devices, SOCKETS)
    fleet = Fleet(platform.url, devices=devices)
    with OperatorClient(platform.url, platform.seeded.token) as operator:
        # Members of a federation that runs and waits for more than there are: all are looked at all the time.
        pace = {"kind": "sync", "target_updates": 2 * devices, "min_updates": 2 * devices}
        await asyncio.to_thread(
            operator.start_federation, "waiting", pair=platform.seeded.pairs[0], plan={"pace": pace}
        )
        await fleet.check_in(CHECK_INS // 10)
        before_s = platform.processor_s()
        await asyncio.sleep(IDLE_S)
        share = (platform.processor_s() - before_s) / IDLE_S
        found.append(Figure(case, "nobody speaks: processor", share, "cores"))

        before_s = platform.processor_s()
        seconds = await fleet.check_in(CHECK_INS)
        each_ms = 1e3 * (platform.processor_s() - before_s - share * seconds) / CHECK_INS
        target = f"target <= {CHECK_IN_MS} ms"
        found.append(Figure(case, "a check-in by HTTP: processor", each_ms, "ms", target, CHECK_IN_MS / each_ms))
        found.append(Figure(case, "check-ins by HTTP", CHECK_INS / seconds, "1/s"))

        token = await asyncio.to_thread(operator.enrolment_token, uses=ENROLMENTS)
        before_s = platform.processor_s()
        seconds = await fleet.enrol(token, ENROLMENTS)
        each_ms = 1e3 * (platform.processor_s() - before_s) / ENROLMENTS
        rate = ENROLMENTS / seconds
        target = f"target >= {ENROLLED_PER_S:g}/s"
        found.append(Figure(case, "enrolment", rate, "1/s", target, rate / ENROLLED_PER_S))
        found.append(Figure(case, "an enrolment: processor", each_ms, "ms"))

        await fleet.connect(sockets)
        pace = {"kind": "sync", "target_updates": sockets, "min_updates": sockets, "over_selection": 1}
        asking = asyncio.to_thread(operator.start_federation, AWAKE, pair=platform.seeded.pairs[1], plan={"pace": pace})
        found += _waking(case, await fleet.hear(asking, processor_s=platform.processor_s), sockets)
        await fleet.close()
    return found


def _waking(case: str, woken: Woken, sockets: int) -> Iterator[Figure]:
    case = f"{case}, {sockets:,} sockets"
    for metric, span, target_s in (
        ("federation started to first woken", woken.opening, None),
        ("first to last woken", woken.waking, WOKEN_S),
        ("first woken to last assignment", woken.assigning, ASSIGNED_S),
    ):
        for what, seconds in (("", span.seconds), (": processor", span.processor_s)):
            if target_s is None or sockets < SOCKETS:
                yield Figure(case, metric + what, seconds, "s")
            else:
                yield Figure(case, metric + what, seconds, "s", f"target <= {target_s:g} s", target_s / seconds)
