"""What a thread that calls the platform does about failures that pass: it waits, longer with each."""

import logging
import random
import time
from dataclasses import dataclass, field

from coterie_agent.errors import AgentError, reason_of
from coterie_agent.link.backoff import Backoff
from coterie_agent.link.failure import Refused, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.situation import Situation
from coterie_wire.errors import WireError
from coterie_wire.limit_log import LimitLog
from coterie_wire.messages import Done, ReleaseAssignment

log = logging.getLogger(__name__)
_WARNED = LimitLog()


def warn(failure: AgentError) -> None:
    """Log a failure that passes; while it lasts, once in ten minutes, whichever thread meets it."""
    more = _WARNED.due("", failure.detail)
    if more is not None:
        log.warning("%s; trying again%s", failure.detail, f" ({more} more since this was last logged)" if more else "")


@dataclass(kw_only=True)
class Retrying:
    """Counts the failures of one thread."""

    link: HttpLink
    situation: Situation
    longest_s: float
    """Seconds that a wait lasts at most."""
    rng: random.Random = field(default_factory=random.SystemRandom)
    _backoff: Backoff = field(default_factory=Backoff)

    def succeed(self) -> None:
        """Wait for the next failure as for a first one."""
        self._backoff = Backoff()

    def wait_out(self, error: AgentError) -> None:
        """Do not call the platform for a while; only the end of the agent ends the wait."""
        self._backoff = self._backoff.failed()
        until = time.monotonic() + self._backoff.delay_s(longest_s=self.longest_s, rng=self.rng)
        warn(error)
        while not (now := self.situation.now).stopping and (left := until - time.monotonic()) > 0:
            self.situation.wait(now.edition, left)

    def handles(self, error: AgentError | WireError) -> bool:
        """Whether it passes, and was waited out, or the credential has ended, and the agent with it."""
        if isinstance(error, Refused) and error.is_revoked:
            self.situation.end(error)
        elif isinstance(error, AgentError) and is_retryable(error):
            self.wait_out(error)
        else:
            return False
        return True

    def give_back(self, assignment: str, error: AgentError | WireError) -> bool:
        """Tell the platform why, so that it need not wait for the device; False: not yet, or the credential has ended.

        What the platform refuses to take back is given back, too: it is not the device's any more.
        """
        try:
            self.link.call(ReleaseAssignment(assignment=assignment, reason=reason_of(error)), Done)
        except AgentError as failure:
            return not self.handles(failure)
        return True
