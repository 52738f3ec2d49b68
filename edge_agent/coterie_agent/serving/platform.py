"""The last fallback: the platform predicts samples sent to it, where the plan and the owner allow it."""

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date

from coterie_agent.config import Config
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.link.failure import Refused
from coterie_agent.link.http import HttpLink
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row
from coterie_agent.variants import FLOAT32
from coterie_wire.fallback import AskPlatform, PlatformAnswer

log = logging.getLogger(__name__)
AT_ONCE = 3
"""Simultaneous requests to the platform."""
REST_S = 5.0
"""Seconds without a request after a failed one, unless the platform states the time."""
_OF_THE_SAMPLES = frozenset({413, 422})
"""HTTP statuses caused by the samples, which do not affect the next request."""


def form_of(answer: PlatformAnswer) -> str:
    """The form that predicted: ``cloud`` is the cloud model, ``float32`` the version of the device model."""
    return "cloud" if answer.model == "cloud" else FLOAT32


class Platform:
    """Requests predictions from the platform; methods are called from many threads."""

    def __init__(self, home: Home, store: Store, config: Config) -> None:
        """`config` must allow samples to be sent."""
        self._store = store
        self.after_s = config.platform.after_ms / 1000
        self._link = HttpLink(
            store.identity.get().url,
            credential=None,
            record_sent=self._record_sent,
            ca_file=config.ca_file,
            certificate=home.certificate,
        )
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="platform")
        self._lock = threading.Lock()
        self._under_way = 0
        self._not_before = 0.0  # on the monotonic clock

    def ask(self, rows: Sequence[Row], *, remaining_s: float) -> "Future[PlatformAnswer] | None":
        """A future of the answer, or of an AgentError; None: the platform is not to be asked now."""
        offer = self._store.platform_offer.load()
        if offer is None or len(rows) > offer.samples or remaining_s <= 0 or self._store.work.is_masked():
            return None
        with self._lock:
            if self._under_way >= AT_ONCE or time.monotonic() < self._not_before:
                return None
            self._under_way += 1
        message = AskPlatform(offer.federation, tuple(row.x for row in rows), remaining_s)
        return self._pool.submit(self._call, message)

    def _call(self, message: AskPlatform) -> PlatformAnswer:
        try:
            self._link.use_credential(self._store.identity.credential())  # the agent may have renewed it
            answer = self._link.call(message, PlatformAnswer)
            if len(answer.predictions) != len(message.samples):
                raise AgentError("serve.wrong_answer", "the platform has answered another number of samples")
        except AgentError as error:
            log.warning("the platform does not answer: %s [%s]", error.detail, error.code)
            if not isinstance(error, Refused) or error.status not in _OF_THE_SAMPLES:
                wait_s = error.wait_s if isinstance(error, Refused) else REST_S
                with self._lock:
                    self._not_before = time.monotonic() + (REST_S if wait_s is None else wait_s)
            raise
        finally:
            with self._lock:
                self._under_way -= 1
        return answer

    def _record_sent(self, what: str, size_bytes: int) -> None:
        self._store.journal.record_sent(what, size_bytes, day=date.today().isoformat())  # the owner's day
