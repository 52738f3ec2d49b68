"""The server of embedded mode, one process under the supervisor: ``python -m coterie.config.server OPTIONS``."""

import faulthandler
import gc
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType

import django
import uvicorn
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from coterie.config import memory
from coterie.config.announce import FirstOperator, Ready, announce
from coterie.config.schema import OtherSchema, changes_to_make, refuse_other
from coterie.config.server_options import REFUSED, ServerOptions
from coterie.config.serving import BoundedServer, server_config
from coterie.config.tls import ServerTls, read_tls, refuse_unusable_authority
from coterie.config.tracing import begin_tracing
from coterie.core.secret import write_secret
from coterie.gateway.door.spool import remove_directory
from coterie_wire.structs import from_json

logger = logging.getLogger(__name__)

ORPHANED = 3
PASSWORD_FILE = "first-password"  # noqa: S105 - its name
FINISH_TASKS_S = 3.0


class Server(BoundedServer):
    """Uvicorn that reports when it answers."""

    def __init__(
        self, config: uvicorn.Config, options: ServerOptions, lifeline: socket.socket, tls: ServerTls | None
    ) -> None:
        super().__init__(config, tls)
        self._options = options
        self._lifeline = lifeline

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start answering requests, and report it."""
        await super().startup(sockets)
        self._lifeline.send(b"r")
        options = self._options
        ready = Ready(url=options.url, state=options.state, supervisor_pid=os.getppid(), server_pid=os.getpid())
        announce(ready, options.style)


def main() -> None:
    """Serve until a signal ends it or the supervisor has ended."""
    faulthandler.enable()  # says where, when native code ends the process
    gc.disable()  # until all is loaded: nothing of that is garbage
    memory.bound_arenas()
    options = from_json(sys.argv[1], ServerOptions)
    lifeline = socket.socket(fileno=options.lifeline_fd)
    threading.Thread(target=_end_with_supervisor, args=(lifeline,), name="lifeline", daemon=True).start()
    django.setup()  # which looks for the system's own temporary directory first
    _use_own_temporary(Path(options.state) / "temporary")
    _prepare(options)
    if not _serve(options, lifeline):
        # Tasks that still run would delay the exit. Their rows say that they run, and the sweep resumes them.
        remove_directory(settings.SPOOL)
        os._exit(0)


def _serve(options: ServerOptions, lifeline: socket.socket) -> bool:
    """True when everything has ended, False when tasks still run."""
    from coterie.cluster.this_host import Presence
    from coterie.config.celery import app
    from coterie.config.embedded_worker import EmbeddedWorker
    from coterie.config.monitoring.begin import begin_monitoring
    from coterie.config.own_queue import take_from_own_queue

    refuse_unusable_authority("coterie up")
    tls = read_tls("coterie up")
    config = server_config(tls)
    try:
        begin_monitoring("loop", leads=lambda: True)
    except OSError as error:
        logger.error("metrics cannot be shown on port %d: %s", settings.METRICS_PORT, error.strerror)
        sys.exit(REFUSED)
    begin_tracing("platform")
    server = Server(config, options, lifeline, tls)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    worker, presence = EmbeddedWorker(app), Presence()
    take_from_own_queue(app)
    worker.start()
    presence.begin()
    memory.settle()
    try:
        server.run([socket.socket(fileno=options.listener_fd)])
    finally:
        presence.end()
        finished = worker.stop(within_s=FINISH_TASKS_S)
    return finished


def _use_own_temporary(directory: Path) -> None:
    """Keep temporary files in the state directory, and delete those of a killed server."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700, exist_ok=True)
    tempfile.tempdir = str(directory)


def _prepare(options: ServerOptions) -> None:
    """Bring the tables up to date, and see to it that somebody can sign in. Exits where another version made them."""
    if os.geteuid() == 0:
        logger.warning("the platform runs as root, which it never needs: give it a user of its own")
    try:
        refuse_other()
    except OtherSchema as error:
        logger.error("%s", error)
        sys.exit(REFUSED)
    if changes_to_make():
        call_command("migrate", verbosity=0)
    _finish_key_rotation()
    _see_to_first_operator(options, Path(options.state) / PASSWORD_FILE)
    connection.close()


def _finish_key_rotation() -> None:
    """Finish a rotation of the signing key that a kill interrupted between its statement and its use."""
    from coterie.fleet.signing_keys import use_written_key

    if use_written_key():
        logger.warning("the platform signs with its next key, whose statement was recorded before it was stopped")


def _see_to_first_operator(options: ServerOptions, password_file: Path) -> None:
    from coterie.accounts.models import Operator
    from coterie.accounts.services import create_operator

    if Operator.objects.exists():
        if Operator.objects.filter(last_login__isnull=False).exists():
            password_file.unlink(missing_ok=True)
        return
    operator, password = create_operator(username=options.operator)
    if options.style == "text" and sys.stdout.isatty():
        announce(FirstOperator(name=operator.username, password=password), options.style)
    else:
        write_secret(password_file, password.encode())
        announce(FirstOperator(name=operator.username, password_file=str(password_file)), options.style)


def _end_with_supervisor(lifeline: socket.socket) -> None:
    """Exit with the supervisor: it never writes, so reading returns when it has ended, for whatever reason."""
    with suppress(ConnectionResetError):  # output of ours that it has not read by then comes back as a reset
        while lifeline.recv(1):
            pass
    os._exit(ORPHANED)


if __name__ == "__main__":
    main()
