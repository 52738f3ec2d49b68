"""What attackers see of one round: real updates of virtual devices, sent and merged under the plan."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.clouds import AveragingCloud, DeliveredUpdate, Version
from coterie.simulation.device import joined, make_devices
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.on_device import Rows
from coterie.simulation.participant import Participant, Participation, read_update
from coterie.simulation.scenario import Scenario
from coterie.simulation.simulate import NO_CLOUD_MODEL, check_plan_fits
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Tensors

Float64 = NDArray[np.float64]


class ObservedUpdate(NamedTuple):
    """One device's update."""

    device: int
    part: Participation
    seed: int
    """Seed of its training."""


class AttackedFleet:
    """A fleet with the first version and its own samples."""

    def __init__(self, plan: Plan, scenario: Scenario, *, devices: int, seed: int) -> None:
        """Raises DoesNotFit."""
        drawn = scenario.stream.draw(devices=devices, seed=derive_seed(seed, "stream"))
        first = scenario.learner.begin(drawn.task, plan.local, seed=derive_seed(seed, "learner"))
        if not isinstance(first, NeuralLearner):
            raise DoesNotFit(detail="attacks are tried on updates of a neural network")
        check_plan_fits(plan, first.graphs.spec, teacher_problem=NO_CLOUD_MODEL, cloud_data=False)
        if plan.local.needs_teacher():
            raise DoesNotFit(detail=f"local {plan.local.name} learns from a teacher, which attacks do not have")
        self.first = first
        self._batches = drawn.batches
        self._devices = make_devices(scenario, plan.requirements, first, count=devices, seed=seed)

    def samples(self, device: int, count: int) -> Dataset:
        """The first `count` samples of a device, or all that it has. Raises DoesNotFit where it has none."""
        batches = [batch for batch in self._batches[device] if len(batch.labels)]
        if not batches:
            raise DoesNotFit(detail=f"device {device} has no samples")
        before = np.cumsum([0, *(len(batch.labels) for batch in batches)])[:-1]
        return joined([batch for batch, so_far in zip(batches, before, strict=True) if so_far < count]).take(
            slice(0, count)
        )

    def sent(self, plan: Plan, device: int, *, samples: int, seed: int) -> ObservedUpdate:
        """The update of a device under `plan`. Raises Diverged, or WireError ``plan.*``."""
        own = self.samples(device, samples)
        numbers = range(1, 1 + len(own.labels))
        participant = Participant(plan=plan.device, portions=[])
        part = participant.take_part(
            self.first.graphs,
            self.first.parameters,
            Rows(own, self.first.graphs.spec, numbers),
            seen=sorted(set(own.labels.tolist())),
            personal=None,
            teacher=None,
            seed=seed,
        )
        return ObservedUpdate(device, part, seed)

    def read(self, plan: Plan, one: ObservedUpdate) -> Tensors:
        """An update as decoded by its receiver."""
        return read_update(plan, self.first.graphs.spec, one.part.payload, one.part.classes).difference

    def merged(self, plan: Plan, cohort: Sequence[ObservedUpdate], *, seed: int) -> Tensors:
        """The difference of the version made from a cohort from the previous version; noise is drawn from `seed`."""
        base = Version(self.first)
        cloud = AveragingCloud(plan, self.first, fleet=len(self._devices), seed=seed)
        cloud.merge(
            [
                DeliveredUpdate(
                    self._devices[one.device],
                    base,
                    one.part.payload,
                    one.part.samples,
                    one.part.classes,
                    derive_seed(one.seed, "merged", seed),
                )
                for one in cohort
            ]
        )
        after = cloud.version_for(self._devices[0]).learner.parameters
        return {name: after[name] - tensor for name, tensor in self.first.parameters.items()}


def flat(tensors: Tensors) -> Float64:
    """The elements of all tensors as one vector, in the order of their names."""
    return np.concatenate([np.asarray(tensors[name], np.float64).reshape(-1) for name in sorted(tensors)])
