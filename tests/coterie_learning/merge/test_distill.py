import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.merge.distill import DistillMerge, mean_output


def test_the_worst_share_is_dropped() -> None:
    assert DistillMerge().retained_models([0.9, 0.2, 0.8, 0.7, 0.1, 0.6, 0.5, 0.4, 0.3, 0.95]) == (0, 2, 3, 5, 6, 7, 9)


def test_of_two_the_better_is_left() -> None:
    assert DistillMerge().retained_models([0.2, 0.4]) == (1,)


def test_one_alone_is_kept() -> None:
    assert DistillMerge(drop_share=0.9).retained_models([0.0]) == (0,)


def test_what_is_not_finite_goes_first_and_counts_towards_the_share() -> None:
    assert DistillMerge().retained_models([math.nan, 0.2, 0.8]) == (1, 2)
    assert DistillMerge(drop_share=0).retained_models([math.nan, math.nan]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 0.99))
def test_nothing_that_is_kept_is_worse_than_what_is_dropped(accuracies: list[float], share: float) -> None:
    kept = DistillMerge(drop_share=share).retained_models(accuracies)
    dropped = [accuracy for index, accuracy in enumerate(accuracies) if index not in kept]
    assert kept
    assert max(dropped, default=0) <= min(accuracies[index] for index in kept)
    assert abs(len(dropped) - share * len(accuracies)) <= 1


def test_a_class_that_a_model_does_not_have_counts_as_zero() -> None:
    outputs = np.array([[[0.5, 0.5, 0.0]], [[0.0, 0.2, 0.8]], [[1.0, 0.0, 0.0]]], np.float32)
    assert np.allclose(mean_output(outputs, (0, 1)), [[0.25, 0.35, 0.4]])
