"""Whoever is slow keeps one thread, and nobody else waits for it but for a turn."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Lock

from coterie.webhooks.target_threads import TargetThreads

WAIT_S = 10.0


def test_slow_targets_leave_room_for_the_others_and_are_called_once_at_a_time() -> None:
    go_on, lock = Event(), Lock()
    done: SimpleQueue[int] = SimpleQueue()
    begun: SimpleQueue[int] = SimpleQueue()
    running: set[int] = set()
    twice: list[int] = []

    def work(target: int) -> bool:
        with lock:
            if target in running:
                twice.append(target)
            running.add(target)
        if target < 3:
            begun.put(target)
            go_on.wait(WAIT_S)
        with lock:
            running.remove(target)
        done.put(target)
        return False

    lanes = TargetThreads(work, at_once=4)
    for slow in range(3):
        lanes.wake(slow)
    assert {begun.get(timeout=WAIT_S) for _ in range(3)} == {0, 1, 2}
    for target in (0, 1, 2, 0, 1, 2, 3, 4, 5):
        lanes.wake(target)
    assert {done.get(timeout=WAIT_S) for _ in range(3)} == {3, 4, 5}
    go_on.set()
    # Woken while they ran: each is looked at once more.
    assert sorted(done.get(timeout=WAIT_S) for _ in range(6)) == [0, 0, 1, 1, 2, 2]
    assert twice == []


def test_what_fails_is_over_and_its_thread_goes_on(caplog: object) -> None:
    done: SimpleQueue[int] = SimpleQueue()
    lanes = TargetThreads(failing_first(done), at_once=1)
    lanes.wake(1)
    lanes.wake(2)
    assert done.get(timeout=WAIT_S) == 2


def test_more_work_for_one_takes_its_turn_behind_the_others() -> None:
    done: SimpleQueue[int] = SimpleQueue()
    held, left = Event(), [3]

    def work(target: int) -> bool:
        held.wait(WAIT_S)
        done.put(target)
        left[0] -= target == 1
        return target == 1 and left[0] > 0

    lanes = TargetThreads(work, at_once=1)
    lanes.wake(1)
    lanes.wake(2)
    held.set()
    assert [done.get(timeout=WAIT_S) for _ in range(4)] == [1, 2, 1, 1]


def failing_first(done: "SimpleQueue[int]") -> Callable[[int], bool]:
    def work(target: int) -> bool:
        if target == 1:
            raise ValueError(target)
        done.put(target)
        return False

    return work
