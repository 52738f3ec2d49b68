"""The outcome of a fleet whose devices are simulated individually on a clock."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import msgspec
import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.device_accuracy import DeviceAccuracy, device_accuracy
from coterie.evaluation.scoring import Evaluation, predict_logits, score
from coterie.simulation.clouds import Version
from coterie.simulation.components import Components
from coterie.simulation.costs import Costs, cost_of_device
from coterie.simulation.device import Device
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.on_devices import measure_on_devices
from coterie.simulation.fleet.outcome import FleetOutcome, FleetRound
from coterie.simulation.fleet.setting import Setting
from coterie.simulation.fleet.splits import Int64
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.outcome import accuracies, by_tick
from coterie.simulation.recovery import recoveries
from coterie.simulation.rounds import Rounds
from coterie.simulation.world import World
from coterie_learning.plan import plan_document
from coterie_wire.tensors import Tensors


@dataclass(eq=False)
class PrequentialAccuracy:
    """Prequential accuracy by class: each sample is predicted before its device learns from it."""

    classes: int
    right: Int64 = field(init=False)
    met: Int64 = field(init=False)

    def __post_init__(self) -> None:
        self.right, self.met = np.zeros(self.classes, np.int64), np.zeros(self.classes, np.int64)

    def begin(self) -> None:
        """Nothing is scheduled."""

    def on_batch(self, device: Device, batch: Dataset, predicted: Int64) -> None:  # noqa: ARG002
        labels = batch.classes
        self.met += np.bincount(labels, minlength=self.classes)
        self.right += np.bincount(labels[labels == predicted], minlength=self.classes)

    def accuracies(self) -> Sequence[float | None]:
        """Accuracy by class; None where there was no sample."""
        return [int(right) / int(met) if met else None for right, met in zip(self.right, self.met, strict=True)]


class _Exact(NamedTuple):
    """Accuracy of the models used on devices: personal ones where there are any, else the version."""

    accuracy: float
    loss: float | None
    class_accuracy: Sequence[float | None]
    over_devices: DeviceAccuracy
    measured: int
    """Number of devices measured."""
    own: int
    """How many of them use a personal model."""


def measure(run: FleetRun, version: Version, held_out: Dataset) -> Evaluation:
    """Accuracy of a version on samples that no device has."""
    output = predict_logits(run.model.predict, version.learner.parameters, held_out)
    return score(output, held_out.labels, task=run.model.spec.task)


def outcome_of(
    run: FleetRun,
    setting: Setting,
    held_out: Dataset,
    world: World,
    parts: Components,
    rounds: Sequence[FleetRound],
    judged: PrequentialAccuracy,
) -> FleetOutcome:
    """The outcome of a finished `run`."""
    used, holding = world.ledger.used(), parts.rounds
    if run.drift is not None:
        found = _over_time(world, holding, judged)
        participants = found.measured
    else:
        assert holding is not None, "samples come over time where a plan holds no rounds"
        found = _at_the_end(run, setting, held_out, world, holding)
        participants = len(holding.counted)
    cost = cost_of_device(used, run.speed, Costs(), devices=participants)
    split = cast(dict[str, object], msgspec.to_builtins(run.split))
    is_over = holding is None or len(rounds) < run.rounds
    return FleetOutcome(
        plan=plan_document(run.plan),
        pair=run.names[0],
        data=run.names[1],
        split=split if run.each is None else {**split, "each": run.each},
        drift=None if run.drift is None else cast(dict[str, object], msgspec.to_builtins(run.drift)),
        devices=len(world.devices),
        samples=int(setting.population.sizes.sum()),
        held_out=len(held_out.labels),
        seed=run.seed,
        executor="exact",
        executor_reason="they do more than rounds on samples that they have",
        rounds=tuple(rounds),
        ended="horizon" if is_over else "rounds",
        simulated_s=world.clock.now_s if run.drift is not None else rounds[-1].ended_s if rounds else 0.0,
        accuracy=found.accuracy,
        loss=found.loss,
        class_accuracy=found.class_accuracy,
        device_accuracy=found.over_devices,
        devices_measured=found.measured,
        devices_with_own=found.own,
        epsilon=None if holding is None else holding.privacy_spent.epsilon(),
        participants=participants,
        client_rounds=0 if holding is None else holding.counted.total(),
        bytes_by_kind=used.bytes_by_kind,
        messages_by_kind=used.messages_by_kind,
        trained_s=used.trained_s,
        bytes_per_device=cost.bytes,
        joules_per_device=cost.joules,
        tick_s=None if run.drift is None else world.drawn.tick_s,
        accuracy_by_tick=() if run.drift is None else by_tick(world.devices),
        help=() if parts.helping is None else tuple(parts.helping.outcomes),
        splits=() if parts.distilling is None else tuple(parts.distilling.splits),
        recoveries=recoveries(world),
    )


def _over_time(world: World, holding: Rounds | None, judged: PrequentialAccuracy) -> _Exact:
    """Accuracy on each sample before its device learned from it."""
    met = [device for device in world.devices if sum(device.samples)]
    over_devices = device_accuracy(accuracies(met))
    own = sum(_own(holding, device) is not None for device in met)
    return _Exact(over_devices.mean, None, judged.accuracies(), over_devices, len(met), own)


def _at_the_end(run: FleetRun, setting: Setting, held_out: Dataset, world: World, holding: Rounds) -> _Exact:
    """Accuracy of the last version on samples held out, and of each device's model on its own samples."""
    newest = holding.newest
    whole = measure(run, newest, held_out)
    found = measure_on_devices(setting, newest.learner.parameters, lambda number: _own(holding, world.devices[number]))
    over_devices, count = device_accuracy(found.accuracies), len(found.accuracies)
    return _Exact(whole.accuracy or 0.0, whole.loss, whole.class_accuracy, over_devices, count, found.own)


def _own(holding: Rounds | None, device: Device) -> Tensors | None:
    """The personal model that `device` uses; None: it uses a version."""
    parameters = cast(NeuralLearner, device.learner).parameters
    version = None if holding is None else holding.version_on(device)
    return None if version is not None and version.learner.parameters is parameters else parameters
