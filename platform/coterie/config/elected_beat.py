"""The scheduler of a platform of many processes, where several beats may run and one is active."""

import logging

from redis import RedisError

from coterie.config.beat import Scheduler
from coterie.config.leader import LEADERSHIP, RETRY_S
from coterie.config.monitoring.liveness import LIFE

logger = logging.getLogger(__name__)


class ElectedScheduler(Scheduler):
    """Sends due tasks while this process holds the lock, and continues while Redis is away."""

    def tick(self, *_: object, **__: object) -> float:
        """Send one due task, if this is the active beat; returns the seconds until the next check."""
        if LEADERSHIP.holds():
            return min(super().tick(), RETRY_S)
        LIFE.show("tick")
        return RETRY_S

    def record_pulse(self) -> None:
        """Record a heartbeat; a lost one is followed by the next within seconds."""
        try:
            super().record_pulse()
        except RedisError:
            logger.warning("the pulse of periodic work could not be written", exc_info=True)

    def close(self) -> None:
        """Release the lock, so that another beat becomes active."""
        super().close()
        LEADERSHIP.resign()
