"""The versions that real agents should make together, made in memory, where nothing is killed."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.clouds import AveragingCloud, DeliveredUpdate
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.on_device import Graphs, Rows
from coterie.simulation.participant import Participant
from coterie_learning.plan import parse_plan
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import predict_graph, train_step_graph
from tests.system.model import CLASSES, SPEC, samples

SAMPLES = 200
ALONE = cast(Device, None)
"""The cloud of one lineage asks for no device."""


def learned_by(number: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The samples of an agent. Each has other names for what it sees, so that a model of its own serves it better."""
    images, labels = samples(SAMPLES, seed=number)
    return images, (labels + number) % CLASSES


def undisturbed(
    plan: Mapping[str, object], first: Tensors, seed: int, devices: Sequence[str], *, rounds: int
) -> list[Tensors]:
    """The versions after `first`, where each device learns its `learned_by` and takes part in each round.

    `seed` is the federation's, `devices` are the identities by place.
    """
    parsed = parse_plan(plan)
    graphs = Graphs.of(SPEC, train_step=train_step_graph(SPEC), predict=predict_graph(SPEC))
    learner = NeuralLearner(graphs, parsed.local, parameters=first, first=first, received=first)
    cloud = AveragingCloud(parsed, learner, fleet=len(devices))
    participants = [Participant(parsed.device, []) for _ in devices]
    versions = []
    for number in range(1, rounds + 1):
        version, deliveries = cloud.version_for(ALONE), []
        for place, device in enumerate(devices):
            x, y = learned_by(place)
            part = participants[place].take_part(
                graphs,
                version.learner.parameters,
                Rows(Dataset({"pixels": x}, y), SPEC, range(1, SAMPLES + 1)),
                seen=sorted(set(y.tolist())),
                personal=None,
                teacher=None,
                seed=derive_seed(derive_seed(seed, "round", number), "device", device),
                server=version.server,
                round_number=number,
            )
            participants[place].accepted()
            deliveries.append(DeliveredUpdate(ALONE, version, part.payload, part.samples, ()))
        cloud.merge(deliveries)
        versions.append(cloud.version_for(ALONE).learner.parameters)
    return versions
