"""A link that fails on command: a TCP proxy between an agent and its platform."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

Pump = Callable[[socket.socket, socket.socket], None]
UPLOADS = (b"PATCH /device/v1/uploads/", b"PATCH /device/v1/portions/")
REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\nConnection: close\r\n\r\nno sockets"


class Proxy:
    """Passes bytes on, but for what a test has it do."""

    def __init__(self, url: str) -> None:
        self._upstream = ("127.0.0.1", int(url.rpartition(":")[2]))
        self.refuses_sockets = False
        """Answer WebSocket handshakes as a proxy that does not know them."""
        self.holds_uploads_after: int | None = None
        """So many bytes of upload bodies pass; the rest, and what comes after, is held back."""
        self.swallows_receipts = False
        """Replies to uploads do not arrive."""
        self.loses_answers_to: bytes | None = None
        """Answers to requests that begin like this do not arrive."""
        self.lost_answers = 0
        self._deaf: set[socket.socket] = set()
        self.uploaded_bytes = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        """Break every connection and take no more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.break_all()
        for thread in self._threads:
            thread.join(10)

    def break_all(self) -> None:
        """Break every connection."""
        with self._lock:
            for end in self._open:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                device, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(device,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, device: socket.socket) -> None:
        with device, socket.create_connection(self._upstream) as platform:
            with self._lock:
                self._open |= {device, platform}
            back = threading.Thread(target=_run, args=(self._from_platform, device, platform), daemon=True)
            back.start()
            _run(self._from_device, device, platform)
            back.join()
            with self._lock:
                self._open -= {device, platform}

    def _from_device(self, device: socket.socket, platform: socket.socket) -> None:
        uploads = False
        while data := device.recv(1 << 16):
            if self.refuses_sockets and b"upgrade: websocket" in data.lower():
                device.sendall(REFUSAL)
                return
            if self.loses_answers_to is not None and data.startswith(self.loses_answers_to):
                self._deaf.add(device)
            if data.startswith(UPLOADS):
                uploads = True
                head, _, data = data.partition(b"\r\n\r\n")
                platform.sendall(head + b"\r\n\r\n")
            elif data.startswith((b"POST ", b"GET ")):
                uploads = False
            if not uploads:
                platform.sendall(data)
                continue
            if self.holds_uploads_after is not None and self.uploaded_bytes + len(data) > self.holds_uploads_after:
                platform.sendall(data[: self.holds_uploads_after - self.uploaded_bytes])
                self.uploaded_bytes = self.holds_uploads_after
                device.recv(1)  # until the connection breaks
                return
            platform.sendall(data)
            self.uploaded_bytes += len(data)

    def _from_platform(self, device: socket.socket, platform: socket.socket) -> None:
        while data := platform.recv(1 << 16):
            if device in self._deaf:
                self.lost_answers += 1
                continue
            if self.swallows_receipts and b'"accepted":true' in data:
                continue
            device.sendall(data)


def _run(pump: Pump, device: socket.socket, platform: socket.socket) -> None:
    """Until either side breaks off, which breaks off the other."""
    with suppress(OSError):
        pump(device, platform)
    for end in (device, platform):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
