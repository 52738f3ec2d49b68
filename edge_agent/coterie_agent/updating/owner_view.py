"""What the owner's page shows of the agent itself, and what the owner says there."""

import time
from http import HTTPStatus
from typing import Literal

import msgspec

from coterie_agent import VERSION
from coterie_agent.config import UpdateSettings
from coterie_agent.home import Home
from coterie_agent.site import RequestError
from coterie_agent.situation import Now
from coterie_agent.updating.consent import agree, agree_always, owners_word, put_off
from coterie_agent.updating.offer import Offer, offer_of
from coterie_agent.updating.support import why_not
from coterie_agent.versions.state import Ended, Versions
from coterie_wire.conditions import Reason

_DAY_S = 86_400.0


class UpdatesView(msgspec.Struct, frozen=True):
    """The agents of this device."""

    version: str
    """That runs."""
    refuses: Reason | None
    """Why no other is installed; None: one may be."""
    take: Literal["off", "ask", "on"]
    """As agent.toml says."""
    always: bool
    """The owner has agreed to all releases on the page."""
    offer: Offer | None
    """The release that the platform asks for and that waits; None: none does."""
    agreed: bool
    """The owner has agreed to that one; it waits for something else."""
    put_off_until: float | None
    """Unix time until which he is not asked about it; None: he is."""
    waits: Reason | None
    """What it waits for."""
    last: Ended | None
    """How the latest update ended."""


class SayOnUpdates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /updates``: the owner's word."""

    say: Literal["agree", "later", "always", "ask"]
    """To the release that is offered: yes, not for a day; to all of them: yes, ask about each."""
    version: str = ""
    """Which one is offered, so that the word holds for no other."""


def updates_view(home: Home, settings: UpdateSettings, now: Now) -> UpdatesView:
    """As things stand."""
    word, standing = owners_word(home), Versions(home.versions).read()
    offer = _offered(home, now)
    return UpdatesView(
        version=VERSION,
        refuses=why_not(home, settings),
        take=settings.take,
        always=word.always,
        offer=offer,
        agreed=offer is not None and word.agrees_to(offer.version),
        put_off_until=None if offer is None else word.put_off_until(offer.version, now=time.time()),
        waits=None if offer is None else now.update_wait,
        last=standing.ended[-1] if standing is not None and standing.ended else None,
    )


def hear(home: Home, said: SayOnUpdates, now: Now) -> None:
    """Take the owner's word. Raises RequestError ``updates.not_offered``, or OSError."""
    if said.say in ("always", "ask"):
        agree_always(home, said.say == "always")
        return
    offer = _offered(home, now)
    if offer is None or offer.version != said.version:
        detail = f"agent {said.version[:40]!r} is not offered any more; load the page again"
        raise RequestError(HTTPStatus.CONFLICT, "updates.not_offered", detail)
    if said.say == "agree":
        agree(home, offer.version)
    else:
        put_off(home, offer.version, until=time.time() + _DAY_S)


def _offered(home: Home, now: Now) -> Offer | None:
    update = now.directive.update if now.directive else None
    if update is None or update.to_do != "install" or now.update_wait is None:
        return None
    return offer_of(home, update.version)
