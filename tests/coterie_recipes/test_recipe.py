import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_recipes.recipe import Person, Samples, accuracy, area_under_curve, divided, most_frequent, top

SCORES = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30)


@given(SCORES)
def test_the_area_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[int, bool]]) -> None:
    suspicion, ill = np.array([row[0] for row in rows], float), np.array([row[1] for row in rows])
    pairs = [(bad > good) + 0.5 * (bad == good) for bad in suspicion[ill] for good in suspicion[~ill]]
    expected = float(np.mean(pairs)) if pairs else 0.5
    assert area_under_curve(suspicion, ill.astype(np.int64)) == pytest.approx(expected)


def test_the_newest_quarter_is_the_test_and_the_gap_is_in_neither_part() -> None:
    samples = Samples(np.arange(20, dtype=np.float32)[:, None], np.arange(20) % 2)
    person = divided(samples, gap=2)
    assert person.test.x[:, 0].tolist() == [15, 16, 17, 18, 19]
    assert person.train.x[:, 0].tolist() == list(range(13))
    assert person.truth.tolist() == person.test.y.tolist()


def test_measures_of_outputs() -> None:
    outputs = np.array([[3, 2, 1, 0], [0, 1, 2, 3]], np.float32)
    samples = Samples(np.zeros((2, 1), np.float32), np.array([0, 1]))
    person = Person(samples, samples, np.array([0, 1]))
    assert accuracy(outputs, person) == 0.5
    assert [top(outputs, person, of=count) for count in (1, 2, 3)] == [0.5, 0.5, 1.0]
    assert most_frequent(Person(Samples(samples.x, np.array([1, 1])), samples, samples.y)) == 0.5
