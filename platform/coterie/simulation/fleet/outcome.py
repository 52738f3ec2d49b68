"""The result of a fleet's simulation, as written to JSON."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from coterie.evaluation.device_accuracy import DeviceAccuracy
from coterie.simulation.fleet.work import Executor
from coterie.simulation.outcome import HelpOutcome, Recovery, SplitOutcome
from coterie_learning.plan import Document
from coterie_wire.conditions import Reason


class FleetRound(msgspec.Struct, frozen=True):
    """One round, from its opening to its end."""

    number: int
    opened_s: float
    ended_s: float
    invited: int
    lost: int
    """Devices that fell silent, and were replaced."""
    delivered: int
    """Updates that were in when it closed; only these are computed."""
    diverged: int
    """Of those, how many had to be left out because training diverged."""
    outcome: Literal["merged", "abandoned"]
    accuracy: float | None
    """Of the version after it, on the samples held out; null where it was not measured."""
    loss: float | None
    """Mean cross-entropy there, in nats."""
    staleness_mean: float | None = None
    """By how many versions the bases of its updates were older than its own; null where rounds are synchronous."""
    staleness_most: int | None = None
    """That of the oldest."""
    fault: Reason | None = None
    """Why the merge of its updates gave no version; null: it gave one, or there were too few updates to merge."""


class FleetOutcome(msgspec.Struct, frozen=True):
    """One simulation. The same arguments give the same bytes, whatever the number of workers."""

    plan: Document
    pair: str
    data: str
    split: Document
    devices: int
    samples: int
    """Of all devices, each as often as it is one's."""
    held_out: int
    """Samples that versions are judged on and no device has."""
    seed: int
    executor: Executor
    executor_reason: str
    """Why devices were not trained side by side; empty where they were, or where nobody asked for that."""
    rounds: Sequence[FleetRound]
    ended: Literal["rounds", "horizon"]
    """All rounds that were asked for were held; or the simulated time was over."""
    simulated_s: float
    accuracy: float
    """Of the last version, on the samples held out; where samples come over time, the mean over devices of what
    answers on each, on each sample before the device learns from it."""
    loss: float | None
    """Of the last version; null where samples come over time."""
    class_accuracy: Sequence[float | None]
    """By class, on the same samples; null where there were none."""
    device_accuracy: DeviceAccuracy
    """Over devices: of the last version, on the samples of its own that each holds out; where samples come over time,
    on each sample before the device learns from it."""
    devices_measured: int
    """That this is over: all that have samples, or as many as `coterie.simulation.fleet.on_devices` looks at."""
    participants: int
    """Devices whose update counted at least once; where samples come over time, devices that met some."""
    client_rounds: int
    """Updates that were computed."""
    bytes_by_kind: Mapping[str, int]
    messages_by_kind: Mapping[str, int]
    trained_s: float
    """Seconds that all devices together computed to train."""
    bytes_per_device: float
    """Up and down with framing, the mean over devices whose update counted."""
    joules_per_device: float
    """Of radio and processor with the usual `coterie.simulation.costs`, over the same devices."""
    devices_with_own: int = 0
    """Of those measured, how many answer with a model of their own, which is measured there instead of the version."""
    drift: Document | None = None
    """In which order samples came to devices; null: they had all from the beginning."""
    tick_s: float | None = None
    """Where samples come over time, seconds from one time at which they do to the next."""
    accuracy_by_tick: Sequence[float | None] = ()
    """Mean over the devices to which samples came then."""
    recoveries: Sequence[Recovery] = ()
    """Of each change of a device's data that is known."""
    help: Sequence[HelpOutcome] = ()
    splits: Sequence[SplitOutcome] = ()
    epsilon: float | None = None
    """Told at delta 10⁻⁶ of the device of which most was; null: the plan's privacy kind guarantees nothing."""

    def json(self) -> bytes:
        """Indented, with a newline at its end."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"
