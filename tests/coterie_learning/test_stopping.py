import math

from coterie_learning.local import Stopping
from coterie_learning.stopping import Watched, is_over, judge_epoch

PATIENT = Stopping(patience=2, validation_share=0.2)


def test_it_stops_after_as_many_epochs_without_a_better_one_as_it_has_patience() -> None:
    watched, best, stopped = Watched(), [], None
    for epoch, loss in enumerate([3.0, 2.0, 2.5, 1.0, 1.0, 1.5, 0.1]):
        judged = judge_epoch(watched, loss, PATIENT)
        watched = judged.watched
        if judged.is_best:
            best.append(epoch)
        assert judged.stop == is_over(watched, PATIENT)
        if judged.stop:
            stopped = epoch
            break
    assert best == [0, 1, 3]
    assert stopped == 5


def test_a_loss_that_is_not_finite_is_no_best() -> None:
    judged = judge_epoch(Watched(1, 1.0), math.nan, PATIENT)
    assert not judged.is_best
    assert judged.watched == Watched(2, 1.0, 1)
