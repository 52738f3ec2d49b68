"""Central and local noise: how much of it there is, on what, and that it hides what it is said to hide."""

import math

import msgspec
import numpy as np
import pytest

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.exact_sum import GRID_BITS
from coterie_learning.fold import Aggregation, CountedUpdate, Release, fold_in_memory
from coterie_learning.merge import Cohort
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.plan import read_plan
from coterie_learning.privacy import ReleasedElements, Spend
from coterie_learning.privacy.central_noise import CentralNoise
from coterie_learning.privacy.local_noise import LocalNoise
from coterie_wire.bundle import ModelSpec, RunningMoments, TensorSpec
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import stored

KEY = bytes(range(32))
COUNT = 50_000
BASE: Tensors = {"a": np.zeros(COUNT, np.float32), "b": np.zeros((3, 5), np.float32)}
UNIFORM = {"merge": {"kind": "fed_avg", "weight_by": "uniform"}}


def merged(kind: CentralNoise, updates: list[Tensors], *, key: bytes = KEY, block: int | None = None) -> Tensors:
    specs, opens = stored(BASE, updates, Float32Codec())
    counted = [CountedUpdate(one, 1) for one in opens]
    merge = FedAvg(weight_by="uniform")
    return fold_in_memory(
        merge, specs, counted, BASE, None, Aggregation(release=Release(kind, key)), block=block
    ).parameters


def test_the_noise_of_a_mean_is_the_multiplier_times_the_norm_over_the_updates() -> None:
    updates = [BASE] * 4
    found = merged(CentralNoise(norm=0.5, noise_multiplier=3.0), updates)["a"]
    assert abs(found.std() / (3.0 * 0.5 / 4) - 1) < 0.02
    assert abs(found.mean()) < 4 * found.std() / COUNT**0.5


def test_noise_is_added_to_the_exact_sum_and_to_every_part_of_the_model() -> None:
    kind, update = CentralNoise(norm=0.5, noise_multiplier=3.0), {"a": BASE["a"] + 0.25, "b": BASE["b"] - 0.5}
    silent, loud = merged(kind, [BASE] * 4), merged(kind, [BASE, update, BASE, update])
    np.testing.assert_allclose(loud["a"] - silent["a"], 0.125, atol=1e-6)
    np.testing.assert_allclose(loud["b"] - silent["b"], -0.25, atol=1e-6)
    assert np.count_nonzero(silent["b"]) == 15


@pytest.mark.long
@pytest.mark.parametrize("block", [1, 7, 4096, COUNT])
def test_a_repeated_merge_draws_the_same_whatever_its_blocks(block: int) -> None:
    if block == 1:
        small = {"a": np.zeros(50, np.float32), "b": BASE["b"]}
        specs, opens = stored(small, [small], Float32Codec())
        release = Release(CentralNoise(), KEY)
        one, other = (
            fold_in_memory(
                FedAvg(), specs, [CountedUpdate(opens[0], 1)], small, None, Aggregation(release=release), block=size
            ).parameters
            for size in (1, None)
        )
    else:
        one, other = merged(CentralNoise(), [BASE], block=block), merged(CentralNoise(), [BASE])
    for name, tensor in one.items():
        np.testing.assert_array_equal(tensor, other[name])


def test_updates_of_other_units_get_noise_in_theirs() -> None:
    zeros, cohort = np.zeros(COUNT, np.int64), Cohort(1, 1)
    for unit in (1 << GRID_BITS, 1000 << GRID_BITS):
        noised = CentralNoise(norm=2, noise_multiplier=0.5).release(
            zeros, seed=KEY, place=ReleasedElements("delta.a", 0, unit), cohort=cohort
        )
        assert abs(noised.std() / unit - 1) < 0.02


@pytest.mark.long
def test_a_canary_is_seen_no_better_than_the_guarantee_allows() -> None:
    """The advantage of the best threshold on a one-dimensional sum is at most 2Φ(1/2z) - 1 (Dong et al. 2019)."""
    multiplier, runs = 1.0, 4000
    kind, cohort = CentralNoise(norm=1, noise_multiplier=multiplier), Cohort(2, 2)
    place, unit = ReleasedElements("delta.a", 0, 1 << GRID_BITS), 1 << GRID_BITS

    def above(canary: int, first: int) -> float:
        keys = [number.to_bytes(32, "big") for number in range(first, first + runs)]
        total = np.array([canary], np.int64)
        return float(np.mean([kind.release(total, seed=key, place=place, cohort=cohort)[0] > unit / 2 for key in keys]))

    bound = math.erf(1 / (2 * multiplier) / math.sqrt(2))
    advantage = above(unit, 1) - above(0, runs + 1)
    assert abs(advantage - bound) < 4 * (0.5 / runs) ** 0.5


