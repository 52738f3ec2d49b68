"""Another credential in the place of this device's, in steps of which each may be the last before a kill (ADR 72).

The credential is on the disk before the platform hears its hash, and is used only after the platform has said that it
takes it; until the first check-in with it the platform takes both.
"""

import hashlib
import logging
import threading
from typing import Protocol, TypeVar

from coterie_agent.errors import AgentError
from coterie_agent.store.identity import IdentityStore
from coterie_wire.message import Message
from coterie_wire.messages import Done, NextCredential

log = logging.getLogger(__name__)
R = TypeVar("R", bound=Message)


class CredentialLink(Protocol):
    """The way to the platform that shows the credential."""

    def call(self, message: Message, reply: type[R]) -> R: ...

    def use_credential(self, credential: str) -> None: ...


class Renewing:
    """What changes the credential of a running agent."""

    def __init__(self, identity: IdentityStore, link: CredentialLink) -> None:
        self._identity, self._link = identity, link
        self._lock = threading.Lock()

    def renew(self) -> bool:
        """Draw a credential, have the platform take it, use it. Whether that was done; the platform asks again."""
        try:
            drawn = self._identity.draw_credential()
            self._link.call(NextCredential(sha256=hashlib.sha256(drawn.encode()).hexdigest()), Done)
            with self._lock:
                self._identity.use_drawn_credential()
                self._link.use_credential(drawn)
        except AgentError as error:
            log.warning("the credential is not renewed yet: %s [%s]", error.detail, error.code)
            return False
        except OSError as error:
            log.warning("the credential is not renewed yet: %s", error)
            return False
        log.info("the device has another credential")
        return True

    def use_former_credential(self) -> bool:
        """The platform does not know the credential, as after it was restored from a backup: whether another is left.

        Raises OSError, and AgentError ``agent.no_credential``.
        """
        with self._lock:
            if not self._identity.use_former_credential():
                return False
            self._link.use_credential(self._identity.credential())
        log.warning("the platform does not know this device's credential; trying the one before")
        return True
