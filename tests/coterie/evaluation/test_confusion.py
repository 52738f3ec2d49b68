"""Which classes a classifier takes for which."""

import numpy as np

from coterie.evaluation.confusion import MOST_MISTAKES, Mistake, confusion_of


def answers(predicted: list[int], classes: int) -> np.ndarray:
    return np.eye(classes, dtype=np.float32)[predicted]


def test_counts_what_was_taken_for_what_most_frequent_first() -> None:
    labels = np.array([0, 0, 1, 1, 1, 2])
    found = confusion_of(answers([0, 1, 2, 2, 1, 0], 4), labels)
    assert found.samples == (2, 3, 1, 0)
    assert found.mistakes == (Mistake(1, 2, 2), Mistake(0, 1, 1), Mistake(2, 0, 1))
    assert found.others == 0


def test_of_many_classes_keeps_those_with_most_samples_and_counts_the_others() -> None:
    classes = 1000
    labels = np.concatenate([np.arange(classes), np.full(5, 7)])
    predicted = (labels + 1) % classes
    found = confusion_of(answers(predicted.tolist(), classes), labels)
    assert found.mistakes[0] == Mistake(7, 8, 6)
    assert len(found.mistakes) == MOST_MISTAKES
    assert found.others + sum(one.samples for one in found.mistakes) == len(labels)


def test_one_without_mistakes_has_none() -> None:
    found = confusion_of(answers([0, 1], 2), np.array([0, 1]))
    assert (found.mistakes, found.others) == ((), 0)