def test_without_noise_worth_the_name_the_canary_is_seen() -> None:
    kind, unit = CentralNoise(norm=1, noise_multiplier=1e-6), 1 << GRID_BITS
    total, place = np.array([unit], np.int64), ReleasedElements("delta.a", 0, unit)
    assert abs(kind.release(total, seed=KEY, place=place, cohort=Cohort(1, 1))[0] / unit - 1) < 1e-4


def test_local_noise_is_on_the_update_scaled_to_its_norm() -> None:
    update: Tensors = {"a": np.full(COUNT, 3.0, np.float32)}
    noised = LocalNoise(norm=0.5, noise_multiplier=2.0).protect(update, seed=1)["a"]
    assert noised.dtype == np.float32
    assert abs(noised.std() / (2 * 0.5 * 2.0) - 1) < 0.02
    assert abs(noised.mean() - 0.5 / COUNT**0.5) < 4 * 2.0 / COUNT**0.5


def test_local_noise_is_unrelated_for_another_update_under_the_same_seed() -> None:
    kind = LocalNoise(norm=1.0, noise_multiplier=1.0)
    one = kind.protect({"a": np.zeros(COUNT, np.float32)}, seed=1)["a"]
    other = kind.protect({"a": np.full(COUNT, 1e-12, np.float32)}, seed=1)["a"]
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / COUNT**0.5


def test_what_they_cost_is_their_noise_over_the_sensitivity_and_claims_no_sampling() -> None:
    cohort = Cohort(10, 1000)
    for kind in (CentralNoise(norm=3.0, noise_multiplier=1.5), LocalNoise(norm=3.0, noise_multiplier=1.5)):
        assert kind.spend(cohort) == Spend(1.5, participations=1)


def model(*, statistics: bool = False) -> ModelSpec:
    pairs = (RunningMoments(TensorSpec("mean", "float32", (2,)), TensorSpec("var", "float32", (2,))),)
    spec = ModelSpec.of_classifier(
        inputs=(TensorSpec("x", "float32", (2,)),),
        classes=2,
        batch_size=4,
        parameters=(TensorSpec("w", "float32", (2,)),),
    )
    return msgspec.structs.replace(spec, statistics=pairs if statistics else ())


@pytest.mark.parametrize(
    ("change", "code", "advice"),
    [
        ({"merge": {"kind": "median"}}, "plan.needs_sums", "fed_avg"),
        ({"merge": {"kind": "norm_bound"}}, "plan.needs_sums", "norms of single updates"),
        ({"merge": {"kind": "fed_avg"}}, "plan.needs_equal_weights", "set weight_by to uniform"),
        (
            {"merge": {"kind": "newton"}, "local": {"kind": "second_order"}},
            "plan.needs_equal_weights",
            "take a merge that counts each update once",
        ),
        ({**UNIFORM, "selection": {"kind": "oort"}}, "plan.not_covered", "selection uniform"),
        ({**UNIFORM, "help": {"kind": "cartel"}}, "plan.not_covered", "help none"),
    ],
)
def test_central_noise_refuses_what_sees_updates_without_it(change: dict[str, object], code: str, advice: str) -> None:
    plan = read_plan({"privacy": {"kind": "central_noise"}, **change})
    found = plan.privacy.misfit(plan, None, None)
    assert found is not None and found.code == code and advice in found.sentence


@pytest.mark.parametrize("kind", ["central_noise", "local_noise"])
def test_running_statistics_are_not_covered_and_therefore_refused(kind: str) -> None:
    plan = read_plan({"privacy": {"kind": kind}, **UNIFORM})
    assert plan.privacy.misfit(plan, model(), None) is None
    found = plan.privacy.misfit(plan, model(statistics=True), None)
    assert found is not None and found.code == "plan.not_covered"


def test_local_noise_refuses_rows_that_name_classes_and_works_with_any_merge() -> None:
    plan = read_plan({"privacy": {"kind": "local_noise"}, "merge": {"kind": "median"}})
    assert plan.privacy.misfit(plan, model(), None) is None
    named = read_plan({"privacy": {"kind": "local_noise"}, "local": {"kind": "distill", "head": "seen"}})
    found = named.privacy.misfit(named, None, None)
    assert found is not None and "names them" in found.sentence
