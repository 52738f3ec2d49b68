"""Ports that a test gives to a process which is started later."""

import secrets
import socket
from contextlib import ExitStack, closing

LEAST, MOST = 20_000, 32_000
"""Below those that systems give to outgoing connections, one of which may otherwise take a port before its process."""


def free_port() -> int:
    """One of the loopback's."""
    return free_ports(1)


def free_ports(count: int) -> int:
    """The first of so many that follow one another."""
    while True:
        first = LEAST + secrets.randbelow(MOST - LEAST)
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(closing(socket.create_server(("127.0.0.1", port))))
            except OSError:
                continue
            return first
