"""Asks another device: one request, one answer, both bounded, since any host may answer there."""

import socket
import threading
from contextlib import suppress
from http.client import HTTPConnection, HTTPException

from coterie_agent.link.failure import Unreachable

CONNECT_S = 3.0
_IDLE_S = 30.0
"""Longest gap in seconds between two reads."""
WITHIN_S = 90.0
"""Seconds for a request and its answer in all."""


def ask_neighbour(
    address: str,
    path: str,
    body: bytes,
    *,
    at_most_bytes: int,
    within_s: float = WITHIN_S,
    sock: socket.socket | None = None,
) -> bytes:
    """The answer of the device at ``HOST:PORT``, of at most `at_most_bytes`. Raises Unreachable where none comes.

    `sock`: an open connection to it, which is closed; None: one is opened.
    """
    connection = HTTPConnection(address, timeout=CONNECT_S)
    watchdog: threading.Timer | None = None
    try:
        if sock is None:
            connection.connect()
        else:
            connection.sock = sock
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
