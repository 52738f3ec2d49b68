"""Who sends a request, as far as that is known, and what answering it takes."""

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
"""What the event loop spends on a request, about: there, nothing tells one request's work from another's."""


class Requester:
    """The sender of one request or socket: its address, until it has shown a credential that is good."""

    def __init__(self, refusal_costs: RefusalCosts, address: str) -> None:
        self._debts = refusal_costs
        self._address = address
        self._who = f"address {address}"
        self._used_s = 0.0
        self._is_turned_away = False

    def prove(self, secret: str) -> None:
        """It has shown this credential: what it does is its own from now on, and nothing of its address."""
        self._who = f"credential {hash_secret(secret)}"

    def check(self) -> None:
        """Before anything is done for it. Raises RefusedTooOften."""
        try:
            self._debts.check(self._who)
        except RefusedTooOften as error:
            LIMIT_LOG.tell(self._address, error.code)
            self._is_turned_away = True
            raise

    def use(self, seconds: float) -> None:
        """A thread has worked so long for it."""
        self._used_s += seconds

    def answered(self, status: int) -> None:
        """An answer goes out: where it is a refusal, what it took is owed."""
        if 400 <= status < 500 and not self._is_turned_away:
            self._debts.owe(self._who, LOOP_S + self._used_s)
        self._used_s, self._is_turned_away = 0.0, False


_requester: ContextVar[Requester | None] = ContextVar("requester", default=None)


@contextmanager
def requesting(requester: Requester | None) -> Iterator[None]:
    """What runs in the block, and what is begun there, is for `requester`, or for nobody in particular."""
    token = _requester.set(requester)
    try:
        yield
    finally:
        _requester.reset(token)


def current_requester() -> Requester:
    """Whose request is being answered."""
    requester = _requester.get()
    assert requester is not None, "requests come through the door"
    return requester


def metered(work: Callable[[], T]) -> T:
    """What `work` returns or raises; its time on this thread is the requester's, where there is one."""
    requester = _requester.get()
    if requester is None:
        return work()
    began_s = time.thread_time()
    try:
        return work()
    finally:
        requester.use(time.thread_time() - began_s)
