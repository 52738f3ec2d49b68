"""The model that the service predicts with: the same as ``coterie-agent predict``, soon after a change."""

import logging
import threading
import time
from dataclasses import replace
from typing import NamedTuple

from coterie_agent.errors import AgentError, Exit, reason_of
from coterie_agent.home import Home
from coterie_agent.link.failure import FETCHED_AGAIN
from coterie_agent.predicting import HeldModel, load_held_model
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import PersonalEdition
from coterie_agent.store.samples import Row
from coterie_agent.store.variants import KnownForms
from coterie_wire.conditions import Reason
from coterie_wire.contract import input_size
from coterie_wire.errors import WireError

log = logging.getLogger(__name__)
POLL_S = 0.25
"""Seconds between two polls of the store."""
_FLOAT_BYTES = 4
_RUNS = 5
"""Warm-up runs of a model before it is used; the fastest gives its run time."""
_ENDED = frozenset({Exit.NOT_JOINED, Exit.NO_MODEL})
"""Exits after which the device predicts with no model, rather than with the previous one."""


class Key(NamedTuple):
    """Identifies the model that predicts, by the store."""

    signature: bytes | None
    """Signature of the held version's manifest."""
    personal: PersonalEdition | None
    form: KnownForms | None
    """The smaller forms of a version."""


class CurrentModel:
    """The current model by the store, which the agent's process writes."""

    def __init__(self, store: Store, home: Home, *, threads: int) -> None:
        self._store, self._home, self._threads = store, home, threads
        self._key: Key | None = None
        self._stopped = threading.Event()
        self.held: HeldModel | None = None
        self.problem: Reason | None = None
        """Why there is no model, or why it is not the newest."""
        self.swaps = 0

    def run(self) -> None:
        """Follow until `close`."""
        while not self._stopped.wait(POLL_S):
            self.refresh()

    def close(self) -> None:
        """End `run`."""
        self._stopped.set()

    def refresh(self) -> None:
        """Load the model of the store if it has changed; keep the previous one while the new one cannot be used.

        The new one is warmed up before it is used, so that no request waits for its first runs.
        """
        key = self._newest()
        if key == self._key:
            return
        try:
            loaded = load_held_model(self._store, self._home, threads=self._threads)
            held = replace(loaded, run_s=min(_timed(loaded) for _ in range(_RUNS)))
        except (AgentError, WireError) as error:
            self._refuse(key, error)
            return
        replaced, self.held, self.problem = self.held, held, None
        # Read again: it may have changed between the two.
        self._key = key if key == self._newest() else None
        self.swaps += replaced is not None
        log.info("predicts with version %s%s", held.manifest.number, ", personal" if held.is_personal else "")

    def _newest(self) -> Key:
        signed = self._store.work.held_model()
        signature = None if signed is None else signed.signature
        return Key(signature, self._store.peers.personal(), self._store.variants.load())

    def _refuse(self, key: Key, error: AgentError | WireError) -> None:
        reason = reason_of(error)
        if reason != self.problem:
            log.warning("%s [%s]", error.detail, error.code)
        self.problem = reason
        if isinstance(error, AgentError) and error.exit_code in _ENDED:
            self.held = None
        if error.code not in FETCHED_AGAIN:  # otherwise it is being downloaded, and is tried again
            self._key = key


def _timed(held: HeldModel) -> float:
    """Seconds that a run on one sample of zeros takes. Raises AgentError as `HeldModel.predict` does."""
    zeros = Row(bytes(input_size(held.manifest.model) * _FLOAT_BYTES), 0)
    began = time.perf_counter()
    held.predict([zeros])
    return time.perf_counter() - began
