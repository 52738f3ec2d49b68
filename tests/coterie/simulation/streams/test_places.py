import numpy as np

from coterie.simulation.streams.places import Places

STREAM = Places(places=10, hours=4, groups=2, personal=0.0, events_per_day=3, cycle_days=30, cycles=2, cloud_devices=3)


def test_a_visit_begins_where_the_last_one_ended() -> None:
    drawn = STREAM.draw(devices=2, seed=0)
    days = [day for day in drawn.batches[0] if len(day.labels)]
    x = np.concatenate([day.inputs["x"] for day in days])
    labels = np.concatenate([day.labels for day in days])
    np.testing.assert_array_equal(x[1:, :10].argmax(axis=1), labels[:-1])
    np.testing.assert_array_equal(x.sum(axis=1), 2.0)
    assert len(drawn.batches[0]) == 60 and drawn.groups == (0, 1)


def test_the_routine_explains_seven_visits_in_ten_and_people_of_a_group_share_it() -> None:
    drawn = STREAM.draw(devices=4, seed=1)
    routines = [_most_frequent_by_hour(batches) for batches in drawn.batches]
    assert routines[0] == routines[2]
    assert routines[1] == routines[3]
    assert routines[0] != routines[1]


def _most_frequent_by_hour(batches) -> list[int]:
    days = [day for day in batches if len(day.labels)]
    hours = np.concatenate([day.inputs["x"] for day in days])[:, 10:].argmax(axis=1)
    labels = np.concatenate([day.labels for day in days])
    return [int(np.bincount(labels[hours == hour], minlength=10).argmax()) for hour in range(4)]


def test_the_cloud_has_a_month_of_other_people() -> None:
    drawn = STREAM.draw(devices=1, seed=2)
    assert 3 * 30 * 3 * 0.7 < len(drawn.cloud.labels) < 3 * 30 * 3 * 1.3
