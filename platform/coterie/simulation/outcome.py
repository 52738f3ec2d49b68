"""The result of a simulation, as written to JSON."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from coterie.evaluation.device_accuracy import DeviceAccuracy, device_accuracy
from coterie.simulation.device import Device
from coterie_learning.plan import Document
from coterie_wire.conditions import Reason


class DeviceOutcome(msgspec.Struct, frozen=True):
    """One device; every list has an entry for each of its batches."""

    name: str
    samples: tuple[int, ...]
    correct: tuple[int, ...]
    """Before the device trained on the batch (prequential)."""
    accuracy: float | None
    """Over all its samples; null where there were none."""
    group: str | None
    """Which group it was put into last; null where there are none."""
    untrained: Reason | None = None
    """Why it trained nothing between rounds; null: it did, or the plan trains in rounds only."""


class RoundOutcome(msgspec.Struct, frozen=True):
    """One round, from its opening to its end."""

    number: int
    opened_s: float
    ended_s: float
    invited: int
    delivered: int
    outcome: Literal["merged", "abandoned"]
    staleness: tuple[int, ...] = ()
    """In asynchronous rounds, by how many versions the base of each update was older than its merge's, ascending."""
    lost: int = 0
    """Devices that fell silent, and were replaced."""
    fault: Reason | None = None
    """Why the merge of its updates gave no version; null: it gave one, or there were too few updates to merge."""


Ending = Literal["unmatched", "refused", "kept", "undone"]
"""Nobody could help; the portion was not what was agreed; or the guard's verdict."""


class HelpOutcome(msgspec.Struct, frozen=True):
    """One help request."""

    device: str
    asked_s: float
    tick: int
    """The device's batch, from 0, after which it asked."""
    classes: tuple[int, ...]
    helper: str | None
    divergence: float | None
    """Between the class shares of both, in bits."""
    portion_bytes: int
    before: float | None
    """Accuracy on the target's newest batches without the portion."""
    after: float | None
    outcome: Ending
    reason: Reason | None = None
    """Why nobody could help, or the portion was refused; null where there was a verdict."""


class SplitOutcome(msgspec.Struct, frozen=True):
    """One division of devices into groups."""

    time_s: float
    groups: Mapping[str, int]
    """By name of the device."""
    silhouettes: Mapping[str, float]
    reason: str


class Recovery(msgspec.Struct, frozen=True):
    """How soon a device was as accurate as before a change of its data."""

    device: str
    tick: int
    batches: int | None
    """Null: not before the next change, or the end."""


class SimulationOutcome(msgspec.Struct, frozen=True):
    """One simulation. The same plan, scenario, devices and seed give the same bytes."""

    plan: Document
    scenario: str
    seed: int
    tick_s: float
    devices: tuple[DeviceOutcome, ...]
    accuracy: DeviceAccuracy
    """Over devices that have seen samples."""
    accuracy_by_tick: tuple[float | None, ...]
    """Mean over the devices that met samples at that tick."""
    bytes_by_kind: Mapping[str, int]
    messages_by_kind: Mapping[str, int]
    trained_s: float
    """Seconds that all devices together computed to train."""
    rounds: tuple[RoundOutcome, ...]
    help: tuple[HelpOutcome, ...]
    splits: tuple[SplitOutcome, ...]
    recoveries: tuple[Recovery, ...]

    def json(self) -> bytes:
        """Indented, with a newline at its end."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def accuracies(devices: Sequence[Device], *, since_tick: int = 0) -> list[float]:
    """Of each device that has seen samples since then."""
    counted = [(sum(device.correct[since_tick:]), sum(device.samples[since_tick:])) for device in devices]
    return [correct / samples for correct, samples in counted if samples]


def summary(found: Sequence[float]) -> DeviceAccuracy:
    """Of the devices' accuracies; zeros where there are none."""
    return device_accuracy(found) if found else DeviceAccuracy(0.0, 0.0, 0.0)


def by_tick(devices: Sequence[Device]) -> tuple[float | None, ...]:
    """Mean accuracy over the devices that met samples at each tick."""
    ticks = len(devices[0].samples)
    return tuple(_mean_at(devices, tick) for tick in range(ticks))


def _mean_at(devices: Sequence[Device], tick: int) -> float | None:
    met = [device.correct[tick] / device.samples[tick] for device in devices if device.samples[tick]]
    return float(np.mean(met)) if met else None
