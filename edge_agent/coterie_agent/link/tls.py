"""TLS of connections to the platform: trusted authorities, and the client certificate."""

import logging
import ssl
from pathlib import Path

import urllib3

log = logging.getLogger(__name__)


def client_context(*, ca_file: str | None, certificate: Path | None) -> ssl.SSLContext:
    """A context that trusts `ca_file` (None: the system's authorities), with the client certificate if there is one.

    An unreadable file is not used: the platform then reports a missing certificate, and issues another.
    """
    context = ssl.create_default_context(cafile=ca_file)
    if certificate is not None and certificate.exists():
        try:
            context.load_cert_chain(certificate)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            log.warning("the device's certificate cannot be used: %s: %s", certificate, error)
    return context


def refuses_certificate(error: urllib3.exceptions.HTTPError) -> bool:
    """Whether the other side has ended the handshake because of the client certificate (RFC 8446, 6.2)."""
    cause = error.__context__
    name = cause.reason if isinstance(cause, ssl.SSLError) else None
    return isinstance(name, str) and "ALERT" in name and ("CERTIFICATE" in name or "UNKNOWN_CA" in name)


def speaks_no_tls(error: urllib3.exceptions.HTTPError) -> bool:
    """Whether the other side has answered the handshake with something else."""
    cause = error.__context__
    return isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER"


def cuts_connection(error: urllib3.exceptions.HTTPError) -> bool:
    """Whether the other side has closed an established connection without an answer."""
    return isinstance(error, urllib3.exceptions.ProtocolError) or isinstance(error.__context__, ssl.SSLEOFError)
