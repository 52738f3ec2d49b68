"""A simulated fleet with supernodes ends with the model of one without, bit for bit."""

from typing import cast

import numpy as np
import pytest

from coterie.simulation.clouds import AveragingCloud, DeliveredUpdate, Version
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie_learning.plan import parse_plan
from coterie_learning.updates import join_update
from tests.coterie.simulation.small import ROUNDS, scenario

SAMPLES = (3, 80, 5, 7, 6)


def merged(topology: dict[str, object], merge: str) -> dict[str, bytes]:
    """The parameters after two merges of the same updates."""
    plan = parse_plan({"pace": ROUNDS, "topology": topology, "merge": {"kind": merge}})
    one = scenario(devices=2)
    first = cast(NeuralLearner, one.learner.begin(one.stream.draw(devices=2, seed=0).task, plan.local, seed=0))
    cloud, spec = AveragingCloud(plan, first, fleet=5), first.graphs.spec
    for merging in range(2):
        deliveries = []
        for number, samples in enumerate(SAMPLES):
            rng = np.random.default_rng(10 * merging + number)
            update = {
                tensor.name: 0.01 * rng.standard_normal(tensor.shape, dtype=np.float32) for tensor in spec.parameters
            }
            payload = join_update({}, plan.codec.encode(update, seed=number).payload)
            deliveries.append(DeliveredUpdate(cast(Device, None), Version(first), payload, samples, ()))
        cloud.merge(deliveries)
    found = cloud.version_for(cast(Device, None)).learner.parameters
    return {name: tensor.tobytes() for name, tensor in found.items()}


@pytest.mark.long
@pytest.mark.parametrize("merge", ["fed_avg", "fed_adam"])
@pytest.mark.parametrize("members", [2, 3, 100])
@pytest.mark.parametrize("above", [[], ["region:"], ["building:", "region:"]])
def test_supernodes_leave_no_trace(merge: str, members: int, above: list[str]) -> None:
    by_sums = merged({"kind": "supernodes", "members": members, "above": above}, merge)
    assert by_sums == merged({"kind": "star"}, merge)
