"""Profiles of the newest batches, and the divergence of class priors."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import jensenshannon

from coterie_learning.profile import ClassProfile, Float64, jensen_shannon

priors = hnp.arrays(np.int64, 6, elements=st.integers(0, 50)).filter(np.any).map(lambda counts: counts / counts.sum())


def observed(*batches: tuple[list[int], list[int]], keep: int = 2) -> ClassProfile:
    profile = ClassProfile(classes=4, keep=keep)
    for labels, predicted in batches:
        profile = profile.observe(np.array(labels), np.array(predicted))
    return profile


def test_counts_are_those_of_the_newest_batches() -> None:
    profile = observed(([0, 0], [1, 1]), ([0, 1, 1], [0, 1, 3]), ([3], [3]))
    counts = profile.counts(2)
    assert counts.samples.tolist() == [1, 2, 0, 1]
    assert counts.wrong.tolist() == [0, 1, 0, 0]
    assert counts.error == 0.25
    assert counts.prior().tolist() == [0.25, 0.5, 0, 0.25]
    np.testing.assert_array_equal(counts.recall(), [1, 0.5, np.nan, 1])
    assert profile.counts(1).samples.tolist() == [0, 0, 0, 1]
    assert profile.counts(9) is not None
    assert len(profile.batches) == 2, "older batches are forgotten"


def test_a_class_is_troubled_with_enough_samples_and_too_few_of_them_found() -> None:
    counts = observed(([0, 0, 0, 0, 1, 1, 2, 2], [0, 0, 3, 3, 0, 0, 0, 2])).counts(1)
    assert counts.troubled(below=0.5, samples=2) == (1,)
    assert counts.troubled(below=0.51, samples=2) == (0, 1, 2)
    assert counts.troubled(below=0.51, samples=3) == (0,)


def test_without_samples_nothing_is_claimed() -> None:
    counts = ClassProfile(classes=4, keep=3).counts(3)
    assert counts.error == 0
    assert not counts.prior().any()
    assert np.isnan(counts.recall()).all()
    assert counts.troubled(below=1.0, samples=1) == ()


@pytest.mark.parametrize("labels", [[], [-1], [4]])
def test_a_batch_that_does_not_fit_is_refused(labels: list[int]) -> None:
    with pytest.raises(ValueError, match="classes 0 to 3"):
        ClassProfile(classes=4, keep=1).observe(np.array(labels, np.int64), np.array(labels, np.int64))


def test_a_stored_profile_is_the_same() -> None:
    profile = observed(([0, 0], [1, 1]), ([3], [3]))
    assert msgspec.json.decode(msgspec.json.encode(profile), type=ClassProfile) == profile


@given(p=priors, q=priors)
def test_the_divergence_is_that_of_scipy(p: Float64, q: Float64) -> None:
    assert jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q, base=2) ** 2, abs=1e-9)
    assert jensen_shannon(p, q) == pytest.approx(jensen_shannon(q, p), abs=1e-12)
    assert 0 <= jensen_shannon(p, q) <= 1


@pytest.mark.parametrize(
    ("p", "q", "bits"), [([1, 0], [0, 1], 1), ([0.5, 0.5], [0.5, 0.5], 0), ([0, 0], [1, 0], 1), ([0, 0], [0, 0], 0)]
)
def test_extremes_of_the_divergence(p: list[float], q: list[float], bits: float) -> None:
    assert jensen_shannon(np.array(p, np.float64), np.array(q, np.float64)) == bits
