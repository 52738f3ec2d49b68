"""Records why alliances wait, and ends those that cannot continue."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from coterie.alliances import reasons
from coterie.alliances.models import Alliance, Party
from coterie.alliances.selectors import active_alliances
from coterie.alliances.transitions import STEPS, end
from coterie.core.resting import LONGEST_S
from coterie.fleet.models import Device
from coterie_wire.alliances import AllianceFigures

AWAY_AFTER = timedelta(seconds=30)


def sweep(*, now: datetime) -> float:
    """Check all alliances that have not ended. Returns seconds until the next check."""
    active = list(active_alliances().values_list("pk", flat=True))
    for key in active:
        check_alliance(alliance_id=key, now=now)
    return 0.0 if active else LONGEST_S


@transaction.atomic
def check_alliance(*, alliance_id: UUID, now: datetime) -> None:
    """Record its progress, or which party is away; end it where a device has left."""
    alliance = Alliance.objects.select_for_update(no_key=True).filter(pk=alliance_id, state__in=Alliance.ACTIVE).first()
    if alliance is None:
        return
    parties = list(Party.objects.filter(alliance=alliance).select_related("device"))
    gone = [party for party in parties if party.device.state != Device.State.ENROLLED]
    if gone or len(parties) < 2:
        name = gone[0].device.name if gone else "a device that was forgotten"
        end(alliance, Alliance.State.FAILED, reason=reasons.party_left(name), now=now)
    elif alliance.state == Alliance.State.WAITING:
        missing = [party.device.name for party in parties if party.key is None]
        STEPS.explain(alliance, reasons.needs_consent(missing))
    else:
        _explain(alliance, parties, now)


def _explain(alliance: Alliance, parties: list[Party], now: datetime) -> None:
    for party in parties:
        if party.finished_at is None and party.seen_at is not None and now - party.seen_at > AWAY_AFTER:
            seconds = AWAY_AFTER.total_seconds()
            STEPS.explain(alliance, reasons.partner_away(party.device.name, seconds=seconds))
            return
    if not alliance.common:
        STEPS.explain(alliance, reasons.aligning())
        return
    figures = AllianceFigures(common=alliance.common, epoch=alliance.epoch)
    STEPS.explain(alliance, reasons.training(figures, epochs=alliance.terms["epochs"]))
