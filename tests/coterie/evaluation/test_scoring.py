import math

import numpy as np
import pytest

from coterie.evaluation.scoring import score


def test_accuracy_loss_and_classes() -> None:
    logits = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [3.0, 0.0, 0.0]], np.float32)
    found = score(logits, np.array([0, 1, 1]))
    assert found.samples == 3
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.class_accuracy == (1.0, 0.5, None)
    probabilities = [math.exp(2) / (math.exp(2) + 2), math.e / (math.e + 2), 1 / (math.exp(3) + 2)]
    assert found.loss == pytest.approx(-sum(map(math.log, probabilities)) / 3)


def test_great_logits_do_not_overflow() -> None:
    assert score(np.array([[1e4, -1e4]], np.float32), np.array([1])).loss == pytest.approx(2e4)
