"""Privacy `distributed_noise`: how much noise a sum has, what is sent besides, and what it is refused with."""

import math
from collections.abc import Mapping

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.merge import Cohort
from coterie_learning.noise import whole_noise
from coterie_learning.plan import parse_plan, read_plan
from coterie_learning.privacy.distributed_noise import DistributedNoise
from coterie_learning.privacy.secure_aggregation import SecureAggregation
from coterie_learning.random import random_bytes
from coterie_learning.secure_sum.grid import LEAST_DEVIATION, Grid, Noise
from coterie_learning.secure_sum.masks import UInt
from coterie_learning.secure_sum.vector import word
from coterie_wire.bundle import ModelSpec, RunningMoments, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32

COUNT = 3_000
FITS: Mapping[str, object] = {
    "privacy": {"kind": "distributed_noise"},
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "codec": {"kind": "float32"},
    "pace": {"kind": "sync", "target_updates": 20, "min_updates": 10},
}


def noisy(**fields: object) -> dict[str, object]:
    return {"privacy": {"kind": "distributed_noise", **fields}}


def key(number: int) -> bytes:
    return random_bytes(32, number, "key")


def unit(seed: int, count: int = COUNT) -> Float32:
    drawn = np.random.default_rng(seed).standard_normal(count).astype(np.float32)
    found: Float32 = drawn / np.float32(np.linalg.norm(drawn))
    return found


def total(grid: Grid, updates: list[Float32]) -> UInt:
    found: UInt = np.zeros(grid.length, word(grid.bits))
    for seed, update in enumerate(updates):
        found += grid.rounded(update, weight=1.0, seed=seed, key=key(seed))
    return found


@pytest.mark.parametrize(
    ("multiplier", "members", "honest", "bits"),
    [(1.0, 3, 3, 16), (0.5, 40, 36, 16), (4.0, 20, 8, 12), (1.0, 10, 9, 20)],
)
def test_a_sum_has_the_noise_that_is_promised(multiplier: float, members: int, honest: int, bits: int) -> None:
    """Of the honest alone in full; of all that take part more, and the mean is right but for it."""
    grid = Grid(COUNT, bits, 1.0, members, 3, Noise(multiplier, honest))
    updates = [unit(seed) for seed in range(members)]
    error = grid.mean(total(grid, updates), weight=members) - np.mean(updates, axis=0)
    by_all = multiplier * grid.sensitivity * grid.step * math.sqrt(members / honest)
    assert abs(float(error.std()) * members / by_all - 1) < 0.1
    assert grid.deviation * math.sqrt(honest) == pytest.approx(multiplier * grid.sensitivity)
    assert abs(float(error.mean()) * members / by_all) < 5 / math.sqrt(COUNT)


@given(st.integers(0, 10_000), st.sampled_from([12, 16, 20]), st.integers(3, 300), st.sampled_from([100, 5_000]))
@settings(max_examples=30, deadline=None)
def test_no_update_is_longer_than_the_sensitivity(seed: int, bits: int, members: int, count: int) -> None:
    """The noise under another key differs by noise alone, so that the difference of two tells what was rounded."""
    try:
        grid = Grid(count, bits, 1.0, members, 3, Noise(1.0, members))
        limit = grid.sensitivity
    except WireError as error:
        assert error.code == "secure_sum.too_few_bits"
        return
    rounded = grid.rounded(unit(seed, count), weight=1.0, seed=seed, key=key(seed)).astype(np.int64)
    alone = (rounded - whole_noise(grid.deviation, key(seed), "sum", 0, grid.length)) % (1 << bits)
    half = 1 << (bits - 1)
    assert np.linalg.norm(((alone + half) % (1 << bits) - half).astype(np.float64)) <= limit * (1 + 1e-12)


def test_rounded_normal_numbers_sum_to_what_one_normal_number_and_uniform_ones_do() -> None:
    """What the guarantee rests on, by the exact distributions of three of deviation 4."""
    deviation, reach = LEAST_DEVIATION, 60
    edges = [(k + 0.5) / (deviation * math.sqrt(2)) for k in range(-reach - 1, reach + 1)]
    one = np.diff([0.5 * (1 + math.erf(edge)) for edge in edges])
    three = np.convolve(np.convolve(one, one), one)
    fine = 64
    grid = np.arange(-4 * reach * fine, 4 * reach * fine + 1) / fine
    wide = deviation * math.sqrt(3)
    density = np.exp(-(grid**2) / (2 * wide**2)) / (wide * math.sqrt(2 * math.pi))
    box = np.ones(fine + 1)
    box[[0, -1]] = 0.5  # the trapezoidal rule
    for _ in range(3):
        density = np.convolve(density, box / fine, mode="same")
    wanted = density[np.searchsorted(grid, np.arange(-3 * reach, 3 * reach + 1))]
    np.testing.assert_allclose(three, wanted, atol=1e-6)


