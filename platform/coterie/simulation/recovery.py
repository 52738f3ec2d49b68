"""Batches that a device takes to recover its accuracy after a change of its data."""

from bisect import bisect_left
from collections.abc import Sequence

from coterie.simulation.outcome import Recovery
from coterie.simulation.world import World

BATCHES = 3
"""Batches over which an error is averaged."""
BEFORE = 10
"""Batches before the change that give the reference error."""
TOLERANCE = 0.05
GOOD = 0.10
"""An error that counts as recovered whatever it was before."""
ROUNDING = 1e-9
"""Tolerance for rounding of means."""


def batches_to_recover(errors: Sequence[float], *, shift: int, until: int) -> int | None:
    """From batch `shift` to the first that begins three whose mean error is at most max(0.10, error before + 0.05).

    `errors` are those of a device's batches; None where that is not before batch `until`.
    """
    before = errors[max(0, shift - BEFORE) : shift]
    limit = max(GOOD, (sum(before) / len(before) if before else 0.0) + TOLERANCE)
    for batch in range(shift, min(until, len(errors)) - BATCHES + 1):
        if sum(errors[batch : batch + BATCHES]) / BATCHES <= limit + ROUNDING:
            return batch - shift
    return None


def recoveries(world: World) -> tuple[Recovery, ...]:
    """The recovery from every change of a device's data; empty batches do not count."""
    ticks = len(world.drawn.batches[0])
    found = []
    for shift in world.drawn.shifts:
        device = world.devices[shift.device]
        met = [tick for tick, samples in enumerate(device.samples) if samples]
        errors = [1 - device.correct[tick] / device.samples[tick] for tick in met]
        later = [other.tick for other in world.drawn.shifts if other.device == shift.device and other.tick > shift.tick]
        at, until = (bisect_left(met, tick) for tick in (shift.tick, min(later, default=ticks)))
        found.append(Recovery(device.name, shift.tick, batches_to_recover(errors, shift=at, until=until)))
    return tuple(found)
