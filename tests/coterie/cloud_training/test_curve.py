"""What a job's row keeps of its epochs."""

from coterie.child.job import Progress
from coterie.cloud.simulation_job import SAVED
from coterie.cloud_training.curve import MAX_POINTS, Curve, read_curve
from tests.coterie.world import later


def epoch(number: int) -> Progress:
    return Progress("training", number, 1000, {"loss": 1 / number, "workers": 2.0})


def test_a_curve_is_read_as_it_was_stored() -> None:
    curve = Curve(())
    curve.add(epoch(1), later(0))
    (point,) = read_curve(curve.stored())
    assert (point.epoch, point.at, point.values) == (1, later(0), {"loss": 1.0, "workers": 2.0})


def test_a_checkpoint_within_an_epoch_is_no_point() -> None:
    curve = Curve(())
    curve.add(epoch(1), later(0))
    curve.add(Progress("training", 1, 1000, {SAVED: 1.0}), later(1))
    (point,) = read_curve(curve.stored())
    assert point.at == later(0)


def test_an_epoch_that_is_done_once_more_replaces_what_came_before() -> None:
    curve = Curve(())
    for number in (1, 2, 3, 2):
        curve.add(epoch(number), later(number))
    assert [point.epoch for point in read_curve(curve.stored())] == [1, 2]


def test_a_long_curve_keeps_its_shape_and_its_newest_point() -> None:
    curve = Curve(())
    for number in range(1, 3 * MAX_POINTS):
        curve.add(epoch(number), later(number))
    epochs = [point.epoch for point in read_curve(curve.stored())]
    assert len(epochs) <= MAX_POINTS
    assert epochs[-1] == 3 * MAX_POINTS - 1
    assert epochs[0] < MAX_POINTS
