"""Drift that shows in predictions before labels come."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from coterie_learning.detectors import DRIFT
from coterie_learning.drift import Detector
from coterie_learning.drift.window import Window
from coterie_learning.help.cartel import Cartel
from coterie_learning.prediction_counts import FEWEST, PredictionCounts
from coterie_learning.unlabelled import Unlabelled, usual_of
from coterie_learning.watch import DriftWatch, begin_watch

CARTEL = Cartel(recent_batches=3)
every_detector = pytest.mark.parametrize(
    "detector", [kind() for kind in DRIFT.kinds.values()], ids=lambda one: one.name
)


def groups(
    doubts: Sequence[float], *, unlike: Sequence[float] = (), model: str = "v1", size: int = 64
) -> list[PredictionCounts]:
    """Groups of predictions with these mean doubts, and these shares of unlike samples."""
    shares = unlike or [0.0] * len(doubts)
    return [
        PredictionCounts(model, size, doubt * size, round(share * size))
        for doubt, share in zip(doubts, shares, strict=True)
    ]


def watched(
    seen: Sequence[PredictionCounts], cartel: Cartel = CARTEL, *, since: DriftWatch | None = None
) -> DriftWatch:
    watch = since or begin_watch(cartel, 3)
    for one in seen:
        watch = watch.predicted(cartel, one)
    return watch


def drifts_within(seen: Sequence[PredictionCounts], cartel: Cartel, *, since: DriftWatch) -> bool:
    """Whether an alarm sounds after one of the groups; some detectors sound it once."""
    return any(watched(seen[: count + 1], cartel, since=since).drifting for count in range(len(seen)))


@every_detector
def test_a_model_that_grows_unsure_drifts_and_one_that_always_was_does_not(detector: Detector) -> None:
    """A third of doubt may be what the model is usually like."""
    cartel = msgspec.structs.replace(CARTEL, detector=detector)
    rng = np.random.default_rng(0)
    steady = watched(groups((0.33 + rng.normal(0, 0.02, 60)).tolist()), cartel)
    assert not steady.drifting
    assert drifts_within(groups([0.75] * 30), cartel, since=steady)


@every_detector
def test_inputs_that_grow_unlike_drift_though_the_model_is_sure(detector: Detector) -> None:
    cartel = msgspec.structs.replace(CARTEL, detector=detector)
    steady = watched(groups([0.05] * 60, unlike=[0.0, 0.03] * 30), cartel)
    assert not steady.drifting
    assert drifts_within(groups([0.05] * 30, unlike=[0.6] * 30), cartel, since=steady)


def test_drift_lasts_for_as_many_groups_as_batches_are_recent() -> None:
    watch = watched(groups([0.1] * 3 + [0.9] * 2))
    drifting = []
    for _ in range(5):
        watch = watched(groups([0.1]), since=watch)
        drifting.append(watch.drifting)
    assert drifting == [True, True, True, False, False], "the mean over two groups is high once more, and then it ages"


def test_figures_of_another_model_begin_anew() -> None:
    """Else a version that is less sure by its nature would look like drift."""
    before = watched(groups([0.05] * 10))
    assert watched(groups([0.5] * 10), since=before).drifting
    assert not watched(groups([0.5] * 10, model="v2"), since=before).drifting
    assert not watched(
        groups([0.5] * 10), msgspec.structs.replace(CARTEL, detector=Window(limit=0.3)), since=before
    ).drifting


def test_of_labels_it_says_nothing() -> None:
    """A device whose predictions alone drift asks for help with no class before labels show one."""
    watch = watched(groups([0.05] * 5 + [0.9] * 5))
    assert watch.drifting
    assert watch.asks_for(CARTEL) == ()
    known, new = np.repeat([0, 1], 10), np.repeat([0, 1, 2], [7, 7, 6])
    watch = watch.observe(CARTEL, known, known).observe(CARTEL, new, np.where(new == 2, 0, new))
    assert watch.batches_drifted is None, "two batches are too few for the errors themselves"
    assert watch.asks_for(CARTEL) == (2,)


def test_it_is_stored_and_restored() -> None:
    watch = watched(groups([0.05] * 3 + [0.9] * 3))
    assert msgspec.json.decode(msgspec.json.encode(watch), type=DriftWatch) == watch
    assert isinstance(watch.unlabelled, Unlabelled)


def test_a_sample_is_unlike_that_is_farther_than_nearly_all_that_the_device_has() -> None:
    rng = np.random.default_rng(1)
    own = rng.normal(5, [1, 10, 0.1], (256, 3))
    usual = usual_of(np.hstack([own, np.full((256, 1), 7.0)]))
    assert usual is not None
    others = np.hstack([rng.normal(5, [1, 10, 0.1], (1000, 3)), np.full((1000, 1), 9.0)])
    assert usual.unlike(others) < 50, "a feature that never changed tells nothing"
    others[:, 2] += 1
    assert usual.unlike(others) == 1000
    assert usual_of(own[: FEWEST - 1]) is None
