"""The local API: programs on this device add samples and ask for predictions, on 127.0.0.1 and with a local token."""

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from coterie_agent.config import Config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, write_private
from coterie_agent.ingest.row import JsonRow, RowCheck
from coterie_agent.link.failure import FETCHED_AGAIN
from coterie_agent.loopback import Address, LoopbackServer
from coterie_agent.report import Report, make_report
from coterie_agent.site import Page, Route, Site, decode
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store
from coterie_learning.labelling import LabelKind
from coterie_wire.predictions import Output, Prediction

if TYPE_CHECKING:
    from coterie_agent.predicting import HeldModel


_NO_ROUTES: Mapping[str, Route] = {}
_NO_PAGES: Mapping[str, Page] = {}


class AddSamples(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /samples``."""

    samples: Annotated[list[JsonRow], Meta(min_length=1)]


class Added(msgspec.Struct, frozen=True):
    stored: int
    """Samples of this request."""
    samples: int
    """Samples on the device now."""


class Predict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /predict``."""

    samples: Annotated[list[JsonRow], Meta(min_length=1, max_length=10_000)]


class Predicted(msgspec.Struct, frozen=True):
    version: str
    """Model version that the device holds."""
    personal: bool
    """Whether the device's personal model predicted, or the version itself."""
    predictions: list[Prediction | Output]
    form: str
    """Which form of the version predicted: ``float32`` is the version, or the personal model, itself."""


@dataclass(kw_only=True)
class LocalApi:
    """What the routes do."""

    home: Home
    config: Config
    store: Store
    situation: Situation
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: "HeldModel | None" = None

    def add_samples(self, body: bytes) -> Added:
        return self.add(decode(body, AddSamples), kind="given")

    def add(self, request: AddSamples, *, kind: LabelKind) -> Added:
        """Keep samples, with who said their labels. Raises AgentError ``ingest.*``."""
        model = self.situation.now.model
        check = RowCheck.of_model(model) if model else RowCheck(self.store.samples.widths())
        rows = [check.row(f"sample {index}", row.x, row.y) for index, row in enumerate(request.samples)]
        stored = self.store.samples.add(rows, max_samples=self.config.max_samples, one_width=check.one_width, kind=kind)
        return Added(stored=stored, samples=self.store.samples.count())

    def predict(self, body: bytes) -> Predicted:
        request = decode(body, Predict)
        held = self.held()
        check = RowCheck.of_model(held.manifest.model, labelled=False)
        rows = [check.row(f"sample {index}", row.x, None) for index, row in enumerate(request.samples)]
        return Predicted(
            version=held.manifest.version, personal=held.is_personal, predictions=held.predict(rows), form=held.form
        )

    def held(self) -> "HeldModel":
        """The model in use. Raises as `load_held_model`."""
        with self._lock:
            if self._held is None or not self._is_newest(self._held):
                self._held = self._load()
            return self._held

    def _is_newest(self, held: "HeldModel") -> bool:
        version = self.situation.now.version
        known = self.store.variants.load()
        form = known.chosen if known is not None and known.version == version and not held.is_personal else held.form
        return (held.manifest.version, held.form) == (version, form) and held.stored == self.store.peers.personal()

    def _load(self) -> "HeldModel":
        from coterie_agent.predicting import load_held_model  # only here, as in Worker

        try:
            return load_held_model(self.store, self.home, threads=self.config.threads)
        except AgentError as error:
            if error.code in FETCHED_AGAIN:
                self.situation.lose_model()
            raise

    def status(self, _: bytes) -> Report:
        return make_report(self.home, self.store)


class LocalApiServer:
    """Serves a `LocalApi` from threads of its own."""

    def __init__(
        self, api: LocalApi, *, routes: Mapping[str, Route] = _NO_ROUTES, pages: Mapping[str, Page] = _NO_PAGES
    ) -> None:
        """Listen, and write address and token to local-api.json. Beside `api` it serves other `routes` and `pages`.

        Raises AgentError ``local_api.port_taken``.
        """
        own = {"GET /status": api.status, "POST /samples": api.add_samples, "POST /predict": api.predict}
        site = Site(routes={**own, **routes}, pages=pages)
        try:
            self._server = LoopbackServer(site, token=api.token, port=api.config.local_api_port)
        except OSError as error:
            detail = (
                f"port {api.config.local_api_port} of the local API: {error.strerror}; choose another in agent.toml"
            )
            raise AgentError("local_api.port_taken", detail, exit_code=Exit.BAD_CONFIG) from error
        self._file = api.home.local_api
        self.address = Address(url=f"http://127.0.0.1:{self._server.server_port}", token=api.token)
        write_private(self._file, msgspec.json.encode(self.address))

    def run(self) -> None:
        """Serve until `close`."""
        self._server.run()

    def close(self) -> None:
        self._file.unlink(missing_ok=True)
        self._server.server_close()
