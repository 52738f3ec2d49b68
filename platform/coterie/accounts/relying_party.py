"""As whom the platform asks passkeys (WebAuthn, level 3, section 5.1.2): its name, and the address of its pages."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from coterie.core.errors import CoterieError, ErrorKind

LOCAL = "localhost"
"""Browsers trust it without TLS."""
PORTS = {"https": 443, "http": 80}


class PasskeysUnavailable(CoterieError):
    """Browsers use no passkey at an address without TLS or without a name."""

    code = "accounts.passkeys_unavailable"
    kind = ErrorKind.CONFLICT
    sentence = "Passkeys need COTERIE_PUBLIC_URL to be an https address with a name, or the page http://localhost."


@dataclass(frozen=True)
class RelyingParty:
    """What a passkey is made for; it answers nobody else."""

    id: str
    """A host name."""
    origin: str
    """Scheme, name and, where it is not the scheme's own, port."""


def relying_party_of(request: HttpRequest) -> RelyingParty:
    """The one of the platform's public URL; without one, of this machine. Raises PasskeysUnavailable."""
    here = f"{request.scheme}://{request.get_host()}"
    place = urlsplit(settings.PUBLIC_URL or here)
    name = place.hostname or ""
    is_local = name == LOCAL
    if not is_local and (not settings.PUBLIC_URL or place.scheme != "https" or _is_number(name)):
        raise PasskeysUnavailable
    port = "" if place.port in (None, PORTS[place.scheme]) else f":{place.port}"
    return RelyingParty(name, f"{place.scheme}://{name}{port}")


def has_relying_party(request: HttpRequest) -> bool:
    """Whether passkeys can be used where the request came to."""
    try:
        relying_party_of(request)
    except PasskeysUnavailable:
        return False
    return True


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
