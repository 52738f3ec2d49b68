"""How quick the device is: summed up by kind of work and condition, told as shapes."""

from coterie_agent.store.latencies import DAY_S, MeasuredDurations
from coterie_agent.store.opened import Store
from coterie_wire.latency import MOST_REPORTED, Histogram

NOW = 1_800_000_000.0


def measured(bucket: int, count: int = 10, **changes: object) -> MeasuredDurations:
    before = MeasuredDurations("digits", "v1", "predict", "float32", "yes", 30.0, Histogram((*(0,) * bucket, count)))
    return before._replace(**changes)


def test_what_is_measured_again_is_added_under_the_newest_version(store: Store) -> None:
    store.latencies.add(measured(3, 10), now=NOW)
    store.latencies.add(measured(5, 30, version="v2", temperature_c=45.5), now=NOW)
    (told,) = store.latencies.reportable()
    assert (told.version, told.hottest_c) == ("v2", 45.5)
    assert told.durations == Histogram((0, 0, 0, 250, 0, 750))


def test_conditions_and_forms_are_kept_apart(store: Store) -> None:
    store.latencies.add(measured(3), now=NOW)
    store.latencies.add(measured(4, charging="no"), now=NOW)
    store.latencies.add(measured(5, form="int8"), now=NOW)
    store.latencies.add(measured(6, work="step"), now=NOW)
    assert len(store.latencies.reportable()) == 4
    assert store.latencies.has("digits", "predict", "int8", since=NOW)
    assert not store.latencies.has("digits", "step", "int8", since=NOW)


def test_it_does_not_tell_how_often_the_device_works(store: Store) -> None:
    for count in (7, 70_000):
        store.latencies.add(measured(3, count), now=NOW)
        (told,) = store.latencies.reportable()
        assert told.durations.total == MOST_REPORTED
    store.latencies.add(measured(9, 1), now=NOW)
    (told,) = store.latencies.reportable()
    assert told.durations.counts[9] == 1, "what is rare is not rounded away"


def test_the_newest_weigh_most(store: Store) -> None:
    store.latencies.add(measured(3, 200_000), now=NOW)
    store.latencies.add(measured(5, 100_000), now=NOW)
    (told,) = store.latencies.reportable()
    assert told.durations == Histogram((0, 0, 0, 500, 0, 500))


def test_another_pair_begins_anew_and_nothing_measured_changes_nothing(store: Store) -> None:
    store.latencies.add(measured(3), now=NOW)
    store.latencies.add(measured(3, 0), now=NOW)
    store.latencies.add(measured(4, pair="words", durations=Histogram()), now=NOW)
    assert store.latencies.has("digits", "predict", "float32", since=NOW)
    store.latencies.add(measured(4, pair="words"), now=NOW)
    assert not store.latencies.has("digits", "predict", "float32", since=NOW)


def test_each_day_halves_what_was_counted_before(store: Store) -> None:
    store.latencies.add(measured(3, 400), now=NOW)
    store.latencies.add(measured(5, 100), now=NOW + 2.5 * DAY_S)
    store.latencies.add(measured(5, 100), now=NOW + 2.6 * DAY_S)
    (told,) = store.latencies.reportable()
    assert told.durations == Histogram((0, 0, 0, 333, 0, 667)), "a quarter of 400 beside 200"
    store.latencies.add(measured(5, 100), now=NOW + 3.1 * DAY_S)
    (told,) = store.latencies.reportable()
    assert told.durations == Histogram((0, 0, 0, 200, 0, 800)), "half a day later a whole one has passed since"


def test_what_is_long_past_leaves_neither_times_nor_heat(store: Store) -> None:
    store.latencies.add(measured(3, 400, temperature_c=70.0), now=NOW)
    assert store.latencies.has("digits", "predict", "float32", since=NOW)
    assert not store.latencies.has("digits", "predict", "float32", since=NOW + 1)
    store.latencies.add(measured(5, 100, temperature_c=40.0), now=NOW + 20 * DAY_S)
    (told,) = store.latencies.reportable()
    assert told.durations == Histogram((0, 0, 0, 0, 0, 1000))
    assert told.hottest_c == 40.0
