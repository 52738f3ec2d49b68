"""Which devices the platform has excluded, as far as this one has heard, from the platform or from others."""

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
"""Devices whose lists' times are known."""


@dataclass
class Exclusions:
    """Safe to use from several threads."""

    trusted: Callable[[], tuple[bytes, ...]]
    """The platform's keys, which may change while the agent runs."""
    keep: Callable[[SignedManifest], None] = lambda _: None
    """Keeps the newest list."""
    devices: frozenset[str] = frozenset()
    written_at: float = 0.0
    """When the list was written, in seconds since 1970; 0: there is none."""
    signed: SignedManifest | None = None
    """The list."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _known: dict[str, float] = field(default_factory=dict)
    """By device, when its list was written, as it said last."""

    def hear(self, signed: SignedManifest) -> None:
        """The platform's list, whoever brings it; an older one changes nothing. Raises WireError ``bundle.*``."""
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
            except AgentError as error:  # it holds until the agent ends, and is heard of again
                log.warning("the list of excluded devices is not kept: %s", error.detail)
        if new:
            log.info("the platform has excluded %d more devices, which are turned away from now on", len(new))

    def hear_from(self, device: str, news: ExclusionNews) -> None:
        """What another one told; a list that the platform has not signed is not used."""
        with self._lock:
            self._known.pop(device, None)
            self._known[device] = news.written_at
            if len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]
        if news.signed is not None:
            try:
                self.hear(news.signed)
            except WireError as error:
                log.info("device %s has a list of excluded devices that is not used: %s", device, error.detail)

    def news_for(self, device: str) -> ExclusionNews:
        """What it is to be told: the list, too, once it has said that its own is older."""
        with self._lock:
            is_behind = self._known.get(device, self.written_at) < self.written_at
            return ExclusionNews(self.written_at, self.signed if is_behind else None)

    def check_may_call(self, device: str) -> None:
        """Raises Unreachable where the platform has excluded it."""
        if device in self.devices:
            raise Unreachable(f"the platform has excluded device {device}")
