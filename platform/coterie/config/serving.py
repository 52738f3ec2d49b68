"""How the server of either mode is set up: uvicorn with protocols that keep within bounds."""

import asyncio
import atexit
import errno
import socket
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
from coterie_wire.limit_log import LIMIT_LOG
from coterie_wire.messages import MAX_MESSAGE_BYTES

CLOSE_CONNECTIONS_S = 2
TICKS_AT_ONCE = 5
"""Of uvicorn's, which counts tenths of a second and does what is for each second at each tenth of them."""


class BoundedServer(uvicorn.Server):
    """Uvicorn on a loop that tells once when the system has no descriptor left for another connection.

    It ends without sending all devices to the other processes at the same time.
    """

    def __init__(self, config: uvicorn.Config, tls: ServerTls | None = None) -> None:
        super().__init__(config)
        self._tls = tls

    async def main_loop(self) -> None:
        """As uvicorn's, whose ten looks a second whether it shall end were a seventh of what an idle platform does."""
        counter = 0
        while not await self.on_tick(counter):
            counter = (counter + TICKS_AT_ONCE) % (10 * TICKS_AT_ONCE)
            await asyncio.sleep(TICKS_AT_ONCE / 10)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer requests."""
        asyncio.get_running_loop().set_exception_handler(tell_of_failure)
        self._following = asyncio.create_task(LIFE.follow_loop())
        if self._tls is not None:
            self._keeping = asyncio.create_task(self._tls.keep_current())
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the sockets, then take no more connections.

        Little by little, where other processes answer meanwhile; a second signal hurries it.
        """
        await ENDING.close_sockets(is_hurried=lambda: settings.EMBEDDED or self.force_exit)
        await super().shutdown(sockets)


def tell_of_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:  # Any: as asyncio declares it
    """Log what failed in the loop.

    asyncio accepts as many connections at once as may wait, before any is counted, and logs each that has no descriptor
    with a traceback; it tries again a second later.
    """
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        LIMIT_LOG.tell("", "gateway.no_descriptors")
    else:
        loop.default_exception_handler(context)


def server_config(tls: ServerTls | None = None) -> uvicorn.Config:
    """The platform on uvicorn.

    Makes this process's spool, which goes with it, and lets the process open as many files as the system allows. Raises
    OSError where the spool cannot be made.
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
        lifespan="off",  # uvicorn swallows what fails in its shutdown; what starts and stops does so around it instead
        ws_max_size=2 * MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,  # it doubles the memory of a socket, and messages are small
        proxy_headers=False,  # it would believe everybody on this machine; the door asks whom the operator trusts
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=CLOSE_CONNECTIONS_S,
    )
