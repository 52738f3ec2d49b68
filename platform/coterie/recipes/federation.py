"""A federation of virtual devices whose rounds follow one another at once."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from coterie.evaluation.datasets import Dataset
from coterie.simulation.clouds import AveragingCloud, DeliveredUpdate
from coterie.simulation.days import QUARTERS, Day
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.on_device import Rows
from coterie.simulation.participant import Participant
from coterie_learning.client.optimisation import Diverged
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_learning.selection import DeviceFacts
from coterie_recipes.recipe import Samples
from coterie_wire.tensors import Tensors


def dataset_of(samples: Samples, learner: NeuralLearner) -> Dataset:
    """`samples` as the model of `learner` takes them."""
    (spec,) = learner.graphs.spec.inputs
    return Dataset({spec.name: samples.x}, samples.y)


class Federation:
    """Synchronous rounds in which everybody who is asked delivers."""

    def __init__(self, first: NeuralLearner, plan: Plan, data: Sequence[Dataset], seed: int) -> None:
        self._plan, self._seed, self._data = plan, seed, data
        self._cloud = AveragingCloud(plan, first, fleet=len(data), seed=derive_seed(seed, "cloud"))
        self._devices = [
            Device(number=number, learner=first, day=Day((True,) * QUARTERS), slowness=1.0, window=deque())
            for number in range(len(data))
        ]
        self._participants = [Participant(plan.device, device.portions) for device in self._devices]
        self.sent_bytes: list[int] = []

    @property
    def parameters(self) -> Tensors:
        """Of the newest version."""
        return self._cloud.version_for(self._devices[0]).learner.parameters

    def hold_round(self, number: int) -> None:
        """Ask as many devices as the plan wants, and merge what they send."""
        chosen = self._plan.selection.choose(
            [DeviceFacts(device.name) for device in self._devices],
            count=self._plan.pace.updates_wanted(),
            round_number=number,
            seed=derive_seed(self._seed, "round", number),
        )
        named = {device.name: device for device in self._devices}
        deliveries = [one for name in chosen if (one := self._deliver(named[name], number)) is not None]
        if deliveries:
            self._cloud.merge(deliveries)
            for delivery in deliveries:
                self._participants[delivery.device.number].accepted()

    def _deliver(self, device: Device, round_number: int) -> DeliveredUpdate | None:
        """None where its training diverged."""
        base = self._cloud.version_for(device)
        participant, data = self._participants[device.number], self._data[device.number]
        if base.privacy is not None:
            participant.plan = msgspec.structs.replace(self._plan.device, privacy=base.privacy)
        seed = derive_seed(self._seed, "training", device.number, round_number)
        spec, own = base.learner.graphs.spec, device.learner
        assert isinstance(own, NeuralLearner)
        seen = tuple(sorted(set(data.labels.tolist()))) if spec.task == "classes" else ()
        participant.accept()
        try:
            part = participant.take_part(
                base.learner.graphs,
                base.learner.parameters,
                Rows(data, spec, range(1, len(data.labels) + 1)),
                seen=seen,
                personal=own.parameters if own.seen else None,
                teacher=None,
                seed=seed,
                server=base.server,
                round_number=round_number,
            )
        except Diverged:
            return None
        device.learner = replace(own, parameters=part.trained, received=base.learner.parameters, seen=seen)
        self.sent_bytes.append(len(part.payload))
        return DeliveredUpdate(device, base, part.payload, part.samples, part.classes, seed)
