"""The self-signed certificate of the page: browsers ask their user whether to trust it.

ECDSA on P-256, since no browser accepts Ed25519 from a server. Needs ``coterie-agent[page]``.
"""

import ssl
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from coterie_agent.errors import AgentError
from coterie_agent.home import write_private

if TYPE_CHECKING:  # it takes 12 MB, and most devices serve no page on a network
    from cryptography import x509

LIFE = timedelta(days=800)
"""Apple's browsers accept at most 825 days."""
RENEWED = timedelta(days=30)
"""Time before expiry at which it is renewed."""
_CLOCKS_DIFFER = timedelta(days=1)


@dataclass(frozen=True)
class PageCertificate:
    """A certificate with its key, in one file for TLS."""

    file: Path
    fingerprint: str
    """SHA-256 of the certificate, as browsers show it: ``AB:CD:…``."""

    def context(self) -> ssl.SSLContext:
        """A server's context: TLS 1.2 and later. Raises AgentError ``page.no_certificate``."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.file)
        except OSError as error:
            raise _unusable(self.file, error) from error
        return context


def page_certificate(file: Path, host: str, now: datetime) -> PageCertificate:
    """The certificate in `file` if it is valid for `host`; else a new one, which phones ask about again.

    Raises AgentError ``page.no_certificate``.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    try:
        certificate = _load(file, host, now)
        if certificate is None:
            content = _draw(host, now)
            write_private(file, content)
            certificate = x509.load_pem_x509_certificate(content)
    except OSError as error:
        raise _unusable(file, error) from error
    digest = sha256(certificate.public_bytes(Encoding.DER)).hexdigest().upper()
    return PageCertificate(file, ":".join(digest[at : at + 2] for at in range(0, len(digest), 2)))


def _unusable(file: Path, error: OSError) -> AgentError:
    return AgentError("page.no_certificate", f"the certificate of the page, {file}: {error.strerror or error}")


def _load(file: Path, host: str, now: datetime) -> "x509.Certificate | None":
    """The stored certificate; None: missing, damaged, for another host, or about to expire."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        content = file.read_bytes()
        found = x509.load_pem_x509_certificate(content)
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        fits = load_pem_private_key(content, None).public_key() == found.public_key()
    except (FileNotFoundError, ValueError, x509.ExtensionNotFound):
        return None
    lasts = found.not_valid_before_utc <= now <= found.not_valid_after_utc - RENEWED
    return found if fits and lasts and list(names) == [_name(host)] else None


def _draw(host: str, now: datetime) -> bytes:
    """A new key and its certificate (PEM)."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = generate_private_key(SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Coterie, on this device")])
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + LIFE)
        .add_extension(x509.SubjectAlternativeName([_name(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return secret + certificate.public_bytes(Encoding.PEM)


def _name(host: str) -> "x509.GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
