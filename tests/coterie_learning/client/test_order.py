"""Held-out split and shuffling."""

from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.client.order import batch_ids, split, steps_per_epoch


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
