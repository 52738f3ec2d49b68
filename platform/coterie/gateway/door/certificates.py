"""The client certificate of a connection: checked by our own server, or passed on in a header by a trusted proxy.

A proxy that ends TLS passes the certificate on as RFC 9440 says (``:BASE64 OF DER:``), without the colons (Traefik), or
as nginx does (percent-encoded PEM). From any other sender the header is ignored.
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
"""Key of a scope: SHA-256 of the certificate (DER), in hexadecimal digits; blank: none was presented."""


def showing(application: ASGI3Application, transport: BaseTransport) -> ASGI3Application:
    """`application`, with each scope given the certificate of a connection that our own server has secured."""
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
    """SHA-256 of the certificate of a request from `peer`, blank where there is none. `own`: that of the connection
    itself.

    A trusted proxy's connection has the proxy's own certificate. A header that cannot be parsed counts as no
    certificate. Where the platform issues no certificates, the header is ignored: a proxy that does not know it passes
    on whatever a client writes there.
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
    first = text.partition(b",")[0]  # certificates of authorities may follow
    return base64.b64decode(first.strip(b":"), validate=True)  # binascii.Error is a ValueError
