"""Asks another device: one request, one answer, both bounded, since what answers there may be anybody."""

import socket
import threading
from contextlib import suppress
from http.client import HTTPConnection, HTTPException

from coterie_agent.link.failure import Unreachable

CONNECT_S = 3.0
_IDLE_S = 30.0
"""Longest gap."""
WITHIN_S = 90.0
"""Of a request and its answer, however steadily their bytes come."""


def ask_neighbour(
    address: str,
    path: str,
    body: bytes,
    *,
    at_most_bytes: int,
    within_s: float = WITHIN_S,
    way: socket.socket | None = None,
) -> bytes:
    """The answer of the device at ``HOST:PORT``, of so many bytes at most. Raises Unreachable where none comes.

    `way` is a connection to it, which is closed; None: one is made.
    """
    connection = HTTPConnection(address, timeout=CONNECT_S)
    watchdog: threading.Timer | None = None
    try:
        if way is None:
            connection.connect()
        else:
            connection.sock = way
        connection.sock.settimeout(_IDLE_S)
        watchdog = threading.Timer(within_s, _end, [connection.sock])
        watchdog.daemon = True
        watchdog.start()
        connection.request("POST", path, body)
        response = connection.getresponse()
        content = response.read(at_most_bytes + 1)
    except (OSError, HTTPException) as error:
        raise Unreachable(f"the device at {address} does not answer: {error}") from error
    finally:
        if watchdog is not None:
            watchdog.cancel()
        connection.close()
    if response.status != 200:
        raise Unreachable(f"the device at {address} answers {response.status}")
    if len(content) > at_most_bytes:
        raise Unreachable(f"the device at {address} answers with more than {at_most_bytes} bytes")
    return content


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
