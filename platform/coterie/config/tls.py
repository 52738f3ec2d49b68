"""TLS of the platform's own server, where no proxy ends it: it requests devices' certificates."""

import asyncio
import logging
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from coterie.config.server_options import REFUSED
from coterie.core.errors import CoterieError

logger = logging.getLogger(__name__)
NO_CHECK_TIME = ssl.VerifyFlags(0x200000)
"""OpenSSL's ``X509_V_FLAG_NO_CHECK_TIME``: the platform checks when a certificate ends, and tells its device, where
asyncio would close the connection without an explanation.
"""
REFRESH_EVERY_S = 60.0
"""How soon a renewed certificate of the server is used, and a new authority of devices trusted."""


class ServerTls:
    """The context of all connections, kept current while the server runs."""

    def __init__(self, certificate: Path, key: Path | None) -> None:
        """Raises OSError where the files cannot be used."""
        self._certificate, self._key = certificate, key
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._read_at: tuple[int, ...] = ()
        self._load()
        if settings.DEVICE_CERTIFICATES != "off":
            # Optional: enrolling devices, those with an expired certificate, and browsers come without one.
            self.context.verify_mode = ssl.CERT_OPTIONAL
            self.context.verify_flags |= NO_CHECK_TIME

    def refresh(self) -> None:
        """Reload the server's certificate if its files have changed, and trust new authorities.

        A removed authority stays trusted by this process: certificates are compared with their devices in any case.
        Raises OSError, DatabaseError or CoterieError.
        """
        self._load()
        if settings.DEVICE_CERTIFICATES != "off":
            from coterie.fleet.authority import trusted_authorities

            self.context.load_verify_locations(cadata=trusted_authorities(now=datetime.now(UTC)))

    async def keep_current(self) -> None:
        """Refresh it periodically; failures are logged, and retried."""
        while True:
            await asyncio.sleep(REFRESH_EVERY_S)
            try:
                await sync_to_async(self._refresh_and_close)()
            except (OSError, DatabaseError, InterfaceError, CoterieError) as error:
                logger.error("the server's certificates cannot be read anew: %s", error)

    def _refresh_and_close(self) -> None:
        try:
            self.refresh()
        finally:
            connection.close()

    def _load(self) -> None:
        files = [self._certificate, *([] if self._key is None else [self._key])]
        read_at = tuple(file.stat().st_mtime_ns for file in files)
        if read_at != self._read_at:
            try:
                self.context.load_cert_chain(self._certificate, self._key)
            except ssl.SSLError as error:
                if error.reason != "KEY_VALUES_MISMATCH":
                    raise
                raise OSError(f"{self._key or 'the key in it'} is not the key of its first certificate") from error
            self._read_at = read_at


def read_tls(prog: str) -> ServerTls | None:
    """The configured TLS; None: a proxy ends TLS. Exits with REFUSED where it cannot be used.

    Django must be set up, and its tables must exist.
    """
    if settings.TLS_CERTIFICATE is None:
        return None
    with _refusing(prog, f"cannot speak TLS with {settings.TLS_CERTIFICATE}"):
        tls = ServerTls(settings.TLS_CERTIFICATE, settings.TLS_KEY)
        tls.refresh()
    return tls


def refuse_unusable_authority(prog: str) -> None:
    """Exits with REFUSED where devices are to have certificates that this platform cannot sign.

    Django must be set up, and its tables must exist.
    """
    from coterie.fleet.authority import present_authority  # its models need Django set up

    if settings.DEVICE_CERTIFICATES != "off":
        with _refusing(prog, "cannot sign devices' certificates"):
            present_authority(now=datetime.now(UTC))


@contextmanager
def _refusing(prog: str, what: str) -> Iterator[None]:
    """Exits with REFUSED where the block fails, and closes its connection to the database."""
    try:
        yield
    except CoterieError as error:
        logger.error("%s: %s [%s]", prog, error, error.code)
        sys.exit(REFUSED)
    except (OSError, DatabaseError, InterfaceError) as error:
        logger.error("%s: %s: %s", prog, what, error)
        sys.exit(REFUSED)
    finally:
        connection.close()
