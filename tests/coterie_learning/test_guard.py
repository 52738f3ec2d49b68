"""The guard: the better of two models is kept, and a difference within the noise counts for the one that was there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coterie_learning.guard import judge

labels = hnp.arrays(np.int64, 20, elements=st.integers(0, 2))


def test_both_numbers_are_told() -> None:
    truth = np.array([0, 0, 1, 1, 2, 2, 2, 2])
    found = judge(truth, before=np.zeros(8, np.int64), after=np.array([0, 0, 0, 0, 2, 2, 2, 2]))
    assert (found.before, found.after, found.kept) == (0.25, 0.75, True)


@pytest.mark.parametrize(
    ("won", "lost", "kept"), [(0, 0, False), (1, 0, False), (2, 0, True), (5, 2, True), (5, 3, False), (0, 9, False)]
)
def test_a_win_within_one_standard_error_is_undone(won: int, lost: int, kept: bool) -> None:
    truth = np.zeros(30, np.int64)
    before, after = truth.copy(), truth.copy()
    before[:won] = 1
    after[won : won + lost] = 1
    assert judge(truth, before, after).kept is kept


@given(truth=labels, before=labels, after=labels)
def test_what_is_kept_is_better_and_never_both_ways(truth: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
    there, back = judge(truth, before, after), judge(truth, after, before)
    assert not (there.kept and back.kept)
    assert not there.kept or there.after > there.before
    assert not judge(truth, before, before).kept


def test_without_samples_there_is_no_judgement() -> None:
    with pytest.raises(ValueError, match="without samples"):
        judge(*[np.empty(0, np.int64)] * 3)
