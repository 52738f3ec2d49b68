"""Devices with the properties and availability of those in a fleet's trace."""

from statistics import median
from typing import NamedTuple

import numpy as np

from coterie.simulation.clock import DAY_S
from coterie.simulation.days import QUARTER_S, QUARTERS
from coterie.simulation.fleet.availability import WEEK, Measured
from coterie.simulation.fleet.splits import Float64
from coterie.simulation.scenario import Speed
from coterie.twin.errors import NoHistory
from coterie.twin.replay import LEAST_PARTS, SHRINK
from coterie.twin.trace import Trace, TracedPart
from coterie_learning.random import derive_seed


class Traced(NamedTuple):
    """Properties by device."""

    availability: Measured
    sample_s: Float64
    """Seconds to train on a sample."""
    uplink_bytes_s: Float64
    waits_s: Float64
    lost: Float64


def measured(trace: Trace, *, devices: int, seed: int) -> Traced:
    """`devices` devices, each modelled on one of the trace, in turn.

    Devices that delivered nothing get the properties of one that did, drawn by `seed`. Raises NoHistory.
    """
    own: list[list[TracedPart]] = [[] for _ in range(trace.devices)]
    for part in trace.parts:
        own[part.device].append(part)
    came = [[part for part in parts if part.ending == "delivered" and part.steps] for parts in own]
    if sum(map(len, came)) < LEAST_PARTS:
        raise NoHistory(parts=sum(map(len, came)), needed=LEAST_PARTS)
    known = [place for place, parts in enumerate(came) if parts]
    drawn = np.random.default_rng(derive_seed(seed, "measured")).choice(known, trace.devices)
    like = [place if came[place] else int(drawn[place]) for place in range(trace.devices)]
    sample_s = [median(one.train_s / (one.steps * trace.batch_size) for one in came[place]) for place in like]
    rates = [[one.sent_bytes / one.upload_s for one in came[place] if one.upload_s > 0] for place in like]
    uplink = [median(rate) if rate else Speed().uplink_bytes_s for rate in rates]
    waits = [median(max(0.0, one.lasted_s - one.train_s - one.upload_s) for one in came[place]) for place in like]
    share = sum(part.ending == "lost" for part in trace.parts) / len(trace.parts)
    lost = [(sum(one.ending == "lost" for one in parts) + SHRINK * share) / (len(parts) + SHRINK) for parts in own]
    places = np.arange(devices) % trace.devices
    paces, links, rests = (np.maximum(1e-9, np.array(one))[places] for one in (sample_s, uplink, waits))
    return Traced(Measured(_table(trace), places), paces, links, rests, np.array(lost)[places])


def _table(trace: Trace) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Whether each device was ready for half of each quarter of a day, or of a week where the trace has one.

    Quarters count from the beginning of the trace, as the simulation's time does.
    """
    quarters = WEEK if trace.lasts_s >= 7 * DAY_S else QUARTERS
    ready_s = np.zeros((trace.devices, quarters))
    seen_s = np.zeros(quarters)
    for place in range(int(np.ceil(trace.lasts_s / QUARTER_S))):
        seen_s[place % quarters] += min(QUARTER_S, trace.lasts_s - place * QUARTER_S)
    for span in trace.spans:
        at, until = span.from_s, min(span.until_s, trace.lasts_s)
        while at < until:
            place = int(at // QUARTER_S)
            end = min(until, (place + 1) * QUARTER_S)
            ready_s[span.device, place % quarters] += end - at
            at = end
    found: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = (ready_s >= seen_s / 2) & (seen_s > 0)
    return found
