"""Which pieces begin when."""

import random

import pytest

from coterie.cloud.priority.order import Piece, cut
from coterie.cloud.priority.window import Window


def test_no_more_pieces_are_on_their_way_than_the_credit() -> None:
    first, second, third = order = cut([3], 1)
    window = Window(order, credit=2)
    assert list(window.begin()) == [], "nothing is ready"
    window.ready(0)
    assert list(window.begin()) == [first, second]
    assert list(window.begin()) == []
    assert not window.end(second)
    assert list(window.begin()) == [third]
    assert not window.end(first)
    assert window.end(third), "the layer has arrived"


def test_a_piece_that_is_not_ready_holds_up_the_ones_after_it() -> None:
    order = [Piece(1, 0, 1), Piece(0, 0, 1)]
    window = Window(order, credit=8)
    window.ready(0)
    assert list(window.begin()) == []
    window.ready(1)
    assert list(window.begin()) == order


@pytest.mark.parametrize("seed", range(20))
def test_pieces_begin_in_their_order_whatever_comes_first(seed: int) -> None:
    chance = random.Random(seed)
    order = cut([chance.randint(1, 9) for _ in range(6)], 2)
    chance.shuffle(order)
    window, begun, away, ready = Window(order, credit=3), [], [], list(range(6))
    chance.shuffle(ready)
    arrived = []
    while len(arrived) < len(order):
        if ready and (chance.random() < 0.5 or not away):
            window.ready(ready.pop())
        elif away:
            arrived.append(away.pop(chance.randrange(len(away))))
            window.end(arrived[-1])
        started = list(window.begin())
        begun += started
        away += started
        assert len(away) <= 3
    assert begun == order
