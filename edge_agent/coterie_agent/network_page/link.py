"""The link that signs a phone in, and its QR code for a terminal."""

import io
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from coterie_agent.config import PageSettings
from coterie_agent.device import own_address
from coterie_agent.home import Home
from coterie_agent.network_page.address import page_address
from coterie_agent.network_page.certificate import page_certificate
from coterie_agent.network_page.installed import check_installed
from coterie_agent.store.phones import PhoneStore

LINK_S = 3600.0
"""Seconds for which a link is valid; it can be used once."""
_SECRET_BYTES = 32
_MARGIN = 2
"""Light modules around the code: half of what the standard requires, which phones read as well."""
_LIGHT_ON_BLACK, _PLAIN = "\x1b[97;40m", "\x1b[0m"
OFF_NETWORK = "to open it from your phone: on_network = true under [page] in agent.toml, then start the agent again"


class PageFound(NamedTuple):
    """The page's address and certificate, for phones."""

    authority: str
    """``HOST:PORT``."""
    fingerprint: str
    """SHA-256 of its certificate."""


@dataclass(frozen=True)
class PageLink:
    """A link with its secret in the fragment, which browsers do not send to servers."""

    url: str
    fingerprint: str
    """SHA-256 of the page's certificate."""

    def lines(self, *, coloured: bool) -> list[str]:
        """Lines for a terminal: the QR code, the link, and notes on them."""
        return [
            *qr_lines(self.url, coloured=coloured),
            f"for your phone, on this network: {self.url}",
            f"it is good once, within {LINK_S / 60:.0f} minutes; whoever opens it can do what you can on the page",
            "the phone warns of a certificate that it does not know, which is this device's own; its SHA-256:",
            self.fingerprint,
        ]


def find_page(home: Home, settings: PageSettings, platform: str) -> PageFound:
    """The page's address once the agent runs; `platform`: its URL. A certificate is created if there is none.

    Raises AgentError ``relay.no_address`` or ``page.*``.
    """
    check_installed()
    address = page_address(settings, partial(own_address, platform))
    certificate = page_certificate(home.page_certificate, address.host, datetime.now(UTC))
    return PageFound(address.authority, certificate.fingerprint)


def offer_link(phones: PhoneStore, authority: str, fingerprint: str, *, now: float) -> PageLink:
    """A new link, in place of the one before; `authority`: ``HOST:PORT``, `now`: in seconds since 1970."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    phones.offer(secret, until=now + LINK_S)
    return PageLink(f"https://{authority}/#{secret}", fingerprint)


def qr_lines(text: str, *, coloured: bool) -> list[str]:
    """A QR code (ISO/IEC 18004) of half blocks, two modules a character, light ones drawn.

    Uncoloured, it is meant for terminals with a dark background. Needs ``coterie-agent[page]``.
    """
    import segno  # only here: most devices do not have it

    drawn = io.StringIO()
    segno.make_qr(text, error="l").terminal(drawn, border=_MARGIN, compact=True)
    lines = drawn.getvalue().splitlines()
    return [f"{_LIGHT_ON_BLACK}{line}{_PLAIN}" for line in lines] if coloured else lines
