"""A line to a server that takes bytes of a device slowly: so many a second, more or fewer from burst to burst."""

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

import numpy as np

CHUNK = 1024
IDLE_S = 0.3
"""After such a silence another burst begins."""
SPREAD = 0.15
"""Standard deviation of the logarithm of a burst's rate."""


class SlowLine:
    """Passes bytes down as they come, and bytes up at a rate."""

    def __init__(self, url: str, *, up_bytes_s: float, seed: int) -> None:
        self._upstream = ("127.0.0.1", int(url.rpartition(":")[2]))
        self._rate, self._rng, self._lock = up_bytes_s, np.random.default_rng(seed), threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                device, _ = self._listener.accept()
                server = socket.create_connection(self._upstream)
                for pump in (self._up, self._down):
                    threading.Thread(target=pump, args=(device, server), daemon=True).start()

    def _up(self, device: socket.socket, server: socket.socket) -> None:
        ended, free_at, rate = False, 0.0, self._rate
        with suppress(OSError):
            while not ended:
                content = device.recv(CHUNK)
                now, ended = time.monotonic(), not content
                if now > free_at + IDLE_S:
                    free_at = now
                    with self._lock:
                        rate = self._rate * float(np.exp(self._rng.normal(0, SPREAD)))
                free_at += len(content) / rate
                time.sleep(max(0.0, free_at - now))
                server.sendall(content)
        _close(server)

    def _down(self, device: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while content := server.recv(1 << 16):
                device.sendall(content)
        _close(device)


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
