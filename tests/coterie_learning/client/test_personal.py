"""Which model answers, and when a personal model is trained: by hand."""

import numpy as np
import pytest

from coterie_learning.client.personal import choose, is_due, parts_of, still_answers
from coterie_learning.metrics import SampleFigures


def right(*shares: float, loss: float = 1.0) -> SampleFigures:
    return SampleFigures(np.full(len(shares), loss), np.array(shares))


def losses(*found: float) -> SampleFigures:
    return SampleFigures(np.array(found), None)


@pytest.mark.parametrize(
    ("trained", "answers"),
    [
        (right(1, 1, 0, 0), "trained"),
        (right(1, 0, 0, 0, loss=0.9), "trained"),
        (right(1, 0, 0, 0), "version"),
        (right(0, 0, 0, 0, loss=0.1), "version"),
    ],
    ids=["more are right", "as many, at a lower loss", "nothing better", "fewer"],
)
def test_what_was_trained_answers_unless_it_is_worse(trained: SampleFigures, answers: str) -> None:
    assert choose(right(1, 0, 0, 0), trained, None).answers == answers


def test_where_nothing_is_right_or_wrong_the_loss_decides() -> None:
    assert choose(losses(2, 2), losses(1, 2.5), None).answers == "trained"
    assert choose(losses(2, 2), losses(1, 3.5), None).answers == "version"


def test_a_former_personal_model_stays_only_if_it_is_better_by_more_than_noise() -> None:
    version, trained = right(0, 0, 0, 0), right(1, 1, 0, 0)
    assert choose(version, trained, right(1, 1, 1, 0)).answers == "trained", "one sample is noise"
    kept = choose(version, trained, right(1, 1, 1, 1))
    assert (kept.answers, float(kept.chosen.right.sum())) == ("personal model", 4)  # type: ignore[union-attr]
    assert choose(version, version, right(1, 1, 0, 0)).answers == "personal model"
    assert choose(version, version, right(1, 0, 0, 0)).answers == "version"


def test_beside_a_version_that_has_come_it_stays_unless_that_does_better() -> None:
    version = right(1, 1, 0, 0)
    assert still_answers(right(0, 1, 1, 1), version)
    assert still_answers(version, version)
    assert not still_answers(right(1, 0, 0, 0), version)
    assert not still_answers(right(0, 0, 1, 1, loss=1.1), version), "as many, at a higher loss"


def test_a_model_from_elsewhere_stays_unless_another_is_better_by_more_than_noise() -> None:
    version, trained, own = right(0, 0, 0, 0), right(1, 1, 0, 0), right(1, 0, 0, 0)
    assert choose(version, trained, own, unless_worse=True).answers == "personal model"
    assert choose(version, right(1, 1, 1, 0), own, unless_worse=True).answers == "trained"


def test_nothing_is_trained_while_nothing_can_be_held_out() -> None:
    assert not is_due([], trained_up_to=None, again_share=0.2)
    assert not is_due(range(1, 10), trained_up_to=None, again_share=0.2)
    assert is_due(range(1, 11), trained_up_to=None, again_share=0.2)


def test_a_version_is_trained_once_more_when_a_share_of_the_samples_is_new() -> None:
    ids = range(1, 101)
    assert not is_due(ids, trained_up_to=100, again_share=0.2)
    assert not is_due(ids, trained_up_to=81, again_share=0.2)
    assert is_due(ids, trained_up_to=80, again_share=0.2)
    assert is_due(range(200, 300), trained_up_to=100, again_share=0.2), "the samples that it knew are gone"


def test_what_is_held_out_stays_held_out() -> None:
    before, later = parts_of(range(1, 51)), parts_of(range(1, 101))
    assert set(before.held_out) <= set(later.held_out)
    assert not set(later.train) & set(later.held_out)
