"""Who sends a request, as far as that is known, and what answering it takes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from coterie.core.credentials import hash_secret
from coterie.gateway.door.debts import Debts, RefusedTooOften
from coterie_wire.offences import OFFENCES

T = TypeVar("T")
LOOP_S = 0.001
"""What the event loop spends on a request, about: there, nothing tells one request's work from another's."""


class Visitor:
    """The sender of one request or socket: its address, until it has shown a credential that is good."""

    def __init__(self, debts: Debts, address: str) -> None:
        self._debts = debts
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
            OFFENCES.tell(self._address, error.code)
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


_visitor: ContextVar[Visitor | None] = ContextVar("visitor", default=None)


@contextmanager
def visiting(visitor: Visitor | None) -> Iterator[None]:
    """What runs in the block, and what is begun there, is for `visitor`, or for nobody in particular."""
    token = _visitor.set(visitor)
    try:
        yield
    finally:
        _visitor.reset(token)


def current_visitor() -> Visitor:
    """Whose request is being answered."""
    visitor = _visitor.get()
    assert visitor is not None, "requests come through the door"
    return visitor


def metered(work: Callable[[], T]) -> T:
    """What `work` returns or raises; its time on this thread is the visitor's, where there is one."""
    visitor = _visitor.get()
    if visitor is None:
        return work()
    began_s = time.thread_time()
    try:
        return work()
    finally:
        visitor.use(time.thread_time() - began_s)
