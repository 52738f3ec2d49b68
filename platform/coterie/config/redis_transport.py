"""Celery's broker in Redis, whose workers continue after an outage.

kombu 5.7 closes the channel of a lost connection twice. The second time it returns unfinished tasks, on a connection
whose address is gone by then, and ends the worker by an AttributeError instead of reconnecting.
"""

from kombu.transport import redis
from redis.exceptions import ConnectionError as Away


class Channel(redis.Channel):
    """A channel that reports a lost connection as all of its other methods do."""

    def _connparams(self, asynchronous: bool = False) -> dict[str, object]:
        """Raises Away."""
        if self.connection.client is None:
            message = "the connection was given up"
            raise Away(message)
        found: dict[str, object] = super()._connparams(asynchronous=asynchronous)  # type: ignore[misc]  # private
        return found


class Transport(redis.Transport):
    """The transport of those channels."""

    Channel = Channel
