"""Celery's broker in Redis, whose workers go on when it has been away.

kombu 5.7 closes the channel of a lost connection twice. The second time it gives tasks that were under way back, on a
connection whose address is gone by then, and ends the worker by an AttributeError instead of connecting anew.
"""

from kombu.transport import redis
from redis.exceptions import ConnectionError as Away


class Channel(redis.Channel):
    """A channel that says that its connection was lost as all of it does."""

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
