"""The clock of a platform of many processes, where several beats may run and one acts."""

import logging

from redis import RedisError

from coterie.config.beat import Scheduler
from coterie.config.leader import ASKED_EVERY_S, LEADERSHIP
from coterie.config.monitoring.liveness import LIFE

logger = logging.getLogger(__name__)


class ElectedScheduler(Scheduler):
    """Sends what is due while this process holds the lock, and goes on while Redis is away."""

    def tick(self, *_: object, **__: object) -> float:
        """Send one task that is due, if this is the beat that acts; the seconds until the next look."""
        if LEADERSHIP.holds():
            return min(super().tick(), ASKED_EVERY_S)
        LIFE.show("tick")
        return ASKED_EVERY_S

    def record_pulse(self) -> None:
        """The next one comes in seconds, and without it periodic work counts as late."""
        try:
            super().record_pulse()
        except RedisError:
            logger.warning("the pulse of periodic work could not be written", exc_info=True)

    def close(self) -> None:
        """Let another act."""
        super().close()
        LEADERSHIP.resign()
