"""What the prediction service counts of its answers for the agent's watch."""

from typing import cast

import numpy as np
import pytest

from coterie_agent.home import Home
from coterie_agent.predicting import HeldModel, load_held_model
from coterie_agent.serving.confidence import ConfidenceCounter
from coterie_agent.serving.shadow_candidate import Answers
from coterie_agent.store.opened import Store
from coterie_agent.store.predicted import KEPT
from coterie_agent.store.samples import Row
from coterie_learning.prediction_counts import FEWEST, PredictionCounts
from coterie_wire.predictions import Prediction
from tests.coterie_agent.bundles import OF_SEQUENCES, Bundle, make_bundle, samples
from tests.coterie_agent.serving.world import hold, join


@pytest.fixture
def held(home: Home, store: Store, bundle: Bundle) -> HeldModel:
    home.create()
    join(store, bundle)
    hold(home, store, bundle)
    return load_held_model(store, home, threads=1)


def answers(count: int, *, probability: float = 0.75, far: int = 0) -> Answers:
    """Of so many samples, of which `far` are like none of the device's."""
    x, _ = samples(count)
    x = x.reshape(count, -1)
    x[:far] += 1000
    return Answers([Row(one.tobytes(), 0) for one in x], [Prediction("a", 0, probability)] * count, 0.001)


def own_samples(store: Store, count: int) -> None:
    x, y = samples(count)
    store.samples.add((Row(one.tobytes(), int(label)) for one, label in zip(x, y, strict=True)), max_samples=1000)


def taken(store: Store) -> tuple[PredictionCounts, ...]:
    found = store.predicted.load()
    if found is None:
        return ()
    store.predicted.delete(found)
    return found.groups


def test_doubt_and_unlike_samples_are_counted_once_there_are_enough(held: HeldModel, store: Store) -> None:
    own_samples(store, 100)
    doubt = ConfidenceCounter(store)
    doubt.count(held, answers(5))
    doubt.write()
    doubt.count(held, answers(FEWEST - 1))
    doubt.write()
    assert taken(store) == (), "too few, and what came before the first look was passed over"
    doubt.count(held, answers(9, far=7))
    doubt.write()
    (seen,) = taken(store)
    assert (seen.samples, seen.doubt) == (FEWEST + 8, 0.25 * (FEWEST + 8))
    assert 7 <= seen.unlike <= 9
    assert seen.model == "v1 float32"
    doubt.count(held, answers(FEWEST))
    doubt.write()
    assert [one.samples for one in taken(store)] == [FEWEST], "nothing is counted twice"


def test_a_device_with_few_samples_tells_nothing_of_inputs(held: HeldModel, store: Store) -> None:
    own_samples(store, FEWEST - 1)
    doubt = ConfidenceCounter(store)
    for _ in range(2):
        doubt.count(held, answers(FEWEST, far=FEWEST))
        doubt.write()
    (seen,) = taken(store)
    assert (seen.samples, seen.unlike) == (FEWEST, 0)


def test_what_was_counted_of_another_model_is_forgotten(held: HeldModel, home: Home, store: Store) -> None:
    doubt = ConfidenceCounter(store)
    doubt.count(held, answers(1))
    doubt.write()
    doubt.count(held, answers(FEWEST - 1))
    hold(home, store, make_bundle(version="v2", number=2, seed=5))
    other = load_held_model(store, home, threads=1)
    for _ in range(2):
        doubt.count(other, answers(FEWEST))
        doubt.write()
    (seen,) = taken(store)
    assert (seen.model, seen.samples) == ("v2 float32", FEWEST)


def test_models_without_classes_or_of_different_lengths_are_not_watched(held: HeldModel, store: Store) -> None:
    class Manifest:
        version, model = "v1", OF_SEQUENCES

    class Sequences:
        manifest, is_personal, form = Manifest(), False, "float32"

    doubt = ConfidenceCounter(store)
    for _ in range(3):
        doubt.count(cast(HeldModel, Sequences()), answers(FEWEST))
        doubt.write()
    assert taken(store) == ()


def test_the_store_keeps_the_newest_groups_and_those_that_came_since(store: Store) -> None:
    for number in range(KEPT + 3):
        store.predicted.add(PredictionCounts("v1", number + 1, 0.0, 0))
    found = store.predicted.load()
    assert found is not None
    assert [one.samples for one in found.groups] == list(range(4, KEPT + 4))
    store.predicted.add(PredictionCounts("v1", 9999, 0.0, 0))
    store.predicted.delete(found)
    assert [one.samples for one in taken(store)] == [9999]


def test_features_are_read_as_they_are_stored(held: HeldModel, store: Store) -> None:
    """A device's own samples are not unlike themselves."""
    own_samples(store, 200)
    doubt = ConfidenceCounter(store)
    doubt.count(held, answers(1))
    doubt.write()
    doubt.count(held, answers(200))
    doubt.write()
    (seen,) = taken(store)
    assert seen.unlike <= 0.02 * 200
    assert np.isclose(seen.doubt, 50)
