"""How quick the device is: summed up by kind of work and condition, told as shapes."""

from coterie_agent.store.latencies import Measured
from coterie_agent.store.opened import Store
from coterie_wire.latency import TOLD, Histogram


def measured(bucket: int, count: int = 10, **changes: object) -> Measured:
    before = Measured("digits", "v1", "predict", "float32", "yes", 30.0, Histogram((*(0,) * bucket, count)))
    return before._replace(**changes)


def test_what_is_measured_again_is_added_under_the_newest_version(store: Store) -> None:
    store.latencies.add(measured(3, 10))
    store.latencies.add(measured(5, 30, version="v2", temperature_c=45.5))
    (told,) = store.latencies.told()
    assert (told.version, told.hottest_c) == ("v2", 45.5)
    assert told.durations == Histogram((0, 0, 0, 250, 0, 750))


def test_conditions_and_forms_are_kept_apart(store: Store) -> None:
    store.latencies.add(measured(3))
    store.latencies.add(measured(4, charging="no"))
    store.latencies.add(measured(5, form="int8"))
    store.latencies.add(measured(6, work="step"))
    assert len(store.latencies.told()) == 4
    assert store.latencies.has("digits", "predict", "int8")
    assert not store.latencies.has("digits", "step", "int8")


def test_it_does_not_tell_how_often_the_device_works(store: Store) -> None:
    for count in (7, 70_000):
        store.latencies.add(measured(3, count))
        (told,) = store.latencies.told()
        assert told.durations.total == TOLD
    store.latencies.add(measured(9, 1))
    (told,) = store.latencies.told()
    assert told.durations.counts[9] == 1, "what is rare is not rounded away"


def test_the_newest_weigh_most(store: Store) -> None:
    store.latencies.add(measured(3, 200_000))
    store.latencies.add(measured(5, 100_000))
    (told,) = store.latencies.told()
    assert told.durations == Histogram((0, 0, 0, 500, 0, 500))


def test_another_pair_begins_anew_and_nothing_measured_changes_nothing(store: Store) -> None:
    store.latencies.add(measured(3))
    store.latencies.add(measured(3, 0))
    store.latencies.add(measured(4, pair="words", durations=Histogram()))
    assert store.latencies.has("digits", "predict", "float32")
    store.latencies.add(measured(4, pair="words"))
    assert not store.latencies.has("digits", "predict", "float32")
