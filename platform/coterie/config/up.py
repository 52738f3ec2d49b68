"""``coterie up``: the whole platform with one command; not one of Django's, which would load every app first."""

import argparse
import errno
import socket
import sys
from collections.abc import Sequence

from django.conf import settings

from coterie.config.env import child_environment
from coterie.config.exclusive import ANYWHERE, StateInUse, bind, lock_state, port, url_of
from coterie.config.supervisor import SupervisorOptions, become_supervisor
from coterie.core.own_address import note_address

NOT_OURS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""An address that no interface of this machine has, or a kind of address that it does not know."""


def listen(given: argparse.Namespace) -> socket.socket:
    """A socket where `options` say; needs no state. Exits where there can be none."""
    try:
        return bind(given.host, given.port)
    except OSError as error:
        other = "--host" if error.errno in NOT_OURS or isinstance(error, socket.gaierror) else "--port"
        sys.exit(f"{given.prog}: cannot listen on {given.host}:{given.port}: {error.strerror}; choose another {other}")


def main(given: argparse.Namespace, listener: socket.socket) -> None:
    """Supervise the server that `options` describe until it is stopped."""
    try:
        lock_fd = lock_state(settings.STATE)
    except StateInUse as error:
        sys.exit(f"{given.prog}: {error}")
    settings.STATE.chmod(0o700)
    url = url_of(listener, tls=settings.TLS_CERTIFICATE is not None)
    note_address(settings.STATE, url)
    hosts = [*settings.ALLOWED_HOSTS, *([] if given.host in ANYWHERE else [given.host])]
    options = SupervisorOptions(
        listener_fd=listener.fileno(),
        lock_fd=lock_fd,
        url=url,
        state=str(settings.STATE),
        operator=given.operator,
        style="json" if given.json else "text",
    )
    environment = child_environment(state=str(settings.STATE), allowed_hosts=",".join(dict.fromkeys(hosts)))
    become_supervisor(options, environment)


def options(arguments: Sequence[str], *, prog: str) -> argparse.Namespace:
    """Where to listen and what to print; parsed before there is a state. Exits where they are invalid."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Run the platform in embedded mode: SQLite and files in one directory, no server to install.",
        epilog="--state DIR, which every command takes, keeps everything in DIR (default: ./coterie-state).",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=port, default=8000, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--operator", default="operator", metavar="NAME", help="the first operator's name")
    parser.add_argument("--json", action="store_true", help="tell what happens as one JSON object a line")
    parser.set_defaults(prog=prog)
    return parser.parse_args(arguments)
