"""The cost of refused requests: charged to their senders, and paid off from a small share of one core.

All senders in debt share that equally (generalised processor sharing, Parekh and Gallager 1993): a single one has all
of it, and however many there are, their requests take no more of the platform. `_paid` is the virtual time of that.
"""

import math
import time
from collections.abc import Callable
from heapq import heappop, heappush, heapreplace

from coterie.core.errors import CoterieError, ErrorKind
from coterie.gateway.door.limits import LIMITS, Limits

REMEMBERED = 65_536
"""Senders in debt that are remembered; beyond that, the smallest debt is dropped."""
LONGEST_WAIT_S = 60


class RefusedTooOften(CoterieError):
    """Fields: wait_s."""

    code = "gateway.refused_too_often"
    kind = ErrorKind.THROTTLED
    sentence = "Requests of this sender were refused over and over; the next one is looked at in {wait_s} s."


class RefusalCosts:
    """Processor seconds that senders owe. Used on one event loop."""

    def __init__(self, limits: Limits = LIMITS, clock: Callable[[], float] = time.monotonic) -> None:
        self._share = limits.refusals_share
        self._allowance_s = limits.refusals_allowance_s
        self._clock = clock
        self._at = clock()
        self._paid = 0.0
        """How much each has paid who has owed all along."""
        self._due: dict[str, float] = {}
        """What `_paid` will be when each has paid all."""
        self._order: list[tuple[float, str]] = []
        """Each of them once, as a heap; an entry may be of before it came to owe more."""

    def owe(self, who: str, cost_s: float) -> None:
        """Charge `who` for a refused request; debt above twice the allowance is dropped."""
        self._pay_off()
        due = min(max(self._due.get(who, 0.0), self._paid) + cost_s, self._paid + 2 * self._allowance_s)
        if who not in self._due:
            heappush(self._order, (due, who))
        self._due[who] = due
        if len(self._due) > REMEMBERED:
            self._drop_smallest()

    def is_over(self, who: str) -> bool:
        """Whether `check` would raise."""
        self._pay_off()
        return self._due.get(who, 0.0) > self._paid + self._allowance_s

    def check(self, who: str) -> None:
        """Raises RefusedTooOften where `who` owes more than the allowance."""
        if self.is_over(who):
            over_s = self._due[who] - self._paid - self._allowance_s
            wait_s = math.ceil(over_s * len(self._due) / self._share)
            raise RefusedTooOften(wait_s=max(1, min(LONGEST_WAIT_S, wait_s)))

    def __len__(self) -> int:
        return len(self._due)

    def _pay_off(self) -> None:
        """Share out the processor time that has become available since the last call."""
        now = self._clock()
        left_s, self._at = (now - self._at) * self._share, now
        while self._order:
            due, who = self._order[0]
            if self._due[who] != due:  # its debt has grown since
                heapreplace(self._order, (self._due[who], who))
                continue
            all_s = (due - self._paid) * len(self._due)
            if all_s > left_s:
                self._paid += left_s / len(self._due)
                return
            left_s -= all_s
            self._paid = due
            heappop(self._order)
            del self._due[who]

    def _drop_smallest(self) -> None:
        while True:
            due, who = self._order[0]
            if self._due[who] == due:
                heappop(self._order)
                del self._due[who]
                return
            heapreplace(self._order, (self._due[who], who))
