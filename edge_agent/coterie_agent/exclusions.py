"""The devices that the platform has excluded, by the newest signed list received from the platform or from peers."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from coterie_agent.errors import AgentError
from coterie_agent.link.failure import Unreachable
from coterie_wire.bundle import SignedManifest, read_signed
from coterie_wire.errors import WireError
from coterie_wire.exclusion import Excluded, ExclusionNews

log = logging.getLogger(__name__)
_REMEMBERED = 1024
"""Devices of which the time of their list is remembered."""


@dataclass
class Exclusions:
    """The newest list of excluded devices; safe to use from several threads."""

    trusted: Callable[[], tuple[bytes, ...]]
    """The platform's keys, which may change while the agent runs."""
    keep: Callable[[SignedManifest], None] = lambda _: None
    """Stores the newest list."""
    devices: frozenset[str] = frozenset()
    written_at: float = 0.0
    """When the list was written, in seconds since 1970; 0: there is none."""
    signed: SignedManifest | None = None
    """The signed list; None: there is none."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _known: dict[str, float] = field(default_factory=dict)
    """By device, when its list was written, as it last reported."""

    def receive(self, signed: SignedManifest) -> None:
        """Take over a list that the platform has signed; an older one is ignored. Raises WireError ``bundle.*``."""
        with self._lock:
            if self.signed is not None and signed.manifest == self.signed.manifest:
                return
            excluded = read_signed(signed, Excluded, *self.trusted())
            if excluded.written_at <= self.written_at:
                return
            new = frozenset(excluded.devices) - self.devices
            self.devices, self.written_at, self.signed = frozenset(excluded.devices), excluded.written_at, signed
            try:
                self.keep(signed)
            except AgentError as error:  # it applies until the agent ends, and will be received again
                log.warning("the list of excluded devices is not kept: %s", error.detail)
        if new:
            log.info("the platform has excluded %d more devices, which are turned away from now on", len(new))

    def receive_from(self, device: str, news: ExclusionNews) -> None:
        """Take over what the peer `device` sent; a list that the platform has not signed is not used."""
        with self._lock:
            self._known.pop(device, None)
            self._known[device] = news.written_at
            if len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]
        if news.signed is not None:
            try:
                self.receive(news.signed)
            except WireError as error:
                log.info("device %s has a list of excluded devices that is not used: %s", device, error.detail)

    def news_for(self, device: str) -> ExclusionNews:
        """What to send to the peer `device`: the time of the list, and the list itself if the peer's is older."""
        with self._lock:
            is_behind = self._known.get(device, self.written_at) < self.written_at
            return ExclusionNews(self.written_at, self.signed if is_behind else None)

    def check_may_call(self, device: str) -> None:
        """Raises Unreachable where the platform has excluded it."""
        if device in self.devices:
            raise Unreachable(f"the platform has excluded device {device}")
