"""Resources that one platform at a time may hold: an address, and a state directory."""

import fcntl
import os
import socket
from pathlib import Path

ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - told apart, not chosen
LAST_PORT = 65535


class StateInUse(Exception):
    """Another platform runs on this state directory."""


def port(text: str) -> int:
    """A TCP port as an option gives it: a larger number would be taken modulo 65,536. Raises ValueError."""
    number = int(text)
    if not 0 <= number <= LAST_PORT:
        raise ValueError(text)
    return number


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError when the address is taken or not ours."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(address[:2], family=family, backlog=2048)


def url_of(listener: socket.socket, *, tls: bool = False) -> str:
    """Where a browser on this machine finds the platform, which speaks `tls` itself or does not."""
    host, port = listener.getsockname()[:2]
    if host in ANYWHERE:
        host = "127.0.0.1"
    scheme = "https" if tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def lock_state(state: Path) -> int:
    """Descriptor that holds the state directory for this process and those that inherit it. Raises StateInUse."""
    descriptor = os.open(state / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 20).decode().strip()
        os.close(descriptor)
        raise StateInUse(f"another platform (process {holder}) runs on {state}; stop it or choose another") from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor
