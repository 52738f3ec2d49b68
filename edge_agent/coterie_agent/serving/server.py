"""The service's process: its threads, its addresses, and the file that tells programs of them."""

import logging
import secrets
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from coterie_agent.config import Config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, write_private
from coterie_agent.loopback import Address, LoopbackServer, UnixServer
from coterie_agent.serving.beside import CandidateBeside
from coterie_agent.serving.current import CurrentModel
from coterie_agent.serving.doubt import Doubt
from coterie_agent.serving.platform import Platform
from coterie_agent.serving.service import PredictionService
from coterie_agent.site import Site
from coterie_agent.store.database import StoreFull
from coterie_agent.store.latencies import Measured
from coterie_agent.store.opened import Store
from coterie_agent.threads import start_guarded
from coterie_wire.conditions import Conditions

log = logging.getLogger(__name__)
_WRITTEN_S = 5.0
"""Seconds between two writings of the figures that ``coterie-agent status`` shows."""
_KNOWN_S = 120.0
"""How long what the agent last wrote of its conditions is taken for the present."""
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
        self._beside = CandidateBeside(store, home, threads=settings.threads)
        self._doubt = Doubt(store)
        platform = Platform(home, store, config) if config.platform.send_samples else None
        self._service = PredictionService(self._current, settings, self._beside, self._doubt, platform)
        self._stopped = stopped
        self.failure: AgentError | None = None
        """What ended a thread, and with it the service."""
        site = Site(
            routes=self._service.routes(),
            failed=HTTPStatus.SERVICE_UNAVAILABLE,
            keeps_connections=True,
            connections=settings.connections,
        )
        socket = str(home.root / settings.socket) if settings.socket else ""
        token = secrets.token_urlsafe(32)
        self._servers = _listen(site, token, settings.port, socket)
        url = f"http://127.0.0.1:{self._servers[0].server_port}"
        self.address = Address(url=url, token=token, socket=socket)
        write_private(self._file, msgspec.json.encode(self.address))

    def run(self) -> None:
        """Serve until `stopped` is set, then answer what is on its way."""
        sys.setswitchinterval(_SWITCH_S)
        predicting = self._start("predictions", self._service.queue.run)
        self._start("model", self._current.run)
        self._start("beside", self._beside.run)
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
        self._beside.close()
        self._service.queue.close()
        predicting.join(_GRACE_S)
        self._write_figures()
        if self.failure is not None:
            raise self.failure

    def _write_figures(self) -> None:
        try:
            self._store.journal.write_serving(self._service.status())
            self._keep_latencies()
            self._beside.write()
            self._doubt.write()
        except StoreFull as error:  # readers see older ones; the service continues
            log.warning("%s", error.detail)

    def _keep_latencies(self) -> None:
        """Those of the conditions that the agent, which reads them, last wrote down."""
        status = self._store.journal.status()
        known = status is not None and time.time() - status.at < _KNOWN_S
        conditions = status.conditions if status is not None and known else Conditions()
        for ran, durations in self._service.queue.take_latencies().items():
            self._store.latencies.add(
                Measured(
                    pair=ran.pair,
                    version=ran.version,
                    work="predict",
                    form=ran.form,
                    charging=conditions.charging,
                    temperature_c=conditions.temperature_c,
                    durations=durations,
                )
            )

    def _start(self, name: str, run: Callable[[], None]) -> threading.Thread:
        return start_guarded(name, run, is_stopping=self._stopped.is_set, end=self._fail)

    def _fail(self, failure: AgentError) -> None:
        self.failure = failure
        self._stopped.set()


def _listen(site: Site, token: str, port: int, socket: str) -> list[LoopbackServer]:
    """On 127.0.0.1, and on the Unix socket where there is to be one, whose file's mode stands for the token."""
    try:
        servers = [LoopbackServer(site, token=token, port=port)]
    except OSError as error:
        detail = f"port {port} of the predictions: {error.strerror}; choose another in agent.toml, [serving]"
        raise AgentError("serve.port_taken", detail, exit_code=Exit.BAD_CONFIG) from error
    if socket:
        try:
            servers.append(UnixServer(site, socket))
        except OSError as error:
            servers[0].server_close()
            detail = f"the socket {socket}: {error.strerror or error}; choose another path in agent.toml, [serving]"
            raise AgentError("serve.bad_socket", detail, exit_code=Exit.BAD_CONFIG) from error
    return servers
