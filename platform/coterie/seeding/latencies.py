"""How quick seeded devices are, by work and whether they charge; seeded versions have no smaller forms."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from random import Random

from coterie.fleet.latencies import record_latencies
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion
from coterie_wire.conditions import Answer
from coterie_wire.latency import TOLD, Durations, Histogram, Latency, Work

OF_A_STEP = 0.08
"""What a prediction takes of a train step."""
ON_BATTERY = 1.35
"""How many times as long a device takes on its battery."""
DRAWS = 200


def time_devices(version: ModelVersion, members: Sequence[Device], *, now: datetime) -> None:
    """Figures of each device that has told how long a step takes."""
    random = Random(f"latencies of {version.pk}")  # noqa: S311 - of examples
    record_latencies([(device, list(_told(device, version, random))) for device in members], now=now)


def _told(device: Device, version: ModelVersion, random: Random) -> Iterator[Latency]:
    step_s = device.train_step_s or 0.01
    yield _latency(version, "step", "yes", step_s, random)
    predict_s = OF_A_STEP * step_s
    yield _latency(version, "predict", "yes", predict_s, random)
    yield _latency(version, "predict", "no", ON_BATTERY * predict_s, random)


def _latency(version: ModelVersion, work: Work, charging: Answer, median_s: float, random: Random) -> Latency:
    durations = drawn_durations(median_s, random).scaled(TOLD)
    return Latency(str(version.pk), work, "float32", durations, charging, round(random.uniform(35, 55), 1))


def drawn_durations(median_s: float, random: Random) -> Histogram:
    """Of runs of about `median_s` seconds, of which a few take twice as long."""
    durations = Durations()
    for _ in range(DRAWS):
        durations.add(median_s * math.exp(abs(random.gauss(0, 0.15)) + 0.6 * (random.random() > 0.97)))
    return durations.histogram()
