"""Which certificate a connection shows: our own server has checked it, or a trusted proxy says so in a header.

A proxy that ends TLS passes the certificate on: as RFC 9440 has it (``:BASE64 OF DER:``), without the colons (Traefik),
or as nginx does (percent-encoded PEM). From anybody else the header means nothing.
"""

import base64
import hashlib
import logging
import ssl
from asyncio import BaseTransport
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import unquote_to_bytes

from django.conf import settings
from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope

from coterie.gateway.door.proxies import Proxies

logger = logging.getLogger(__name__)
CERTIFICATE = "coterie.certificate"
"""Key of a scope: SHA-256 of the certificate (DER), in hexadecimal digits; blank: none is shown."""


def showing(application: ASGI3Application, transport: BaseTransport) -> ASGI3Application:
    """`application`, with the certificate of a connection that our own server has secured in each scope."""
    tls = transport.get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert(binary_form=True)
    if certificate is None:
        return application
    sha256 = hashlib.sha256(certificate).hexdigest()

    async def told(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        cast(dict[str, Any], scope)[CERTIFICATE] = sha256  # Any: what a scope holds
        await application(scope, receive, send)

    return told


def certificate_of(peer: str, own: str, headers: Mapping[bytes, bytes], proxies: Proxies) -> str:
    """SHA-256 of the certificate that a request from `peer` shows, blank where it shows none.

    `own`: what our own server has seen of the connection. That of a trusted proxy's is the proxy's own. What a proxy
    passes on and nobody can read is nobody's certificate. Where the platform gives no certificates, nobody shows one:
    a proxy that does not know the header passes on whatever a client writes there.
    """
    if settings.DEVICE_CERTIFICATES == "off":
        return ""
    if peer not in proxies:
        return own
    passed_on = headers.get(settings.CLIENT_CERT_HEADER, b"").strip()
    if not passed_on:
        return ""
    try:
        return hashlib.sha256(_der(passed_on)).hexdigest()
    except ValueError as error:
        logger.warning("the proxy at %s passes a certificate on that cannot be read: %s", peer, error)
        return hashlib.sha256(passed_on).hexdigest()


def _der(header: bytes) -> bytes:
    """Raises ValueError."""
    text = unquote_to_bytes(header)
    if text.startswith(b"-----BEGIN"):
        return ssl.PEM_cert_to_DER_cert(text.decode("ascii"))
    first = text.partition(b",")[0]  # those of authorities may follow
    return base64.b64decode(first.strip(b":"), validate=True)  # binascii.Error is a ValueError
