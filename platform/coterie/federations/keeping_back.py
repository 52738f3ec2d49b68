"""Candidates worse than the champion, or not finite: how many in a row stay unpublished before a federation pauses.

Where devices' data differ, an average of what they learned may be worse than the champion each time: the next round
begins where this one did, and has the same result.
"""

from datetime import datetime

from coterie.core.durable import reason_columns
from coterie.core.events import notify_consoles
from coterie.federations.models import Federation
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_wire.conditions import Reason

KEPT_BACK = "federations.kept_back"
"""Why a federation has paused itself."""


def is_patience_exhausted(federation: Federation) -> bool:
    """Whether the next candidate is published although it is worse."""
    return federation.patience is not None and federation.kept_back >= federation.patience


def count_kept_back(*, federation: Federation, why: Reason, now: datetime) -> None:
    """Count a candidate that was not published; after `attempts` in a row the federation pauses itself, with a reason.

    The caller holds the federation's row.
    """
    federation.kept_back += 1
    columns: dict[str, object] = {"kept_back": federation.kept_back}
    if federation.state == Federation.State.RUNNING and federation.kept_back >= federation.attempts:
        reason = _what_to_change(federation.kept_back, why)
        columns |= {"state": Federation.State.PAUSED, **reason_columns(reason)}
        facts = {"federation": federation.slug, "code": reason.code, "sentence": reason.sentence}
        announce(Event.FEDERATION_PAUSED, facts, about=federation, now=now)
    Federation.objects.filter(pk=federation.pk).update(**columns)
    notify_consoles("federations")


def count_published(*, federation: Federation) -> None:
    """Reset the count after a candidate was published. The caller holds the federation's row."""
    Federation.objects.filter(pk=federation.pk, kept_back__gt=0).update(kept_back=0)


def _what_to_change(candidates: int, why: Reason) -> Reason:
    return Reason(
        KEPT_BACK,
        f"it paused itself after {candidates} candidates in a row that were not published, the last: "
        f"{why.sentence[:160]}. Allow a larger tolerance, set a patience, or change the plan: fewer epochs, "
        "a smaller learning rate, local prox, more updates a round",
    )
