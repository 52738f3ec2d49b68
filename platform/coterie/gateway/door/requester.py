"""The sender of a request, as far as known, and the processor time that answering it takes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from coterie.core.credentials import hash_secret
from coterie.gateway.door.refusal_costs import RefusalCosts, RefusedTooOften
from coterie_wire.limit_log import LIMIT_LOG

T = TypeVar("T")
LOOP_S = 0.001
"""Approximate time that the event loop spends on a request: there, time cannot be attributed to single requests."""


class Requester:
    """The sender of one request or socket: its address, until it has presented a valid credential."""

    def __init__(self, refusal_costs: RefusalCosts, address: str) -> None:
        self._debts = refusal_costs
        self._address = address
        self._who = f"address {address}"
        self._used_s = 0.0
        self._is_turned_away = False

    def prove(self, secret: str) -> None:
        """It has presented a valid credential: its costs are charged to that from now on, and not to its address."""
        self._who = f"credential {hash_secret(secret)}"

    def check(self) -> None:
        """Raises RefusedTooOften where it owes too much. Called before any work for it."""
        try:
            self._debts.check(self._who)
        except RefusedTooOften as error:
            LIMIT_LOG.log(self._address, error.code)
            self._is_turned_away = True
            raise

    def add_time(self, seconds: float) -> None:
        """Add the time that a thread has worked for it."""
        self._used_s += seconds

    def record_answer(self, status: int) -> None:
        """Its request was answered: the cost of a refusal is charged to it."""
        if 400 <= status < 500 and not self._is_turned_away:
            self._debts.owe(self._who, LOOP_S + self._used_s)
        self._used_s, self._is_turned_away = 0.0, False


_requester: ContextVar[Requester | None] = ContextVar("requester", default=None)


@contextmanager
def requesting(requester: Requester | None) -> Iterator[None]:
    """Attribute what runs in the block, and tasks started there, to `requester`; None: to no requester."""
    token = _requester.set(requester)
    try:
        yield
    finally:
        _requester.reset(token)


def current_requester() -> Requester:
    """The requester of the current context."""
    requester = _requester.get()
    assert requester is not None, "requests come through the door"
    return requester


def metered(work: Callable[[], T]) -> T:
    """The result of `work`; its time on this thread is charged to the current requester, if there is one."""
    requester = _requester.get()
    if requester is None:
        return work()
    began_s = time.thread_time()
    try:
        return work()
    finally:
        requester.add_time(time.thread_time() - began_s)
