"""TLS that the platform's own server speaks, where no proxy does: it asks devices for their certificates."""

import asyncio
import logging
import ssl
import sys
from datetime import UTC, datetime
from pathlib import Path

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from coterie.config.server_options import REFUSED
from coterie.core.errors import CoterieError

logger = logging.getLogger(__name__)
NO_CHECK_TIME = ssl.VerifyFlags(0x200000)
"""OpenSSL's ``X509_V_FLAG_NO_CHECK_TIME``: the platform knows when a certificate ends, and tells its device, where
asyncio would cut the connection without a word."""
LOOK_EVERY_S = 60.0
"""How soon a renewed certificate of the server is used, and another authority of devices trusted."""


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
            # Optional: who enrols, a device whose certificate has expired, and browsers come without one.
            self.context.verify_mode = ssl.CERT_OPTIONAL
            self.context.verify_flags |= NO_CHECK_TIME

    def look(self) -> None:
        """Use the server's certificate anew where its files have changed, and trust authorities that came.

        One that is gone from the list stays trusted by this process: whoever it certifies must be a device's all the
        same. Raises OSError, DatabaseError or CoterieError.
        """
        self._load()
        if settings.DEVICE_CERTIFICATES != "off":
            from coterie.fleet.authority import trusted_authorities

            self.context.load_verify_locations(cadata=trusted_authorities(now=datetime.now(UTC)))

    async def keep_current(self) -> None:
        """Look from time to time; what fails is logged, and tried again."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await sync_to_async(self._look_and_close)()
            except (OSError, DatabaseError, InterfaceError, CoterieError) as error:
                logger.error("the server's certificates cannot be read anew: %s", error)

    def _look_and_close(self) -> None:
        try:
            self.look()
        finally:
            connection.close()

    def _load(self) -> None:
        files = [self._certificate, *([] if self._key is None else [self._key])]
        read_at = tuple(file.stat().st_mtime_ns for file in files)
        if read_at != self._read_at:
            self.context.load_cert_chain(self._certificate, self._key)
            self._read_at = read_at


def read_tls(prog: str) -> ServerTls | None:
    """What the settings want; None: a proxy ends TLS. Exits, so that another start does not help, where it cannot be.

    Django must be set up, and its tables there.
    """
    if settings.TLS_CERTIFICATE is None:
        return None
    try:
        tls = ServerTls(settings.TLS_CERTIFICATE, settings.TLS_KEY)
        tls.look()
    except (OSError, DatabaseError, InterfaceError, CoterieError) as error:
        logger.error("%s: cannot speak TLS with %s: %s", prog, settings.TLS_CERTIFICATE, error)
        sys.exit(REFUSED)
    finally:
        connection.close()
    return tls
