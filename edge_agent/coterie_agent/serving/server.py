"""The service's process: its threads, its addresses, and the file that tells programs of them."""

import dataclasses
import logging
import secrets
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from coterie_agent.config import Config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, write_private
from coterie_agent.loopback import Address, LoopbackServer, Site, UnixServer
from coterie_agent.serving.current import CurrentModel
from coterie_agent.serving.service import PredictionService
from coterie_agent.store.database import StoreFull
from coterie_agent.store.opened import Store

log = logging.getLogger(__name__)
_WRITTEN_S = 5.0
"""Seconds between two writings of the figures that ``coterie-agent status`` shows."""
_SWITCH_S = 0.0005
"""After how long a thread of Python gives way to another; with the usual 5 ms reading one request delays another."""
_GRACE_S = 2.0
"""For answers that are on their way when the service is told to stop."""


class PredictionServer:
    """One service on one home."""

    def __init__(self, home: Home, config: Config, store: Store, stopped: threading.Event) -> None:
        """Load the model, listen, and write serve.json. Setting `stopped` ends `run`.

        Raises AgentError ``serve.port_taken`` or ``serve.bad_socket``.
        """
        settings = config.serving
        self._store, self._file = store, home.serving
        self._current = CurrentModel(store, home, threads=settings.threads)
        self._current.look()
        self._service = PredictionService(self._current, settings)
        self._stopped = stopped
        self.failure: AgentError | None = None
        """What ended a thread, and with it the service."""
        site = Site(
            routes=self._service.routes(),
            token=secrets.token_urlsafe(32),
            failed=HTTPStatus.SERVICE_UNAVAILABLE,
            keeps_connections=True,
            connections=settings.connections,
        )
        socket = str(home.root / settings.socket) if settings.socket else ""
        self._servers = _listen(site, settings.port, socket)
        url = f"http://127.0.0.1:{self._servers[0].server_port}"
        self.address = Address(url=url, token=site.token or "", socket=socket)
        write_private(self._file, msgspec.json.encode(self.address))

    def run(self) -> None:
        """Serve until `stopped` is set, then answer what is on its way."""
        sys.setswitchinterval(_SWITCH_S)
        predicting = self._start("predictions", self._service.queue.run)
        self._start("model", self._current.run)
        for server in self._servers:
            self._start("requests", server.run)
        log.info("predictions at %s, %s", self.address.url, self.address.socket or "no socket")
        while not self._stopped.wait(_WRITTEN_S):
            self._write_figures()
        self._file.unlink(missing_ok=True)
        for server in self._servers:
            server.shutdown()
            server.server_close()
        self._current.close()
        self._service.queue.close()
        predicting.join(_GRACE_S)
        self._write_figures()
        if self.failure is not None:
            raise self.failure

    def _write_figures(self) -> None:
        try:
            self._store.journal.write_serving(self._service.status())
        except StoreFull as error:  # readers see older ones; the service continues
            log.warning("%s", error.detail)

    def _start(self, name: str, run: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=self._guarded, args=(run,), name=name, daemon=True)
        thread.start()
        return thread

    def _guarded(self, run: Callable[[], None]) -> None:
        """A failed thread ends the service: with a part of its threads it would only seem to answer."""
        try:
            run()
        except Exception as error:  # the outermost loop of each thread
            if not self._stopped.is_set():
                log.exception("thread %s failed", threading.current_thread().name)
                self.failure = AgentError("agent.failed", f"{type(error).__name__}: {error}")
                self._stopped.set()


def _listen(site: Site, port: int, socket: str) -> list[LoopbackServer]:
    """On 127.0.0.1, and on the Unix socket where there is to be one, whose file's mode stands for the token."""
    try:
        servers = [LoopbackServer(site, port=port)]
    except OSError as error:
        detail = f"port {port} of the predictions: {error.strerror}; choose another in agent.toml, [serving]"
        raise AgentError("serve.port_taken", detail, exit_code=Exit.BAD_CONFIG) from error
    if socket:
        try:
            servers.append(UnixServer(dataclasses.replace(site, token=None), socket))
        except OSError as error:
            servers[0].server_close()
            detail = f"the socket {socket}: {error.strerror or error}; choose another path in agent.toml, [serving]"
            raise AgentError("serve.bad_socket", detail, exit_code=Exit.BAD_CONFIG) from error
    return servers
