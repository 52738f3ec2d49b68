"""A norm that follows a quantile of updates: where it goes from far off, and that noise pays for what it tells."""

import numpy as np
import pytest

from coterie_learning.exact_sum import GRID_BITS
from coterie_learning.merge import Cohort
from coterie_learning.plan import read_plan
from coterie_learning.privacy import Privacy, ReleasedElements
from coterie_learning.privacy._quantiles import count_noise, next_norm, sum_multiplier
from coterie_learning.privacy.central_noise import CentralNoise
from coterie_wire.errors import WireError

UNIFORM = {"merge": {"kind": "fed_avg", "weight_by": "uniform"}}
PLACE = ReleasedElements("delta.a", 0, 1 << GRID_BITS)


def keys(count: int) -> list[bytes]:
    return [number.to_bytes(32, "big") for number in range(count)]


@pytest.mark.parametrize("first", [0.01, 100.0])
@pytest.mark.parametrize("quantile", [0.3, 0.5, 0.8])
def test_it_goes_to_the_quantile_from_far_off(first: float, quantile: float) -> None:
    norms = np.random.default_rng(0).lognormal(size=(300, 100))
    kind: Privacy = CentralNoise(norm=first, noise_multiplier=1.0, quantile=quantile)
    for number, key in enumerate(keys(300)):
        arrived = np.minimum(norms[number], kind.bound() or 0)  # as devices have clipped them
        found = kind.next_bound(arrived.tolist(), seed=key)
        assert found is not None
        kind = kind.bounded_by(found)
    assert kind.bound() == pytest.approx(float(np.quantile(norms, quantile)), rel=0.25)


def test_one_round_moves_it_by_a_fifth_at_most_but_for_noise() -> None:
    moves = [np.log(next_norm(1.0, 0.5, 1.0, [5.0] * 100, key)) for key in keys(300)]
    assert np.mean(moves) == pytest.approx(0.2 * 0.5, abs=4 * 0.2 * 0.05 / 300**0.5)
    assert np.std(moves) == pytest.approx(0.2 * 0.05, rel=0.2)


@pytest.mark.parametrize(("multiplier", "updates"), [(1.0, 100), (3.0, 100), (1.0, 3), (40.0, 100)])
def test_sum_and_count_cost_together_what_one_sum_costs(multiplier: float, updates: int) -> None:
    """Gaussian mechanisms add up in their squared means: that of the sum, and that of a count moved by one half."""
    told = sum_multiplier(multiplier, updates) ** -2 + (0.5 / count_noise(multiplier, updates)) ** 2
    assert told == pytest.approx(multiplier**-2)
    assert CentralNoise(noise_multiplier=multiplier, quantile=0.5).spend(Cohort(updates, updates)) == CentralNoise(
        noise_multiplier=multiplier
    ).spend(Cohort(updates, updates))


def test_the_sum_has_the_noise_that_pays_for_the_count() -> None:
    zeros, cohort = np.zeros(200_000, np.int64), Cohort(10, 10)
    still, moved = (
        kind.release(zeros, seed=bytes(32), place=PLACE, cohort=cohort).std() / PLACE.unit
        for kind in (CentralNoise(noise_multiplier=2.0), CentralNoise(noise_multiplier=2.0, quantile=0.5))
    )
    assert moved / still == pytest.approx(sum_multiplier(2.0, 10) / 2.0, rel=1e-6)


def test_one_device_moves_the_count_by_one_whatever_its_norm() -> None:
    others, key = [0.5] * 9, bytes(32)
    found = {next_norm(1.0, 0.5, 2.0, [*others, norm], key) for norm in (0.0, 0.9, 1.0, 1e6)}
    assert len(found) == 2


def test_without_a_quantile_it_stays() -> None:
    kind = CentralNoise(norm=0.5)
    assert kind.next_bound([1.0, 2.0], seed=bytes(32)) is None
    assert kind.bounded_by(9.0) is kind


def test_it_stays_within_what_a_plan_takes() -> None:
    key = bytes(32)
    assert next_norm(1e-6, 0.01, 1e-6, [0.0] * 100, key) == 1e-6
    assert next_norm(1e3, 0.99, 1e-6, [1e9] * 100, key) == 1e3


def test_asynchronous_paces_and_correlated_noise_are_refused() -> None:
    plan = read_plan({"privacy": {"kind": "central_noise", "quantile": 0.5}, **UNIFORM, "pace": {"kind": "buffered"}})
    found = plan.privacy.misfit(plan, None, None)
    assert found is not None and found.code == "plan.needs_cohorts"
    fixed = read_plan({"privacy": {"kind": "central_noise"}, **UNIFORM, "pace": {"kind": "buffered"}})
    assert fixed.privacy.misfit(fixed, None, None) is None
    with pytest.raises(WireError, match="quantile"):
        read_plan({"privacy": {"kind": "correlated_noise", "quantile": 0.5}, **UNIFORM})
