"""The server of either mode: uvicorn with bounded protocols."""

import asyncio
import atexit
import errno
import socket
import threading
from typing import Any, cast

import uvicorn
from django.conf import settings

from coterie.config.monitoring.liveness import LIFE
from coterie.config.tls import ServerTls
from coterie.gateway.door.connections import Connections, raise_descriptor_limit
from coterie.gateway.door.limits import LIMITS
from coterie.gateway.door.protocol import guarded
from coterie.gateway.door.socket_protocol import guarded_sockets
from coterie.gateway.door.spool import make_directory, remove_directory
from coterie.gateway.ending import ENDING
from coterie.storage.watching import watch_storage
from coterie_wire.limit_log import LIMIT_LOG
from coterie_wire.messages import MAX_MESSAGE_BYTES

CLOSE_CONNECTIONS_S = 2
TICKS_AT_ONCE = 5
"""Of uvicorn's ticks, which are tenths of a second; work for each second is done at each tenth of them."""


class BoundedServer(uvicorn.Server):
    """Uvicorn that logs once when the system has no descriptor left for another connection.

    It shuts down without sending all devices to the other processes at the same time.
    """

    def __init__(self, config: uvicorn.Config, tls: ServerTls | None = None) -> None:
        super().__init__(config)
        self._tls = tls

    async def main_loop(self) -> None:
        """As uvicorn's, whose ten checks a second for shutdown were a seventh of an idle platform's work."""
        counter = 0
        while not await self.on_tick(counter):
            counter = (counter + TICKS_AT_ONCE) % (10 * TICKS_AT_ONCE)
            await asyncio.sleep(TICKS_AT_ONCE / 10)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start answering requests."""
        asyncio.get_running_loop().set_exception_handler(log_failure)
        self._following = asyncio.create_task(LIFE.follow_loop())
        if self._tls is not None:
            self._keeping = asyncio.create_task(self._tls.keep_current())
        threading.Thread(target=watch_storage, name="storage-watch", daemon=True).start()
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the sockets, then accept no more connections.

        Gradually, where other processes answer meanwhile; a second signal hurries it.
        """
        await ENDING.close_sockets(is_hurried=lambda: settings.EMBEDDED or self.force_exit)
        await super().shutdown(sockets)


def log_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:  # Any: as asyncio declares it
    """Log a failure in the loop.

    asyncio accepts as many connections at once as may wait, before any is counted, and logs each that has no descriptor
    with a traceback; it retries a second later.
    """
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        LIMIT_LOG.log("", "gateway.no_descriptors")
    else:
        loop.default_exception_handler(context)


def server_config(tls: ServerTls | None = None) -> uvicorn.Config:
    """The configuration of uvicorn for the platform.

    Creates this process's spool, which is removed with it, and lets the process open as many files as the system
    allows. Raises OSError where the spool cannot be created.
    """
    make_directory(settings.SPOOL)
    atexit.register(remove_directory, settings.SPOOL)

    from coterie.config.asgi import PROXIES, application

    connections = Connections(LIMITS, descriptors=raise_descriptor_limit(), exempt=PROXIES)
    return uvicorn.Config(
        application,
        # Any: what uvicorn declares a class it only calls.
        http=cast(Any, guarded(connections, LIMITS)),
        ws=cast(Any, guarded_sockets(connections, LIMITS)),
        ssl_context_factory=None if tls is None else lambda _config, _default: tls.context,
        lifespan="off",  # uvicorn swallows failures in its shutdown; start and end are handled around it instead
        ws_max_size=2 * MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,  # it doubles the memory of a socket, and messages are small
        proxy_headers=False,  # it would trust everyone on this machine; the gateway uses the operator's trusted proxies
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=CLOSE_CONNECTIONS_S,
    )
