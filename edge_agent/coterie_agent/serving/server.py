"""The service's process: its threads, its addresses, and the file in which programs find them."""

import gc
import logging
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from coterie_agent.config import Config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, write_private
from coterie_agent.loopback import Address
from coterie_agent.retrying import warn
from coterie_agent.serving.confidence import ConfidenceCounter
from coterie_agent.serving.current import CurrentModel
from coterie_agent.serving.listener import PredictionListener, listen_tcp, listen_unix
from coterie_agent.serving.platform import Platform
from coterie_agent.serving.service import PredictionService
from coterie_agent.serving.shadow_candidate import ShadowCandidate
from coterie_agent.store.database import StoreFull
from coterie_agent.store.latencies import MeasuredDurations
from coterie_agent.store.opened import Store
from coterie_agent.threads import start_guarded
from coterie_wire.conditions import Conditions

log = logging.getLogger(__name__)
_WRITTEN_S = 5.0
"""Seconds between two writes of the figures that ``coterie-agent status`` shows."""
_KNOWN_S = 120.0
"""Seconds for which the conditions last written by the agent count as current."""
_SWITCH_S = 0.0005
"""Python's thread switch interval; with the default of 5 ms, reading one request would delay another."""


class PredictionServer:
    """One service on one home."""

    def __init__(self, home: Home, config: Config, store: Store, stopped: threading.Event) -> None:
        """Load the model, listen, and write serve.json. Setting `stopped` ends `run`.

        Raises AgentError ``serve.port_taken`` or ``serve.bad_socket``.
        """
        settings = config.serving
        self._store, self._file = store, home.serving
        self._current = CurrentModel(store, home, threads=settings.threads)
        self._current.refresh()
        self._beside = ShadowCandidate(store, home, threads=settings.threads)
        self._doubt = ConfidenceCounter(store)
        platform = Platform(home, store, config) if config.platform.send_samples else None
        self._service = PredictionService(self._current, settings, self._beside, self._doubt, platform)
        self._stopped = stopped
        self.failure: AgentError | None = None
        """The error that ended a thread, and with it the service."""
        token = secrets.token_urlsafe(32)
        self._socket = home.root / settings.socket if settings.socket else None
        tcp, unix = _listen(settings.port, self._socket)
        self._listener = PredictionListener(
            self._service.routes(), token=token, connections=settings.connections, tcp=tcp, unix=unix
        )
        url = f"http://127.0.0.1:{tcp.getsockname()[1]}"
        self.address = Address(url=url, token=token, socket=str(self._socket or ""))
        write_private(self._file, msgspec.json.encode(self.address))

    def run(self) -> None:
        """Serve until `stopped` is set, then finish pending answers."""
        sys.setswitchinterval(_SWITCH_S)
        gc.freeze()  # what is loaded stays, and scanning it repeatedly would delay answers
        answering = self._start("requests", self._listener.run)
        self._start("model", self._current.run)
        self._start("beside", self._beside.run)
        log.info("predictions at %s, %s", self.address.url, self.address.socket or "no socket")
        while not self._stopped.wait(_WRITTEN_S):
            self._write_figures()
        self._file.unlink(missing_ok=True)
        if self._socket is not None:
            self._socket.unlink(missing_ok=True)
        self._current.close()
        self._beside.close()
        self._listener.close()
        answering.join()
        self._service.queue.close()
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
            warn(error)

    def _keep_latencies(self) -> None:
        """Store latencies with the conditions that the agent last wrote."""
        status = self._store.journal.status()
        known = status is not None and time.time() - status.at < _KNOWN_S
        conditions = status.conditions if status is not None and known else Conditions()
        for ran, durations in self._service.queue.take_latencies().items():
            self._store.latencies.add(
                MeasuredDurations(
                    pair=ran.pair,
                    version=ran.version,
                    work="predict",
                    form=ran.form,
                    charging=conditions.charging,
                    temperature_c=conditions.temperature_c,
                    durations=durations,
                ),
                now=time.time(),
            )

    def _start(self, name: str, run: Callable[[], None]) -> threading.Thread:
        return start_guarded(name, run, is_stopping=self._stopped.is_set, end=self._fail)

    def _fail(self, failure: AgentError) -> None:
        self.failure = failure
        self._stopped.set()


def _listen(port: int, path: Path | None) -> tuple[socket.socket, socket.socket | None]:
    """Sockets on 127.0.0.1 and, if set, at the path of the Unix socket."""
    try:
        tcp = listen_tcp(port)
    except OSError as error:
        detail = f"port {port} of the predictions: {error.strerror}; choose another in agent.toml, [serving]"
        raise AgentError("serve.port_taken", detail, exit_code=Exit.BAD_CONFIG) from error
    if path is None:
        return tcp, None
    try:
        return tcp, listen_unix(path)
    except OSError as error:
        tcp.close()
        detail = f"the socket {path}: {error.strerror or error}; choose another path in agent.toml, [serving]"
        raise AgentError("serve.bad_socket", detail, exit_code=Exit.BAD_CONFIG) from error
