"""Samples of different length in one batch, and an agent that trains on them."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.ingest.row import RowCheck
from coterie_agent.policy import judge_data
from coterie_agent.predicting import load_held_model
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.samples import StoredRow, Widths
from coterie_agent.training.batches import make_batch
from coterie_agent.training.halt import Halt
from coterie_wire.predictions import Prediction
from tests.coterie_agent.bundles import FEATURES, LONGEST, OF_SEQUENCES, Bundle, make_bundle, samples
from tests.coterie_agent.conftest import Agent
from tests.coterie_agent.fake_platform import FakePlatform
from tests.coterie_agent.training.test_assignment import training
from tests.coterie_wire.test_length import WRITER


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return make_bundle(spec=OF_SEQUENCES)


def stock(store: Store, count: int = 60) -> None:
    """Samples of one to five rows, whose sum tells the class."""
    rng, check = np.random.default_rng(0), RowCheck.of_model(OF_SEQUENCES)
    features, labels = samples(count)
    rows = []
    for whole, label in zip(features, labels, strict=True):
        shares = rng.dirichlet(np.ones(rng.integers(1, LONGEST + 1)))
        rows.append(check.row("here", np.outer(shares, whole).reshape(-1).tolist(), int(label)))
    store.samples.add(rows, max_samples=1000, one_width=check.one_width)


@given(lengths=st.lists(st.integers(2, 9), min_size=1, max_size=4), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_a_batch_is_as_long_as_its_longest_sample(lengths: list[int], seed: int) -> None:
    rng, check = np.random.default_rng(seed), RowCheck.of_model(msgspec.structs.replace(WRITER, padding=5))
    spec = check.model
    assert spec is not None
    rows, given = [], []
    for number, length in enumerate(lengths):
        x = {
            "words": rng.integers(0, 7, length).tolist(),
            "sound": rng.normal(size=2 * length).astype(np.float32).tolist(),
            "mood": rng.normal(size=3).astype(np.float32).tolist(),
        }
        y = rng.integers(0, 7, length).tolist()
        row = check.row("here", x, y)
        rows.append(StoredRow(number, row.x, row.label, row.target))
        given.append((x, y))
    batch, longest = make_batch(rows, spec, size=4), max(lengths)
    assert {name: array.shape for name, array in batch.inputs.items()} == {
        "words": (4, longest),
        "sound": (4, 2, longest),
        "mood": (4, 3),
    }
    for place, ((x, y), length) in enumerate(zip(given, lengths, strict=True)):
        rest = longest - length
        assert batch.inputs["words"][place].tolist() == [*x["words"], *[5] * rest]
        assert batch.target[place].tolist() == [*y, *[5] * rest]
        np.testing.assert_array_equal(batch.inputs["sound"][place, :, :length], np.reshape(x["sound"], (2, length)))
        assert not batch.inputs["sound"][place, :, length:].any()
        assert batch.inputs["mood"][place].tolist() == x["mood"]
    assert batch.sample_weight.tolist() == [1.0] * len(lengths) + [0.0] * (4 - len(lengths))


def test_an_empty_batch_is_as_short_as_can_be() -> None:
    assert make_batch([], OF_SEQUENCES, size=2).inputs["pixels"].shape == (2, 1, FEATURES)


@pytest.mark.parametrize("numbers", [0, 3, 6 * FEATURES])
def test_a_stored_sample_of_another_size_does_not_fit(numbers: int) -> None:
    row = StoredRow(1, bytes(4 * numbers), 0)
    with pytest.raises(AgentError, match="4 to 20, in samples 1 to 5 long") as caught:
        make_batch([row], OF_SEQUENCES, size=2)
    assert caught.value.code == "data.does_not_fit"
    (reason,) = judge_data(widths=Widths(numbers, 0), usable=1, model=OF_SEQUENCES)
    assert reason.code == "data.does_not_fit"


def test_samples_of_every_length_fit() -> None:
    for length in range(1, LONGEST + 1):
        assert judge_data(widths=Widths(length * FEATURES, 0), usable=1, model=OF_SEQUENCES) == ()


@pytest.mark.parametrize(
    ("x", "y", "code", "words"),
    [
        ([0.0] * 6 * FEATURES, 0, "ingest.wrong_length", "1 to 5 long"),
        ([0.0] * 3, 0, "ingest.wrong_length", "1 to 5 long"),
        ([0.0] * (2 * FEATURES + 1), 0, "ingest.wrong_length", "9 features"),
        ({"pixels": [0.0] * 6 * FEATURES}, 0, "ingest.wrong_length", "1 to 5 long"),
    ],
    ids=["too long", "too short", "half a row", "by name"],
)
def test_a_sample_that_is_too_long_or_too_short_is_refused(
    x: list[float] | dict[str, list[float]], y: int, code: str, words: str
) -> None:
    with pytest.raises(AgentError, match=words) as caught:
        RowCheck.of_model(OF_SEQUENCES).row("line 7", x, y)
    assert caught.value.code == code
    assert "line 7" in str(caught.value)


@pytest.mark.parametrize(
    ("x", "y", "code"),
    [
        ({"words": [1] * 3, "sound": [0.0] * 8, "mood": [0.0] * 4}, [1] * 4, "ingest.wrong_width"),
        ({"words": [1] * 4, "sound": [0.0] * 8, "mood": [0.0] * 3}, [1] * 3, "ingest.bad_label"),
    ],
    ids=["inputs of two lengths", "a target of another length"],
)
def test_inputs_and_target_of_a_sample_are_of_one_length(x: dict[str, list[float]], y: list[float], code: str) -> None:
    with pytest.raises(AgentError) as caught:
        RowCheck.of_model(WRITER).row("here", x, y)
    assert caught.value.code == code


@pytest.mark.parametrize("every", [2, 7])
def test_an_interrupted_training_gives_the_same_bytes(tmp_path: Path, bundle: Bundle, every: int) -> None:
    def payload(name: str, pauses: bool) -> bytes:
        with open_store(Home(tmp_path / name)) as store:
            stock(store)
            asked = iter(range(10**6))

            def halt(_: float) -> Halt | None:
                return Halt.PAUSE if pauses and next(asked) % (every + 1) == every else None

            while not training(store, tmp_path / name, bundle, halt).run():
                pass
            offer = store.work.offer()
            assert offer is not None
            return store.work.read_payload(0, offer.size_bytes)

    assert payload("often", True) == payload("straight", False)


def test_an_agent_trains_and_predicts_on_samples_of_different_length(
    new_agent: Callable[..., Agent], joined: Store, home: Home, platform: FakePlatform
) -> None:
    stock(joined)
    platform.champion = True
    platform.assign("a1")
    new_agent().start()
    platform.wait_for(lambda: "a1" in platform.accepted)
    offer = platform.offers["a1"]
    assert offer.loss_after < offer.loss_before
    held = load_held_model(joined, home, threads=1)
    check = RowCheck.of_model(OF_SEQUENCES, labelled=False)
    whole = [2.0, 0.0, 0.0, 0.0]
    rows = [check.row("here", x, None) for x in (whole, [*whole, *[0.0] * 8], [1.0, 0, 0, 0, 1.0, 0, 0, 0])]
    first, filled, parted = held.predict(rows)
    assert isinstance(first, Prediction)
    assert first == filled == parted
