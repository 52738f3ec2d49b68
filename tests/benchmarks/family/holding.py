"""Rounds with the client, the codecs and the merges of production, without a clock: what devices learn, not when."""

from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import predict_logits
from coterie.simulation.clouds import AveragingCloud, DeliveredUpdate
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.on_device import Rows, run_training
from coterie.simulation.participant import Participant
from coterie_learning.client.optimisation import Diverged
from coterie_learning.client.round import local_training
from coterie_learning.device_plan import LOCAL
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_learning.selection import choose
from coterie_wire.tensors import Tensors

Steps = Callable[[int, int, int], int | None]
"""Of a round, a device and its samples: the steps that it has time for, 0 if its update is dropped; None: all."""


def all_steps(_round: int, _device: int, _samples: int) -> int | None:
    return None


def hold(
    plan: Plan,
    first: NeuralLearner,
    devices: Sequence[Dataset],
    *,
    rounds: int,
    cohort: int,
    seed: int,
    steps: Steps = all_steps,
    own: dict[int, Tensors] | None = None,
) -> Iterator[Tensors]:
    """The parameters after each round; whoever is asked depends on the seed alone, whatever the plan.

    Where rounds train devices' personal models, `own` is filled with these.
    """
    graphs, cloud = first.graphs, AveragingCloud(plan, first, fleet=len(devices))
    parts = [Participant(plan.device, []) for _ in devices]
    rows = [Rows(data, graphs.spec, range(1, len(data.labels) + 1)) for data in devices]
    names = {f"device-{number}": number for number in range(len(devices))}
    for number in range(1, rounds + 1):
        version, deliveries = cloud.version_for(cast(Device, None)), []
        for name in choose(names, count=cohort, seed=derive_seed(seed, "round", number)):
            device = names[name]
            allowed = steps(number, device, len(devices[device].labels))
            if allowed == 0:
                continue
            parts[device].accept()
            try:
                part = parts[device].take_part(
                    graphs,
                    version.learner.parameters,
                    rows[device],
                    seen=(),
                    personal=None if own is None else own.get(device),
                    teacher=None,
                    seed=derive_seed(seed, "training", device, number),
                    server=version.server,
                    round_number=number,
                    steps_allowed=allowed,
                )
            except Diverged:
                continue
            parts[device].accepted()
            if own is not None:
                own[device] = part.trained
            deliveries.append(DeliveredUpdate(cast(Device, None), version, part.payload, part.samples, ()))
        if deliveries:
            cloud.merge(deliveries)
        yield cloud.version_for(cast(Device, None)).learner.parameters


def accuracy(model: NeuralLearner, parameters: Tensors, data: Dataset) -> float:
    predicted = predict_logits(model.graphs.predict, parameters, data).argmax(axis=1)
    return float((predicted == data.labels).mean())


def adapted(model: NeuralLearner, parameters: Tensors, data: Dataset, *, rate: float, seed: int) -> Tensors:
    """`parameters` after one step of `rate` on a batch of the device's own data."""
    local, numbers = LOCAL.parse({"kind": "sgd", "learning_rate": rate}), range(1, len(data.labels) + 1)
    graphs = model.graphs
    training = local_training(
        local,
        graphs.spec,
        graphs.open_steps,
        personal=parameters,
        received=parameters,
        ids=numbers,
        seen=(),
        seed=seed,
    )
    return run_training(training, graphs, Rows(data, graphs.spec, numbers), steps_allowed=1)


def rounds_until(accuracies: Sequence[float], least: float) -> int:
    """The first round after which the accuracy is at least so high; one more than there were where it never is."""
    return next((number for number, found in enumerate(accuracies, start=1) if found >= least), len(accuracies) + 1)


def spread(accuracies: Sequence[float], last: int = 20) -> float:
    return float(np.std(accuracies[-last:]))
