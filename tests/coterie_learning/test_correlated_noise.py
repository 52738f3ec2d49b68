"""Noise over rounds: it is what the strategy says, the same when drawn again, and cancels out in sums of rounds."""

import math

import numpy as np
import pytest

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.correlation import banded_square_root, inverse, sensitivity
from coterie_learning.exact_sum import GRID_BITS
from coterie_learning.fold import Aggregation, CountedUpdate, Release, fold_in_memory
from coterie_learning.merge import Cohort
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.plan import read_plan
from coterie_learning.privacy import ReleasedElements
from coterie_learning.privacy.central_noise import CentralNoise
from coterie_learning.privacy.correlated_noise import CorrelatedNoise
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import stored

KEYS = [bytes([number]) * 32 for number in range(12)]
COUNT = 1_000_000
PLACE = ReleasedElements("delta.a", 0, 1 << GRID_BITS)
KIND = CorrelatedNoise(norm=0.5, noise_multiplier=3.0, separation_rounds=4, target_rounds=12)
UNIFORM = {"merge": {"kind": "fed_avg", "weight_by": "uniform"}}


def noise(kind: CorrelatedNoise, number: int, *, count: int = COUNT) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """That of release `number`, in white standard deviations."""
    found = kind.release(
        np.zeros(count, np.int64), seed=KEYS[number], place=PLACE, cohort=Cohort(1, 1), earlier=KEYS[:number]
    )
    return found / (kind.noise_multiplier * kind.norm * PLACE.unit)


def test_its_covariance_over_rounds_is_that_of_the_strategy() -> None:
    drawn = np.stack([noise(KIND, number) for number in range(6)])
    column = inverse(banded_square_root(4), 6)
    factor = np.array([[column[row - place] if row >= place else 0.0 for place in range(6)] for row in range(6)])
    np.testing.assert_allclose(drawn @ drawn.T / COUNT, factor @ factor.T, atol=6e-3)
    assert abs(drawn.mean()) < 4 / COUNT**0.5
    strategy = np.linalg.inv(factor)
    white = strategy @ drawn  # what hides a device's parts
    np.testing.assert_allclose(white @ white.T / COUNT, np.eye(6), atol=6e-3)


def test_a_canary_in_two_releases_is_seen_as_well_as_it_is_charged_for_and_no_better() -> None:
    """Every number is a stream of its own, whose attacker undoes the correlation and looks in the canary's direction.

    The advantage of the best threshold on a Gaussian mechanism of μ is 2Φ(μ/2) - 1 (Dong et al. 2019).
    """
    count, rounds, parts = 100_000, 8, (0, 4)
    factor = np.array([inverse(banded_square_root(4), row + 1)[::-1].tolist() + [0.0] * (7 - row) for row in range(8)])
    drawn = np.linalg.inv(factor) @ np.stack([noise(KIND, number, count=count) for number in range(rounds)])
    moved = np.linalg.inv(factor) @ [(number in parts) / KIND.noise_multiplier for number in range(rounds)]
    without, threshold = moved @ drawn, moved @ moved / 2
    advantage = np.mean(without + 2 * threshold > threshold) - np.mean(without > threshold)
    spent = KIND.spend(Cohort(1, 1))
    assert spent is not None
    mu = math.sqrt(len(parts)) / spent.noise_multiplier
    assert advantage == pytest.approx(math.erf(mu / 2 / math.sqrt(2)), abs=5 * 0.5 / count**0.5)


def test_sums_of_rounds_have_less_of_it_than_of_white_noise() -> None:
    total = sum(noise(KIND, number, count=50_000) for number in range(12))
    assert np.std(total) < 0.6 * 12**0.5


@pytest.mark.parametrize("block", [7, 4096, 50_000])
def test_a_repeated_merge_draws_the_same_whatever_its_blocks(block: int) -> None:
    base: Tensors = {"a": np.zeros(9_000, np.float32), "b": np.zeros((3, 5), np.float32)}
    specs, opens = stored(base, [base], Float32Codec())
    release = Release(KIND, KEYS[5], KEYS[:5])
    one, other = (
        fold_in_memory(
            FedAvg(), specs, [CountedUpdate(opens[0], 1)], base, None, Aggregation(release=release), block=size
        ).parameters
        for size in (block, None)
    )
    for name, tensor in one.items():
        np.testing.assert_array_equal(tensor, other[name])


def test_the_first_release_and_every_one_without_separation_have_white_noise() -> None:
    """One band is the identity: the kind degenerates to `central_noise`."""
    zeros, cohort = np.zeros(5000, np.int64), Cohort(1, 1)
    white = CentralNoise(norm=0.5, noise_multiplier=3.0).release(zeros, seed=KEYS[5], place=PLACE, cohort=cohort)
    alone = CorrelatedNoise(norm=0.5, noise_multiplier=3.0, separation_rounds=1)
    found = alone.release(zeros, seed=KEYS[5], place=PLACE, cohort=cohort, earlier=KEYS[:5])
    np.testing.assert_array_equal(found, white)
    assert alone.spend(cohort) == CentralNoise(norm=0.5, noise_multiplier=3.0).spend(cohort)
    np.testing.assert_array_equal(KIND.release(zeros, seed=KEYS[5], place=PLACE, cohort=cohort), white)


def test_a_release_under_the_same_sums_has_the_same_seeds_and_another_sum_another() -> None:
    first = Release.under(KIND, KEYS[0], ["a 1", "b 1"])
    assert first.earlier == () and len(first.digest) == 64
    again, other = (Release.under(KIND, KEYS[0], what, [first.digest]) for what in (["c 1"], ["d 1"]))
    assert again.earlier == other.earlier == (first.seed,)
    assert again == Release.under(KIND, KEYS[0], ["c 1"], [first.digest])
    assert again.seed != other.seed
    assert Release.under(KIND, KEYS[0], ["b 1", "a 1"]) == first
    assert Release.under(KIND, KEYS[0], ["a 1", "b 1"], [first.digest]).seed != first.seed, "of another place"


def test_parts_cost_together_what_the_whole_stream_tells() -> None:
    for apart, rounds in ((10, 100), (100, 1000), (250, 1000)):
        kind = CorrelatedNoise(noise_multiplier=7.0, separation_rounds=apart, target_rounds=rounds)
        spent = kind.spend(Cohort(1, 1))
        assert spent is not None and spent.participations == 1
        whole = sensitivity(banded_square_root(apart), rounds=rounds, apart=apart) / 7.0
        assert (rounds // apart) / spent.noise_multiplier**2 == pytest.approx(whole**2)


def test_asynchronous_paces_are_refused_and_so_is_what_central_noise_refuses() -> None:
    def misfit(**slots: object) -> str:
        plan = read_plan({"privacy": {"kind": "correlated_noise"}, **slots})
        found = plan.privacy.misfit(plan, None, None)
        return "" if found is None else found.code

    assert misfit(**UNIFORM) == ""
    assert misfit(**UNIFORM, pace={"kind": "buffered"}) == "plan.needs_cohorts"
    assert misfit(merge={"kind": "median"}) == "plan.needs_sums"
    assert misfit(merge={"kind": "fed_avg"}) == "plan.needs_equal_weights"
    assert misfit(**UNIFORM, help={"kind": "cartel"}) == "plan.not_covered"
