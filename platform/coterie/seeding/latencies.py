"""How quick seeded devices are and were, by work and whether they charge."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random

from coterie.fleet.latencies import record_latencies
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion
from coterie.speeds.services import store_day
from coterie_wire.conditions import Answer
from coterie_wire.latency import MOST_REPORTED, Durations, Histogram, Latency, Work

OF_A_STEP = 0.08
"""What a prediction takes of a train step."""
ON_BATTERY = 1.35
"""How many times as long a device takes on its battery."""
DRAWS = 200
DAYS = 30
MEASURED = 12
"""Devices that have told on each of these days."""
HOT, HEAT = range(9, 15), 1.3
"""Days back from now that were hot, and how many times as long all took then."""


def time_devices(version: ModelVersion, members: Sequence[Device], *, now: datetime) -> None:
    """Figures of each device, and of some of them day by day."""
    random = Random(f"latencies of {version.pk}")  # noqa: S311 - of examples
    for ago in range(DAYS, -1, -1):
        at = now - timedelta(days=ago)
        heat = HEAT if ago in HOT else 1.0
        told = members if ago == 0 else members[:MEASURED]
        record_latencies([(device, list(_reports(device, version, heat, random))) for device in told], now=at)
        store_day(pair=version.pair, day=at.date(), now=at)


def _reports(device: Device, version: ModelVersion, heat: float, random: Random) -> Iterator[Latency]:
    step_s = heat * (device.train_step_s or 0.01)
    yield _latency(version, "step", "yes", step_s, random)
    predict_s = OF_A_STEP * step_s
    yield _latency(version, "predict", "yes", predict_s, random)
    yield _latency(version, "predict", "no", ON_BATTERY * predict_s, random)


def _latency(version: ModelVersion, work: Work, charging: Answer, median_s: float, random: Random) -> Latency:
    durations = drawn_durations(median_s, random).scaled(MOST_REPORTED)
    return Latency(str(version.pk), work, "float32", durations, charging, round(random.uniform(35, 55), 1))


def drawn_durations(median_s: float, random: Random) -> Histogram:
    """Of runs of about `median_s` seconds, of which a few take twice as long."""
    durations = Durations()
    for _ in range(DRAWS):
        durations.add(median_s * math.exp(abs(random.gauss(0, 0.15)) + 0.6 * (random.random() > 0.97)))
    return durations.histogram()
