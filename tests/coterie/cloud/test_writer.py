"""What is written beside training: in order, and nothing after what failed."""

from functools import partial
from threading import Event

import pytest

from coterie.cloud.writer import Writer


def test_things_are_done_in_order_while_others_go_on() -> None:
    may_end, done = Event(), list[int]()
    with Writer() as writer:
        writer.then(lambda: None if may_end.wait(timeout=30) else done.append(0))
        for number in range(1, 4):
            writer.then(partial(done.append, number))
        assert done == [], "whoever asks does not wait"
        may_end.set()
        writer.wait()
        assert done == [1, 2, 3]
        writer.then(partial(done.append, 4))
    assert done == [1, 2, 3, 4], "nothing is left undone"


def fail() -> None:
    raise OSError(28, "no room")


def test_nothing_is_done_after_what_failed() -> None:
    done = list[int]()
    with pytest.raises(OSError, match="no room"), Writer() as writer:
        writer.then(partial(done.append, 1))
        writer.then(fail)
        writer.then(partial(done.append, 2))  # the checkpoint that would count, of parts that are not there
    assert done == [1]


def test_what_was_raised_meanwhile_comes_first() -> None:
    with pytest.raises(KeyError), Writer() as writer:
        writer.then(fail)
        raise KeyError
