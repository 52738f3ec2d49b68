"""``coterie serve``: one web process of scaled mode."""

import argparse
import socket
import sys
from collections.abc import Sequence

import django
from django.conf import settings

from coterie.config import memory
from coterie.config.exclusive import bind, port


def main(given: argparse.Namespace) -> None:
    """Serve as `options` say until a signal ends it."""
    memory.bound_arenas()
    django.setup()
    from coterie.config.monitoring.begin import begin_monitoring
    from coterie.config.schema import exit_unless_usable
    from coterie.config.serving import BoundedServer, server_config
    from coterie.config.tls import read_tls, refuse_unusable_authority
    from coterie.config.tracing import begin_tracing

    try:
        listener = socket.socket(fileno=given.fd) if given.fd is not None else bind(given.host, given.port)
    except OSError as error:
        sys.exit(f"{given.prog}: cannot listen on {given.host}:{given.port}: {error.strerror}; choose another --port")
    try:
        begin_monitoring("loop", leads=lambda: False)
    except OSError as error:
        sys.exit(f"{given.prog}: cannot show metrics on port {settings.METRICS_PORT}: {error.strerror}")
    begin_tracing("web")
    exit_unless_usable()
    refuse_unusable_authority(given.prog)
    tls = read_tls(given.prog)
    server = BoundedServer(server_config(tls), tls)
    memory.settle()
    server.run([listener])


def options(arguments: Sequence[str], *, prog: str) -> argparse.Namespace:
    """Where to listen; parsed before there is a state. Exits where they are invalid."""
    parser = argparse.ArgumentParser(prog=prog, description="Run one web process of a platform in scaled mode.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=port, default=8000, help="(default: %(default)s)")
    parser.add_argument("--fd", type=int, metavar="NUMBER", help="a listening socket that is open already, instead")
    parser.set_defaults(prog=prog)
    return parser.parse_args(arguments)
