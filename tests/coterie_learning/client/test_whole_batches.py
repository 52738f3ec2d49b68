"""Whole batches between rounds, in agents and simulations alike."""

from coterie_learning.client.whole_batches import waits_for_a_batch, whole_batches


def test_what_is_left_over_waits() -> None:
    assert [list(batch) for batch in whole_batches(range(1, 9), 3)] == [[1, 2, 3], [4, 5, 6]]
    assert list(whole_batches([4, 5], 3)) == []


def test_who_has_less_than_a_batch_is_told_how_many_are_missing() -> None:
    reason = waits_for_a_batch(1, 4)
    assert reason is not None
    assert reason.code == "data.less_than_a_batch"
    assert reason.sentence == "between rounds it trains on whole batches of 4, and it has 1 sample: 3 more to come"
    assert waits_for_a_batch(4, 4) is None