def test_noise_belongs_to_its_key() -> None:
    grid, update = Grid(COUNT, 16, 1.0, 5, 3, Noise(1.0, 5)), unit(0)
    first = grid.rounded(update, weight=1.0, seed=1, key=key(1))
    assert np.array_equal(first, grid.rounded(update, weight=1.0, seed=1, key=key(1)))
    assert not np.array_equal(first, grid.rounded(update, weight=1.0, seed=1, key=key(2)))


def test_with_hardly_any_noise_it_is_secure_aggregation() -> None:
    """The degenerate case: the mean is as exact as without noise, but for noise of a hundredth."""
    members, updates = 10, [unit(seed) for seed in range(10)]
    grid = Grid(COUNT, 20, 1.0, members, 3, Noise(0.01, members))
    error = grid.mean(total(grid, updates), weight=members) - np.mean(updates, axis=0)
    assert float(error.std()) < 1.1 * 0.01 / members


def test_fewer_devices_than_promised_have_less_noise_than_promised() -> None:
    """The negative control: why each device checks how many are summed."""
    grid = Grid(COUNT, 16, 1.0, 20, 3, Noise(1.0, 20))
    error = grid.mean(total(grid, [unit(seed) for seed in range(5)]), weight=5) - np.mean(
        [unit(seed) for seed in range(5)], axis=0
    )
    assert float(error.std()) * 5 < 0.6 * grid.sensitivity * grid.step


@pytest.mark.parametrize(
    ("noise", "bits", "members", "code"),
    [
        (Noise(1.0, 1_000), 12, 1_000, "secure_sum.too_few_bits"),
        (Noise(0.0001, 30), 16, 30, "secure_sum.too_few_bits"),
        (Noise(100.0, 3), 12, 1_000, "secure_sum.too_few_bits"),
    ],
)
def test_noise_that_cannot_be_told_from_rounding_or_does_not_fit_is_refused(
    noise: Noise, bits: int, members: int, code: str
) -> None:
    with pytest.raises(WireError) as caught:
        _ = Grid(1 << 20, bits, 1.0, members, 3, noise).step
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("change", "code", "advice"),
    [
        ({"merge": {"kind": "median"}}, "plan.needs_sums", "fed_avg"),
        ({"merge": {"kind": "fed_avg"}}, "plan.needs_equal_weights", "weight_by to uniform"),
        ({"codec": {"kind": "int8"}}, "plan.needs_float32", "choose bits here"),
        ({"pace": {"kind": "buffered"}}, "plan.needs_rounds_together", "pace sync"),
        ({"help": {"kind": "cartel"}}, "plan.not_covered", "help none"),
        (noisy(min_devices=10, corrupted=0.45, dropped=0.1), "plan.too_few_devices", "min_devices"),
        (noisy(noise_multiplier=0.00001), "plan.too_few_devices", "bits"),
    ],
)
def test_what_it_is_refused_with(change: Mapping[str, object], code: str, advice: str) -> None:
    pace = {"kind": "sync", "target_updates": 30, "min_updates": 10}
    plan = read_plan({**FITS, "pace": pace, **change})
    reason = plan.privacy.misfit(plan, None, None)
    assert reason is not None
    assert reason.code == code
    assert advice in reason.sentence


def test_running_statistics_are_not_covered() -> None:
    plan = parse_plan(FITS)
    moments = RunningMoments(TensorSpec("m", "float32", (3,)), TensorSpec("v", "float32", (3,)))
    model = ModelSpec.of_classifier(
        inputs=(TensorSpec("x", "float32", (4,)),),
        classes=3,
        batch_size=2,
        parameters=(TensorSpec("weight", "float32", (30, 7)),),
    )
    model = msgspec.structs.replace(model, statistics=(moments,))
    reason = plan.privacy.misfit(plan, model, None)
    assert reason is not None
    assert reason.code == "plan.not_covered"
    assert plan.privacy.misfit(plan, None, None) is None


def test_it_costs_its_noise_and_shares_what_secure_sums_have() -> None:
    kind = DistributedNoise(noise_multiplier=1.5)
    spend = kind.spend(Cohort(10, 100))
    assert spend is not None
    assert (spend.noise_multiplier, spend.participations) == (1.5, 1)
    assert kind.masking().terms == SecureAggregation().masking().terms
    assert kind.masking().noise_multiplier == 1.5
    assert SecureAggregation().masking().noise_multiplier is None
