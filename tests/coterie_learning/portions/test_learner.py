"""An extra learner beside the target's own model: what it says, what it weighs, when it goes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coterie_learning.portions.learner import LEAST_WEIGHT, boost_weights, opinion, vote, worth_keeping
from coterie_wire.tensors import Float32

LABELS = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])


def certain(labels: np.ndarray, wrong: int = 0) -> Float32:
    """Probabilities 1 for `labels`, but for the first `wrong` of them, which are taken for the next class."""
    said = labels.copy()
    said[:wrong] = (said[:wrong] + 1) % 3
    return np.eye(3, dtype=np.float32)[said]


def test_an_extra_learner_speaks_of_the_classes_asked_for_and_leaves_the_rest() -> None:
    own = np.array([[0.6, 0.3, 0.1], [0.0, 0.0, 1.0]], np.float32)
    extra = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]], np.float32)
    # Of class 2 it says 0.5; the other 0.5 is divided as 0.6 to 0.3. A silent target leaves 0.9 to be shared evenly.
    np.testing.assert_allclose(opinion(own, extra, (2,)), [[1 / 3, 1 / 6, 1 / 2], [0.45, 0.45, 0.1]], rtol=1e-6)


distributions = hnp.arrays(np.float32, (4, 3), elements=st.floats(0, 1, width=32)).map(
    lambda raw: ((raw + np.float32(1e-6)) / (raw + np.float32(1e-6)).sum(axis=1, keepdims=True)).astype(np.float32)
)


@given(own=distributions, extra=distributions, classes=st.sets(st.integers(0, 2), min_size=1, max_size=2))
def test_an_opinion_is_a_distribution(own: Float32, extra: Float32, classes: set[int]) -> None:
    said = opinion(own, extra, sorted(classes))
    np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-5)
    assert (said >= -1e-6).all()


def test_one_learner_has_all_weight_even_where_it_is_wrong() -> None:
    assert boost_weights([certain(LABELS)], LABELS).tolist() == [1]
    assert boost_weights([certain(LABELS, wrong=10)], LABELS).tolist() == [1]


def test_weights_follow_the_boosting_rule() -> None:
    # 4 of 10 wrong: ln(0.6 / 0.4) + ln 2. The weights of those 4 triple: 3 of 4.5 of all. The extra one has 1 of the
    # right ones wrong, so 1/4 * 1/4.5 ... all counted below.
    own, extra = certain(LABELS, wrong=4), certain(LABELS[::-1], wrong=0)[::-1].copy()
    extra[9] = [0, 1, 0]
    first = np.log(0.6 / 0.4) + np.log(2)
    samples = np.where(np.arange(10) < 4, np.exp(first), 1.0)
    error = samples[9] / samples.sum()
    second = np.log((1 - error) / error) + np.log(2)
    np.testing.assert_allclose(boost_weights([own, extra], LABELS), np.array([first, second]) / (first + second))


def test_a_learner_that_is_no_help_is_dropped_and_the_own_model_never() -> None:
    weights = boost_weights([certain(LABELS, wrong=1), certain(LABELS, wrong=10)], LABELS)
    assert weights[1] < LEAST_WEIGHT
    assert worth_keeping(weights) == (True, False)
    assert worth_keeping(boost_weights([certain(LABELS, wrong=10), certain(LABELS)], LABELS)) == (True, True)


@pytest.mark.parametrize("labels", [np.array([1]), np.array([1, 1])])
def test_a_window_of_one_class_can_be_weighed(labels: np.ndarray) -> None:
    probabilities = np.array([[0.1, 0.8, 0.1]] * len(labels), np.float32)
    assert boost_weights([probabilities, probabilities], labels).sum() == pytest.approx(1)


def test_votes_are_weighted() -> None:
    said = vote([certain(np.array([0])), certain(np.array([2]))], [0.25, 0.75])
    assert said.tolist() == [[0.25, 0, 0.75]]
