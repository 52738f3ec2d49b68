"""A device's watch over its model: when it tells, when it asks, and for what."""

import msgspec
import numpy as np

from coterie_learning.drift.page_hinkley import PageHinkley
from coterie_learning.drift.window import Window
from coterie_learning.help.cartel import Cartel
from coterie_learning.watch import DriftWatch, begin_watch

CARTEL = Cartel(cool_down_batches=3, report_batches=4)
KEY, OTHER_KEY = bytes(32), bytes([1] * 32)
NOISY = msgspec.structs.replace(CARTEL, noise_multiplier=1.0)
OLD = np.repeat([0, 1], 10)
NEW = np.repeat([0, 1, 2], [7, 7, 6])


def well(watch: DriftWatch, labels: np.ndarray, cartel: Cartel = CARTEL) -> DriftWatch:
    return watch.observe(cartel, labels, labels)


def badly(watch: DriftWatch, labels: np.ndarray, cartel: Cartel = CARTEL) -> DriftWatch:
    """Class 2 is taken for class 0."""
    return watch.observe(cartel, labels, np.where(labels == 2, 0, labels))


def test_a_model_that_does_well_asks_for_nothing() -> None:
    watch = begin_watch(CARTEL, 3)
    assert watch.asks_for(CARTEL) == ()
    for _ in range(4):
        watch = well(watch, NEW)
        assert watch.asks_for(CARTEL) == ()
        assert not watch.drifting


def test_a_new_class_is_asked_for_once_and_again_after_the_cool_down() -> None:
    watch = well(begin_watch(CARTEL, 3), OLD)
    watch = badly(watch, NEW)
    assert watch.asks_for(CARTEL) == (), "the mean over two batches is still low"
    asked = []
    for _ in range(5):
        watch = badly(watch, NEW)
        asked.append(watch.asks_for(CARTEL))
        if asked[-1]:
            watch = watch.after_request()
    assert asked == [(2,), (), (), (2,), ()]


def test_a_limit_of_one_never_asks() -> None:
    isolated = msgspec.structs.replace(CARTEL, detector=Window(limit=1.0))
    watch = begin_watch(isolated, 3)
    for _ in range(5):
        watch = watch.observe(isolated, NEW, (NEW + 1) % 3)
        assert watch.asks_for(isolated) == ()


def test_drift_without_a_troubled_class_asks_for_nothing() -> None:
    labels = np.repeat([0, 1], 10)
    predicted = labels.copy()
    predicted[[0, 1, 2, 10, 11, 12]] = 2
    watch = begin_watch(CARTEL, 3).observe(CARTEL, labels, predicted).observe(CARTEL, labels, predicted)
    assert watch.drifting
    assert watch.asks_for(CARTEL) == ()


def test_a_class_is_troubled_by_what_the_model_usually_has_right() -> None:
    """Of class 2 a third is found: too little for a model that usually has all right, not for one that has half."""
    third = np.where(np.arange(20) < 16, NEW, 0)
    for usually, troubled in ((1.0, (2,)), (0.5, ())):
        watch = begin_watch(CARTEL, 3)
        for _ in range(4):
            watch = watch.observe(CARTEL, OLD, np.where(np.arange(20) < 20 * usually, OLD, 2))
        for _ in range(2):
            watch = watch.observe(CARTEL, NEW, third)
        assert watch.troubled(CARTEL, samples=3) == troubled


def test_an_alarm_that_sounds_once_lasts_for_the_recent_batches() -> None:
    cartel = msgspec.structs.replace(CARTEL, detector=PageHinkley(threshold=3.0))
    watch = begin_watch(cartel, 3)
    for _ in range(5):
        watch = well(watch, OLD, cartel)
    watch = badly(watch, NEW, cartel)
    assert watch.drifting
    watch = well(watch, NEW, cartel)
    assert watch.drifting
    assert not well(watch, NEW, cartel).drifting


def test_metadata_are_told_at_first_when_they_move_and_every_few_batches() -> None:
    watch = begin_watch(CARTEL, 3)
    assert not watch.report_is_due(CARTEL)
    told = []
    for labels in (OLD, OLD, OLD, OLD, OLD, NEW, NEW, NEW):
        watch = well(watch, labels)
        told.append(watch.report_is_due(CARTEL))
        if told[-1]:
            watch = watch.report(CARTEL, KEY)[1]
    # At first; after four batches; and with 18 of 160 samples new, 0.058 bits, but not with 12 of 140, 0.044 bits.
    assert told == [True, False, False, False, True, False, False, True]


def test_without_noise_a_report_tells_counts_as_they_are_whatever_the_key() -> None:
    watch = badly(badly(begin_watch(CARTEL, 3), NEW), NEW)
    for key in (KEY, OTHER_KEY):
        told, _ = watch.report(CARTEL, key)
        assert (told.samples.tolist(), told.wrong.tolist()) == ([14, 14, 12], [0, 0, 12])
        classes, counts = watch.request(CARTEL, key)
        assert (classes, counts.samples.tolist()) == ((2,), [14, 14, 12])


def test_with_noise_nothing_is_told_anew_before_the_next_report_is_due() -> None:
    watch, told, times = begin_watch(NOISY, 3), [], []
    for number in range(9):
        watch = badly(watch, NEW if number else OLD, NOISY)
        if watch.report_is_due(NOISY):
            times.append(number)
        counts, watch = watch.report(NOISY, bytes([number] * 32))
        told.append((counts.samples.tolist(), counts.wrong.tolist()))
    assert times == [0, 4, 8], "not when class shares move"
    assert told[0:4] == [told[0]] * 4 and told[4:8] == [told[4]] * 4
    assert told[0] != told[4]


def test_with_noise_the_classes_of_a_request_follow_from_what_it_tells() -> None:
    watch = begin_watch(NOISY, 3)
    for labels in (OLD, OLD, NEW, NEW):
        watch = badly(watch, labels, NOISY)
    assert watch.asks_for(NOISY) == (2,)
    for noise, asks in ((0.1, True), (30.0, False)):
        rules = msgspec.structs.replace(NOISY, noise_multiplier=noise)
        told, after = watch.report(rules, KEY)
        classes, counts = after.request(rules, OTHER_KEY)
        usual = 1 - told.error
        assert classes == counts.troubled(below=rules.troubled_recall * usual, samples=rules.troubled_samples)
        assert classes == ((2,) if asks else ()), "noise hides that it needs any"


def test_a_stored_watch_goes_on_as_it_was() -> None:
    watch = badly(badly(well(begin_watch(CARTEL, 3), OLD).report(CARTEL, KEY)[1], NEW), NEW).after_request()
    assert msgspec.json.decode(msgspec.json.encode(watch), type=DriftWatch) == watch


def test_other_settings_begin_the_detector_anew() -> None:
    watch = badly(badly(begin_watch(CARTEL, 3), NEW), NEW)
    other = msgspec.structs.replace(CARTEL, detector=Window(batches=3))
    assert watch.drifting
    assert badly(watch, NEW, other).drift == Window(batches=3).begin().observe(6, 20).state
