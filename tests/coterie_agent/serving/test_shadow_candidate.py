"""A candidate answers after the held model and unseen; where the two agree is counted."""

import threading
from collections.abc import Sequence
from typing import Any, cast

import pytest

from coterie_agent.home import Home
from coterie_agent.predicting import HeldModel
from coterie_agent.serving.shadow_candidate import Answers, ShadowCandidate, agrees
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row
from coterie_agent.store.shadow import Shadow, ShadowFigures
from coterie_wire.latency import Histogram
from coterie_wire.predictions import Output, Prediction
from tests.coterie_agent.bundles import Bundle, make_bundle, parameters, samples
from tests.coterie_agent.serving.world import hold, join

OTHER = make_bundle(version="v2", number=2, seed=5)


def rows(count: int) -> list[Row]:
    x, _ = samples(count)
    return [Row(one.tobytes(), 0) for one in x]


def classes(seed: int, count: int) -> list[int]:
    x, _ = samples(count)
    tensors = parameters(seed)
    return [int(one) for one in (x @ tensors["weight"].T + tensors["bias"]).argmax(axis=1)]


def predictions(found: Sequence[int]) -> list[Prediction | Output]:
    return [Prediction(str(one), one, 1.0) for one in found]


@pytest.fixture
def beside(home: Home, store: Store, bundle: Bundle) -> ShadowCandidate:
    """A candidate that answers beside the bundle's version."""
    home.create()
    join(store, bundle)
    hold(home, store, bundle)
    hold(home, store, OTHER)
    store.shadow.hold(Shadow("r1", OTHER.signed))
    return ShadowCandidate(store, home, threads=1)


def compared(beside: ShadowCandidate, bundle: Bundle, answers: Answers) -> None:
    """Have it compare one batch."""
    thread = threading.Thread(target=beside.run, daemon=True)
    thread.start()
    held = cast(HeldModel, type("Held", (), {"manifest": bundle.manifest}))
    while beside.counted.counted() == 0:
        beside.offer(held, answers)
    beside.close()
    thread.join(10)
    assert not thread.is_alive()


def test_agreement_and_durations_of_both_are_counted_and_added_up(
    beside: ShadowCandidate, bundle: Bundle, store: Store
) -> None:
    asked, found = rows(30), classes(5, 30)
    shown = [*found[:20], *((one + 1) % 3 for one in found[20:])]
    compared(beside, bundle, Answers(asked, predictions(shown), 0.5))
    beside.write()
    told = store.shadow.beside("r1")
    assert (told.answers % 30, told.agreed * 3) == (0, told.answers * 2)
    assert told.champion.quantile_s(0.5) == pytest.approx(0.5, rel=0.1)
    assert told.candidate.total == told.champion.total == told.answers / 30
    beside.write()
    assert store.shadow.beside("r1") == told, "counted once"


def test_nothing_is_compared_without_a_candidate(home: Home, store: Store, bundle: Bundle) -> None:
    beside = ShadowCandidate(store, home, threads=1)
    beside.offer(cast(HeldModel, type("Held", (), {"manifest": bundle.manifest})), Answers([], [], 0.1))
    beside.write()
    assert beside.counted.counted() == 0


def test_what_was_counted_for_another_candidate_is_forgotten(store: Store) -> None:
    store.shadow.hold(Shadow("r1", OTHER.signed))
    store.shadow.add("r0", ShadowFigures(10, 5, Histogram((1,)), Histogram((1,))))
    assert store.shadow.beside("r1").answers == 0
    store.shadow.add("r1", ShadowFigures(10, 5, Histogram((1,)), Histogram((1,))))
    store.shadow.hold(Shadow("r2", OTHER.signed))
    assert (store.shadow.beside("r1").answers, store.shadow.beside("r2").answers) == (0, 0)
    store.shadow.drop()
    store.shadow.add("r2", ShadowFigures(10, 5, Histogram((1,)), Histogram((1,))))
    assert store.shadow.load() is None


@pytest.mark.parametrize(
    ("task", "one", "other", "same"),
    [
        ("labels", [0.9, 0.1], [0.6, 0.4], True),
        ("labels", [0.9, 0.1], [0.9, 0.6], False),
        ("tokens", [3, 4], [3, 4], True),
        ("tokens", [3, 4], [3, 5], False),
        ("values", [1.0, 200.0], [1.02, 195.0], True),
        ("values", [1.0], [1.2], False),
        ("values", [1.0], [1.0, 1.0], False),
    ],
)
def test_answers_agree_by_their_task(task: str, one: list[Any], other: list[Any], same: bool) -> None:
    assert agrees(task, Output(one), Output(other)) is same
    assert not agrees(task, Output(one), Prediction("a", 0, 1.0))
