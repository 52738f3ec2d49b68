"""Writes to a connection, and aborts it if the client does not read."""

import asyncio
import fcntl
import struct
import termios
from asyncio import TimerHandle
from collections.abc import Callable
from contextlib import suppress

from coterie.gateway.door.limits import Limits


class WatchedTransport:
    """The part of a transport that uvicorn's request cycle writes answers to.

    While data waits to be sent, it must move at `Limits.least_bytes_per_s`; after a close, too.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        transport: asyncio.Transport,
        limits: Limits,
        hang_up: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._transport = transport
        self._hang_up = hang_up
        self._patience_s = limits.patience_s
        self._least_bytes = int(limits.patience_s * limits.least_bytes_per_s)
        self._written_bytes = 0
        self._timer: TimerHandle | None = None

    def write(self, data: bytes) -> None:
        """Send `data` when the client reads; dropped where the client has disconnected."""
        if self._transport.is_closing():  # uvloop's transport would raise, where asyncio's does nothing
            return
        self._written_bytes += len(data)
        self._transport.write(data)

    def is_closing(self) -> bool:
        """Whether nothing more is sent."""
        return self._transport.is_closing()

    def close(self) -> None:
        """Close the connection once everything has been sent, as the protocol does it."""
        self._hang_up()

    def watch(self) -> None:
        """Start watching, unless a watch is running."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._patience_s, self._check_progress, self._taken_bytes())

    def relax(self) -> None:
        """Stop watching: everything has been sent, or the client has disconnected."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_progress(self, before_bytes: int) -> None:
        taken = self._taken_bytes()
        if taken < self._written_bytes and taken - before_bytes < self._least_bytes:
            self._timer = None
            self._transport.abort()
        else:
            self._timer = self._loop.call_later(self._patience_s, self._check_progress, taken)

    def _taken_bytes(self) -> int:
        """Bytes received by the client: without those in the transport's and the system's buffers; the latter drains in
        large steps.
        """
        queued = 0
        socket = self._transport.get_extra_info("socket")
        if socket is not None:
            with suppress(OSError, ValueError):  # closed, or the system does not say
                queued = struct.unpack("i", fcntl.ioctl(socket.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))[0]
        return self._written_bytes - self._transport.get_write_buffer_size() - queued
