"""Keeps the server of embedded mode running, and takes it along when it ends itself."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

import msgspec

from coterie.config.announce import GaveUp, Restarting, Stopped, Style, announce
from coterie.config.server import ServerOptions

STOP_S = 10.0
"""How long a server that was asked to stop may take."""
RESTART_S = 0.2
MAX_RESTART_S = 5.0
NEVER_READY_LIMIT = 5


class StateInUse(Exception):
    """Another platform runs on this state directory."""


class Supervisor:
    """One server after the other on one listening socket, so that clients wait through a restart instead of failing."""

    def __init__(
        self,
        *,
        listener: socket.socket,
        lock_fd: int,
        state: Path,
        operator: str,
        style: Style,
        environment: Mapping[str, str],
    ) -> None:
        self._listener = listener
        self._lock_fd = lock_fd
        self._state = state
        self._operator = operator
        self._style: Style = style
        self._environment = environment
        self._server: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()

    def run(self) -> int:
        """Supervise until SIGTERM, SIGINT or too many failures; the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        never_ready = 0
        while not self._stopping.is_set():
            status, was_ready = self._run_server()
            if self._stopping.is_set():
                break
            never_ready = 0 if was_ready else never_ready + 1
            if never_ready == NEVER_READY_LIMIT:
                announce(GaveUp(status=status, times=never_ready), self._style)
                return 1
            after_s = min(RESTART_S * 2**never_ready, MAX_RESTART_S)
            announce(Restarting(status=status, after_s=after_s), self._style)
            self._stopping.wait(after_s)
        announce(Stopped(), self._style)
        return 0

    def _run_server(self) -> tuple[int, bool]:
        """The status with which one server ended, and whether it had been ready."""
        ours, theirs = socket.socketpair()
        with ours:
            options = ServerOptions(
                listener_fd=self._listener.fileno(),
                lifeline_fd=theirs.fileno(),
                url=url_of(self._listener),
                state=str(self._state),
                operator=self._operator,
                style=self._style,
            )
            with theirs:
                self._server = subprocess.Popen(
                    [sys.executable, "-m", "coterie.config.server", msgspec.json.encode(options).decode()],
                    # The lock passes on: it must outlive this process as long as its server does.
                    pass_fds=[options.listener_fd, options.lifeline_fd, self._lock_fd],
                    env=self._environment,
                    start_new_session=True,  # Ctrl-C reaches the supervisor alone
                )
            if self._stopping.is_set():  # a signal came before there was a server to pass it to
                self._server.terminate()
            status = self._server.wait()
            ours.setblocking(False)
            try:
                return status, ours.recv(1) == b"r"
            except OSError:
                return status, False

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        again = self._stopping.is_set()
        self._stopping.set()
        server = self._server
        if server is None:
            return
        if again:
            server.kill()
        else:
            server.terminate()
            reaper = threading.Timer(STOP_S, server.kill)
            reaper.daemon = True
            reaper.start()


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError when the address is taken or not ours."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(address[:2], family=family, backlog=2048)


def url_of(listener: socket.socket) -> str:
    """Where a browser on this machine finds the platform."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - what it listens on, not what we choose
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def lock_state(state: Path) -> int:
    """Descriptor that holds the state directory for this process and those that inherit it. Raises StateInUse."""
    descriptor = os.open(state / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 20).decode().strip()
        os.close(descriptor)
        raise StateInUse(
            f"another platform (process {holder}) runs on {state}; stop it or choose another --state"
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor
