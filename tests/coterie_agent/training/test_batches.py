"""Held-out split, shuffling, padding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_agent.errors import AgentError
from coterie_agent.store.samples import StoredRow
from coterie_agent.training.batches import batch_ids, make_batch, split, steps_per_epoch
from tests.coterie_agent.bundles import SPEC


@given(first=st.integers(1, 10**9), count=st.integers(0, 300))
@settings(max_examples=50, deadline=None)
def test_a_split_loses_no_sample(first: int, count: int) -> None:
    ids = list(range(first, first + count))
    train, held_out = split(ids)
    assert sorted({*train, *held_out}) == ids
    if count >= 10 and len(train) < count:
        assert not set(train) & set(held_out)


def test_one_in_five_is_held_out_and_stays_held_out_as_samples_come_and_go() -> None:
    early, late = split(list(range(1, 5001))), split(list(range(2001, 8001)))
    assert 0.18 < len(early.held_out) / 5000 < 0.22
    assert {i for i in early.held_out if i > 2000} == {i for i in late.held_out if i <= 5000}


def test_a_handful_of_samples_serves_both_ends() -> None:
    assert split([4, 5, 6]) == ([4, 5, 6], [4, 5, 6])


@given(count=st.integers(1, 50), batch_size=st.integers(1, 20), seed=st.integers(0, 2**53))
@settings(max_examples=50, deadline=None)
def test_every_epoch_sees_every_sample_once(count: int, batch_size: int, seed: int) -> None:
    train = list(range(100, 100 + count))
    steps = steps_per_epoch(count, batch_size)
    for epoch in range(2):
        seen = [
            id_
            for step in range(epoch * steps, (epoch + 1) * steps)
            for id_ in batch_ids(train, seed=seed, step=step, batch_size=batch_size)
        ]
        assert sorted(seen) == train


def test_seed_and_epoch_change_the_order() -> None:
    train = list(range(100))
    orders = [batch_ids(train, seed=seed, step=step, batch_size=100) for seed, step in ((1, 0), (1, 1), (2, 0))]
    assert len({tuple(order) for order in orders}) == 3


def test_a_short_batch_is_padded_and_masked() -> None:
    rows = [StoredRow(1, np.array([1, 2, 3, 4], dtype=np.float32).tobytes(), 2)]
    batch = make_batch(rows, SPEC, size=2)
    assert batch.inputs["pixels"].tolist() == [[[1, 2], [3, 4]], [[0, 0], [0, 0]]]
    assert batch.target.tolist() == [2, 0]
    assert batch.sample_weight.tolist() == [1, 0]


def test_samples_of_another_width_are_named() -> None:
    with pytest.raises(AgentError, match="3 features, the model takes 4") as caught:
        make_batch([StoredRow(1, bytes(12), 0)], SPEC, size=2)
    assert caught.value.code == "data.does_not_fit"


def test_a_label_that_the_model_does_not_have_is_named() -> None:
    with pytest.raises(AgentError, match="a label is 3, the model's classes end at 2") as caught:
        make_batch([StoredRow(1, bytes(16), 3)], SPEC, size=2)
    assert caught.value.code == "data.does_not_fit"
