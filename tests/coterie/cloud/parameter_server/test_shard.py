"""When a server changes a piece, and whom it answers."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from coterie.cloud.parameter_server.held import Pushed
from coterie.cloud.parameter_server.shard import OneByOne, Rule, Shard, Synchronous
from coterie_wire.errors import WireError

P, Q = 0, 1


class Lines:
    """A piece whose numbers are what has been pushed, in the order in which it counted."""

    def __init__(self) -> None:
        self.numbers: Tensor = torch.zeros(0)

    def change(self, pushed: Sequence[Pushed], *, share: float) -> None:
        self.numbers = torch.cat([self.numbers, *(torch.from_numpy(one.numbers) for one in pushed)])


class Counts(Lines):
    """Of a fixed size: how many have been pushed."""

    def __init__(self) -> None:
        self.numbers = torch.zeros(1)

    def change(self, pushed: Sequence[Pushed], *, share: float) -> None:
        self.numbers += len(pushed)


def _said(number: float) -> Pushed:
    return Pushed(np.array([number], np.float32))


def _shard(rule: Rule, *, workers: int, first: int = 0) -> Shard:
    return Shard({P: Counts(), Q: Counts()}, workers=workers, rule=rule, first=first)


def test_a_synchronous_step_changes_a_piece_once_all_have_pushed() -> None:
    shard = _shard(Synchronous(), workers=2, first=5)
    assert shard.push(0, P, 5, _said(1)) == []
    assert shard.numbers(P).tolist() == [0]
    assert shard.push(1, P, 5, None) == [0, 1], "one without samples is waited for, too"
    assert shard.numbers(P).tolist() == [1]
    assert shard.numbers(Q).tolist() == [0], "pieces wait for nothing of each other"


def test_a_synchronous_sum_has_the_order_of_workers() -> None:
    held = Lines()
    shard = Shard({P: held}, workers=3, rule=Synchronous(), first=0)
    for worker in (2, 0, 1):
        shard.push(worker, P, 0, _said(worker))
    assert held.numbers.tolist() == [0, 1, 2]


def test_one_by_one_a_piece_changes_at_once_and_only_the_worker_is_answered() -> None:
    shard = _shard(OneByOne(None), workers=2)
    assert [shard.push(0, P, step, _said(step)) for step in range(3)] == [[0], [0], [0]]
    assert shard.push(1, P, 0, None) == [1]
    assert shard.numbers(P).tolist() == [3]


def test_a_bound_has_the_quick_wait_for_the_slowest() -> None:
    shard = _shard(OneByOne(1), workers=2)
    assert shard.push(0, P, 0, _said(0)) == [0], "one step ahead"
    assert shard.push(0, P, 1, _said(1)) == [], "two"
    assert shard.push(1, P, 0, _said(2)) == [0, 1]


@pytest.mark.parametrize("rule", [Synchronous(), OneByOne(None), OneByOne(0)])
def test_a_worker_that_died_pushes_its_last_step_again_and_it_counts_once(rule: Rule) -> None:
    shard = _shard(rule, workers=2)
    shard.push(0, P, 0, _said(1))
    shard.push(1, P, 0, _said(1))
    shard.push(0, Q, 0, _said(1))
    assert shard.step_of(1) == 0, "it died before it pushed the other piece"
    assert shard.push(1, P, 0, _said(1)) == [1], "it gets what it got"
    assert shard.numbers(P).tolist() == [2]
    assert 1 in shard.push(1, Q, 0, _said(1))
    assert shard.step_of(1) == 1


def test_a_synchronous_piece_is_given_as_it_was_before_the_step_that_is_computed_again() -> None:
    shard = _shard(Synchronous(), workers=1)
    shard.push(0, P, 0, _said(1))
    assert (shard.numbers_at(P, 0).tolist(), shard.numbers_at(Q, 0).tolist()) == ([0], [0])
    assert shard.numbers_at(P, 1).tolist() == [1]


def test_steps_out_of_order_and_pieces_that_are_not_here_are_refused() -> None:
    shard = _shard(OneByOne(None), workers=1)
    for piece, step in ((P, 1), (P, -2), (7, 0)):
        with pytest.raises(WireError):
            shard.push(0, piece, step, None)


@given(st.integers(1, 4), st.randoms(use_true_random=False), st.sampled_from([Synchronous(), OneByOne(0), OneByOne(2)]))
def test_whatever_the_order_nobody_waits_for_ever(workers: int, random: Random, rule: Rule) -> None:
    shard, steps = _shard(rule, workers=workers), 5
    done = {(worker, piece): 0 for worker in range(workers) for piece in (P, Q)}
    able = set(done)
    while able:
        worker, piece = random.choice(sorted(able))
        able.discard((worker, piece))
        due = shard.push(worker, piece, done[worker, piece], _said(1))
        done[worker, piece] += 1
        able |= {(one, piece) for one in due if done[one, piece] < steps}
    assert set(done.values()) == {steps}
    assert shard.numbers(P).tolist() == [workers * steps]
