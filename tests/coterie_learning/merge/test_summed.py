"""Algorithms whose devices send numbers beside their updates, under secure sums: the same step as of single updates."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

from coterie_learning.contribution import Contents, DeviceFigures
from coterie_learning.device_state import NO_STATE
from coterie_learning.fold import Aggregation, CountedUpdate, fold_in_memory
from coterie_learning.local import DELTA, Broadcast, Trained
from coterie_learning.plan import Plan, read_plan
from coterie_learning.secure_sum.vector import added
from coterie_learning.update_files import Contents as UpdateContents
from coterie_learning.update_files import UpdateFile
from coterie_learning.updates import encode_scalars, join_update
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Float32, Tensors

MODEL = ModelSpec.of_classifier(
    inputs=(),
    classes=3,
    batch_size=1,
    parameters=(TensorSpec("w", "float32", (40, 5)), TensorSpec("b", "float32", (5,))),
)
BASE: Tensors = {spec.name: np.full(spec.shape, 0.5, np.float32) for spec in MODEL.parameters}
FLEET = 6


def plan_of(local: Mapping[str, object], merge: Mapping[str, object], **privacy: object) -> Plan:
    return read_plan(
        {
            "local": local,
            "merge": merge,
            "codec": {"kind": "float32"},
            "privacy": {"kind": "secure_aggregation", "min_devices": 3, "bits": 32, "norm": 8.0, **privacy},
            "pace": {"kind": "sync", "min_updates": 3, "target_updates": FLEET},
        }
    )


def payloads(plan: Plan, *, steps: Sequence[int], losses: Sequence[float]) -> list[bytes]:
    """Of devices that learn something else each."""
    rng, found = np.random.default_rng(5), []
    for count, loss in zip(steps, losses, strict=True):
        trained = {name: tensor + _drawn(rng, tensor) for name, tensor in BASE.items()}
        ended = plan.local.end(Broadcast(BASE), Trained(trained, count, loss), NO_STATE)
        encoded = plan.codec.encode(plan.privacy.protect(ended.parts[DELTA], seed=0), seed=0).payload
        found.append(join_update({}, encoded, *([encode_scalars(ended.scalars)] if ended.scalars else [])))
    return found


def _drawn(rng: np.random.Generator, tensor: Float32) -> Float32:
    return (0.1 * rng.standard_normal(tensor.shape)).astype(np.float32)


def opened(plan: Plan, payload: bytes) -> UpdateFile:
    return UpdateContents(MODEL, plan.codec, plan.local).open(InMemory(payload), ())


def merged(plan: Plan, updates: Sequence[bytes], weights: Sequence[int]) -> Tensors:
    counted = [
        CountedUpdate(partial(nullcontext, opened(plan, one)), weight)
        for one, weight in zip(updates, weights, strict=True)
    ]
    scalars = Aggregation(scalars=plan.local.scalars)
    return fold_in_memory(plan.merge, MODEL.parameters, counted, BASE, None, scalars).parameters


def summed(plan: Plan, updates: Sequence[bytes], samples: Sequence[int]) -> Tensors:
    masking = plan.privacy.masking()
    assert masking is not None
    what = Contents(MODEL, plan.local, masking, members=FLEET, seed=3)
    vectors = [
        what.vector(opened(plan, one), DeviceFigures(count, 0.0, 0.0, None), {}, seed=place)
        for place, (one, count) in enumerate(zip(updates, samples, strict=True))
    ]
    total = added(vectors)
    found = what.summed(total.numbers, total.tail, len(vectors), {}, plan.codec)
    return merged(plan, [found.payload], [1])


SAMPLES = (10, 20, 30, 40, 50, 60)
UNEQUAL, EQUAL = (1, 2, 4, 8, 16, 32), (4,) * FLEET
LOSSES = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0)
UNIFORM = {"weight_by": "uniform"}
Q_FED_AVG = plan_of({"kind": "q_fed_avg", "q": 2.0}, {"kind": "q_fed_avg"})
FED_NOVA = plan_of({"kind": "fed_nova"}, {"kind": "fed_nova"}, full_samples=60)


@pytest.mark.parametrize(
    ("plan", "weights"), [(Q_FED_AVG, [1] * FLEET), (FED_NOVA, SAMPLES)], ids=["q_fed_avg", "fed_nova"]
)
def test_the_step_is_that_of_single_updates(plan: Plan, weights: Sequence[int]) -> None:
    updates = payloads(plan, steps=UNEQUAL, losses=LOSSES)
    found, wanted = summed(plan, updates, SAMPLES), merged(plan, updates, weights)
    for name in BASE:
        moved = np.abs(wanted[name] - BASE[name]).max()
        np.testing.assert_allclose(found[name], wanted[name], atol=0.02 * float(moved))


def test_with_q_of_zero_it_is_fed_avg_bit_for_bit() -> None:
    """The degenerate case."""
    fair = plan_of({"kind": "q_fed_avg", "q": 0.0}, {"kind": "q_fed_avg"})
    plain = plan_of({"kind": "sgd"}, {"kind": "fed_avg", **UNIFORM})
    found, wanted = (summed(plan, payloads(plan, steps=UNEQUAL, losses=LOSSES), SAMPLES) for plan in (fair, plain))
    for name in BASE:
        np.testing.assert_array_equal(found[name], wanted[name])


def test_of_equal_steps_fed_nova_is_fed_avg_and_of_others_it_is_not() -> None:
    """The degenerate case, and its control."""
    plain = plan_of({"kind": "sgd"}, {"kind": "fed_avg"}, full_samples=60)
    for steps, is_same in ((EQUAL, True), (UNEQUAL, False)):
        found, wanted = (
            summed(plan, payloads(plan, steps=steps, losses=LOSSES), SAMPLES) for plan in (FED_NOVA, plain)
        )
        assert np.allclose(found["w"], wanted["w"], atol=1e-5) is is_same


def test_without_its_numbers_the_step_would_be_another() -> None:
    """The control: a mean of what devices send, divided by nothing."""
    updates = payloads(Q_FED_AVG, steps=UNEQUAL, losses=LOSSES)
    plain = plan_of({"kind": "sgd"}, {"kind": "fed_avg", **UNIFORM})
    bare = [one[: len(one) - len(encode_scalars({"weight": 1.0, "curvature": 1.0}))] for one in updates]
    found, other = summed(Q_FED_AVG, updates, SAMPLES), summed(plain, bare, SAMPLES)
    assert not np.allclose(found["w"], other["w"], atol=1e-2)
