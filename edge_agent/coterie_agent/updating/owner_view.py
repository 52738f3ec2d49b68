"""The agent's releases on the owner's page: what it shows, and the owner's decisions there."""

import time
from http import HTTPStatus
from typing import Literal

import msgspec

from coterie_agent import VERSION
from coterie_agent.config import UpdateSettings
from coterie_agent.home import Home
from coterie_agent.site import RequestError
from coterie_agent.situation import Now
from coterie_agent.updating.consent import agree, agree_always, postpone, release_consent
from coterie_agent.updating.offer import Offer, offer_of
from coterie_agent.updating.support import why_not
from coterie_agent.versions.state import Ended, Versions
from coterie_wire.conditions import Reason

_DAY_S = 86_400.0


class UpdatesView(msgspec.Struct, frozen=True):
    """The agent's release and its updates, as the page shows them."""

    version: str
    """The running release."""
    refuses: Reason | None
    """Why no other release is installed; None: one may be."""
    take: Literal["off", "ask", "on"]
    """As set in agent.toml."""
    always: bool
    """Whether the owner has agreed to all releases on the page."""
    offer: Offer | None
    """The release that the platform requests and that waits; None: there is none."""
    agreed: bool
    """Whether the owner has agreed to it, so that it waits for something else."""
    put_off_until: float | None
    """Unix time until which the owner is not asked about it; None: not postponed."""
    waits: Reason | None
    """What it waits for."""
    last: Ended | None
    """How the latest update ended."""


class UpdateDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /updates``: the owner's decision."""

    say: Literal["agree", "later", "always", "ask"]
    """On the offered release: yes, not for a day; on all releases: yes, ask about each."""
    version: str = ""
    """The offered release, so that the decision applies to no other."""


def updates_view(home: Home, settings: UpdateSettings, now: Now) -> UpdatesView:
    """The current view."""
    consent, state = release_consent(home), Versions(home.versions).read()
    offer = _offered(home, now)
    return UpdatesView(
        version=VERSION,
        refuses=why_not(home, settings),
        take=settings.take,
        always=consent.always,
        offer=offer,
        agreed=offer is not None and consent.agrees_to(offer.version),
        put_off_until=None if offer is None else consent.postponed_until(offer.version, now=time.time()),
        waits=None if offer is None else now.update_wait,
        last=state.ended[-1] if state is not None and state.ended else None,
    )


def record_update_decision(home: Home, decision: UpdateDecision, now: Now) -> None:
    """Record the owner's decision. Raises RequestError ``updates.not_offered``, or OSError."""
    if decision.say in ("always", "ask"):
        agree_always(home, decision.say == "always")
        return
    offer = _offered(home, now)
    if offer is None or offer.version != decision.version:
        detail = f"agent {decision.version[:40]!r} is not offered any more; load the page again"
        raise RequestError(HTTPStatus.CONFLICT, "updates.not_offered", detail)
    if decision.say == "agree":
        agree(home, offer.version)
    else:
        postpone(home, offer.version, until=time.time() + _DAY_S)


def _offered(home: Home, now: Now) -> Offer | None:
    update = now.directive.update if now.directive else None
    if update is None or update.to_do != "install" or now.update_wait is None:
        return None
    return offer_of(home, update.version)
