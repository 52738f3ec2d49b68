"""Numbers that an update holds beside those by parameter: how they travel, are summed, and are judged."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.cohort import TIMES_SCALAR, admit
from coterie_learning.exact_sum import LARGEST_SCALAR, mean_scalar
from coterie_learning.local import Local
from coterie_learning.local.fed_nova import FedNova
from coterie_learning.local.q_fed_avg import QFedAvg
from coterie_learning.merge import Cohort
from coterie_learning.plan import PRIVACY, read_plan
from coterie_learning.update_files import Contents, UpdateFile
from coterie_learning.updates import decode_scalars, encode_scalars, join_update
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory

MODEL = ModelSpec.of_classifier(
    inputs=(), classes=3, batch_size=1, parameters=(TensorSpec("w", "float32", (3,)), TensorSpec("b", "float32", (2,)))
)


def payload(size: float, **scalars: float) -> bytes:
    update = {spec.name: np.full(spec.shape, size, np.float32) for spec in MODEL.parameters}
    return join_update({}, Float32Codec().encode(update, seed=1).payload, encode_scalars(scalars))


@contextmanager
def opened(local: Local, content: bytes) -> Iterator[UpdateFile]:
    yield Contents(MODEL, Float32Codec(), local).open(InMemory(content), ())


def admitted(local: Local, updates: Sequence[bytes]) -> tuple[list[int], list[str]]:
    """The places of updates that count, and the codes of what is wrong with the others."""
    found = admit([partial(opened, local, one) for one in updates], MODEL, {}, lambda _place: None)
    return list(found.kept), [fault.code for fault in found.faults.values()]


def test_they_travel_after_the_parts() -> None:
    with opened(FedNova(), payload(0.5, normaliser=7)) as file:
        assert file.scalars == {"normaliser": 7}
        np.testing.assert_array_equal(file.numbers("b", 0, 2), [0.5, 0.5])


@pytest.mark.parametrize("number", [-1.0, math.nan, math.inf, LARGEST_SCALAR])
def test_what_is_out_of_range_is_refused(number: float) -> None:
    with pytest.raises(WireError) as caught:
        decode_scalars(encode_scalars({"normaliser": number}), ["normaliser"])
    assert caught.value.code == "update.out_of_range"


@pytest.mark.parametrize("content", [b"", payload(1), payload(1, other=1), payload(1, normaliser=1)[:-1]])
def test_an_update_without_those_that_are_wanted_is_refused(content: bytes) -> None:
    with pytest.raises(WireError) as caught, opened(FedNova(), content):
        pass
    assert caught.value.code == "update.malformed"


@given(
    st.lists(st.tuples(st.floats(0, 2.0**31, width=32), st.integers(1, 10**6)), min_size=1, max_size=20),
    st.randoms(use_true_random=False),
)
def test_their_mean_is_the_same_in_any_order(numbers: list[tuple[float, int]], random: object) -> None:
    mixed = sorted(numbers, key=lambda _: random.random())  # type: ignore[attr-defined]
    one, other = (mean_scalar(*zip(*order, strict=True)) for order in (numbers, mixed))
    assert one == other
    exact = math.fsum(number * weight for number, weight in numbers) / sum(weight for _, weight in numbers)
    assert one == pytest.approx(exact, abs=1e-9, rel=1e-12)


def test_who_tells_of_far_more_steps_than_the_others_is_left_out() -> None:
    most = TIMES_SCALAR * 4
    usual = [payload(0.1, normaliser=number) for number in (2, 4, 4, most)]
    assert admitted(FedNova(), usual) == ([0, 1, 2, 3], [])
    assert admitted(FedNova(), [*usual[:3], payload(0.1, normaliser=most + 1)]) == ([0, 1, 2], ["update.outlier"])


def test_devices_with_a_high_loss_are_no_outliers_for_it() -> None:
    """What they send is multiplied by it; what they learned is compared."""
    high = payload(0.1 * 1e4, weight=1e4, curvature=2e4)
    others = [payload(0.1, weight=1, curvature=2)] * 3
    assert admitted(QFedAvg(), [*others, payload(0.1 * 100, weight=100, curvature=200)]) == ([0, 1, 2, 3], [])
    assert admitted(QFedAvg(), [*others, high])[1] == ["update.out_of_range"], "exact sums hold numbers below 128"
    assert admitted(QFedAvg(), [*others, payload(5, weight=1, curvature=2)]) == ([0, 1, 2], ["update.outlier"])


@pytest.mark.parametrize("algorithm", ["fed_nova", "q_fed_avg"])
@pytest.mark.parametrize("privacy", PRIVACY.kinds)
def test_noise_on_bounded_updates_does_not_cover_them(algorithm: str, privacy: str) -> None:
    """Where there is none, or where they are summed under masks, nothing is claimed that they would break."""
    halves: dict[str, object] = {"local": {"kind": algorithm}, "merge": {"kind": algorithm}}
    if algorithm == "fed_nova":
        halves["merge"] = {"kind": algorithm, "weight_by": "uniform"}
    rest = {"codec": {"kind": "float32"}, "pace": {"kind": "sync", "min_updates": 10}}
    plan = read_plan({**halves, **rest, "privacy": {"kind": privacy}})
    found = {misfit.reason.code for misfit in plan.misfits(None, None)}
    assert found == ({"plan.not_covered"} if plan.privacy.spend(Cohort(10, 10)) else set())


def test_a_norm_that_is_held_to_a_bound_is_that_of_what_was_sent() -> None:
    """Which a device clips; only what is compared with others is what it learned."""
    opens = [partial(opened, QFedAvg(), payload(0.1, weight=0.01, curvature=1))]
    sent, learned = (admit(opens, MODEL, {}, lambda _place: None, bound=bound).norms[0] for bound in (1.0, None))
    assert (sent, learned) == (pytest.approx(0.1 * 5**0.5), pytest.approx(10 * 5**0.5))


@pytest.mark.parametrize("kind", ["scaffold", "fed_nova", "per_fedavg"])
def test_an_adaptive_optimiser_is_refused(kind: str) -> None:
    """What a step moves is no multiple of its gradient there, from which these kinds would go on."""
    merge = {"kind": kind} if kind != "per_fedavg" else {"kind": "fed_avg"}
    plan = read_plan({"local": {"kind": kind}, "merge": merge})
    adaptive = msgspec.structs.replace(MODEL, scalars=("learning_rate", "proximal_weight", "step"))
    found = plan.local.misfit(plan, adaptive, None)
    assert found is not None and found.code == "plan.does_not_fit"
    assert plan.local.misfit(plan, MODEL, None) is None
