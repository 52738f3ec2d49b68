"""The certificate of this device's connections, in steps of which each may be the last before a kill (ADR 111).

The key is on the disk before the platform hears of it. Where the answer is lost the same key is certified once more.
"""

import logging
import threading
import time
from typing import Protocol, TypeVar

from coterie_agent.certificate_request import certificate_request
from coterie_agent.errors import AgentError
from coterie_agent.store.certificates import CertificateFiles
from coterie_wire.certificates import AskCertificate, Certified, proven_content
from coterie_wire.message import Message

log = logging.getLogger(__name__)
R = TypeVar("R", bound=Message)
APART_S = 15.0
"""Least seconds between two attempts: a refused certificate is noticed by every thread that talks to the platform."""


class CertificateLink(Protocol):
    """The way to the platform, which shows the certificate as soon as it is stored."""

    def call(self, message: Message, reply: type[R]) -> R: ...


class Certifying:
    """What changes the certificate of this device."""

    def __init__(self, files: CertificateFiles, link: CertificateLink) -> None:
        self._files, self._link = files, link
        self._lock = threading.Lock()
        self._not_before = 0.0  # on the monotonic clock

    def certify(self) -> bool:
        """Draw a key, have the platform certify it, show the certificate. Whether that was done."""
        with self._lock:
            if time.monotonic() < self._not_before:
                return False
            self._not_before = time.monotonic() + APART_S
            try:
                key = self._files.draw_key()
                request = certificate_request(key)
                content = proven_content(request)
                proofs = tuple(former.sign(content).signature for former in self._files.former_keys())
                certified = self._link.call(AskCertificate(request=request, proofs=proofs), Certified)
                self._files.use(key, certified.chain)
            except AgentError as error:
                log.warning("the device has no new certificate yet: %s [%s]", error.detail, error.code)
                return False
            except OSError as error:
                log.warning("the device has no new certificate yet: %s", error)
                return False
        log.info("the device has another certificate for its connections")
        return True
