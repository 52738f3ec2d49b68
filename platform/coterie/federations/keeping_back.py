"""Rounds that end without a version, and will again: how many in a row there are before a federation pauses itself.

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


def count_kept_back(*, federation: Federation, why: Reason, advice: str, now: datetime) -> None:
    """Count a candidate that was not published; after `attempts` in a row the federation pauses itself.

    `advice` is the sentence that says what to change. The caller holds the federation's row.
    """
    federation.kept_back += 1
    Federation.objects.filter(pk=federation.pk).update(kept_back=federation.kept_back)
    if federation.kept_back >= federation.attempts:
        rounds = "a round" if federation.kept_back == 1 else f"{federation.kept_back} rounds in a row"
        sentence = f"it paused itself after {rounds} without a version, the last: {why.sentence[:200]}. {advice}"
        pause_itself(federation=federation, reason=Reason(KEPT_BACK, sentence), now=now)
    notify_consoles("federations")


def pause_itself(*, federation: Federation, reason: Reason, now: datetime) -> None:
    """Pause a federation that would not get anywhere, for `reason`; one that does not run stays as it is."""
    running = Federation.objects.filter(pk=federation.pk, state=Federation.State.RUNNING)
    if running.update(state=Federation.State.PAUSED, **reason_columns(reason)):
        facts = {"federation": federation.slug, "code": reason.code, "sentence": reason.sentence}
        announce(Event.FEDERATION_PAUSED, facts, about=federation, now=now)
        notify_consoles("federations")


def count_published(*, federation: Federation) -> None:
    """Reset the count after a candidate was published. The caller holds the federation's row."""
    Federation.objects.filter(pk=federation.pk, kept_back__gt=0).update(kept_back=0)
