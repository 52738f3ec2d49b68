import numpy as np

from coterie_learning.grouping.stability import MOST_OF_A_GROUP, Divided, prediction_strength

PLACES = np.array([0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3])
BEHAVIOURS = np.repeat([0, 1], 4)


def distances(places: np.ndarray) -> np.ndarray:
    return np.abs(places[:, None] - places[None]).astype(np.float32)


def in_the_middle(part: np.ndarray) -> Divided | None:
    """Two groups, cut half-way between the two models that are farthest from each other."""
    one, other = np.unravel_index(part.argmax(), part.shape)
    exemplars = np.array([one, other], np.int64)
    return Divided(part[:, exemplars].argmin(axis=1), exemplars)


def test_groups_that_halves_agree_on_have_strength_one() -> None:
    assert prediction_strength(distances(PLACES), BEHAVIOURS, in_the_middle) == 1


def test_a_half_that_cannot_be_divided_has_no_strength() -> None:
    assert prediction_strength(distances(PLACES), BEHAVIOURS, lambda _: None) == 0


def test_of_large_groups_a_part_is_compared() -> None:
    models = 3 * MOST_OF_A_GROUP
    places = np.concatenate([np.linspace(0, 1, models), np.linspace(9, 10, models)])
    sizes = []

    def divide(part: np.ndarray) -> Divided | None:
        sizes.append(len(part))
        return in_the_middle(part)

    assert prediction_strength(distances(places), np.repeat([0, 1], models), divide) == 1
    assert set(sizes) == {2 * MOST_OF_A_GROUP}
