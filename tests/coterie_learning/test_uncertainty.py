import numpy as np
import pytest

from coterie_learning.uncertainty import most_uncertain


@pytest.mark.parametrize(("how", "chosen"), [("margin", 1), ("entropy", 2)])
def test_the_margin_looks_at_two_classes_and_entropy_at_all(how: str, chosen: int) -> None:
    logits = np.array([[9.0, 0, 0, 0], [3.0, 2.9, -20, -20], [1.0, 0, 0, 0]])
    assert most_uncertain([0, 1, 2], logits, how) == chosen  # type: ignore[arg-type]


def test_of_equally_uncertain_ones_the_newest_is_chosen_and_of_broken_outputs_one() -> None:
    assert most_uncertain([4, 9, 6], np.zeros((3, 2)), "margin") == 9
    assert most_uncertain([1, 2], np.array([[0.0, 0.0], [np.nan, 1.0]]), "entropy") == 2
