"""Passes ended rounds to exporters, each once, in the order of their ends; rounds never wait for it."""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from coterie.core.rows import insert_all
from coterie.exports.errors import NotTaken
from coterie.exports.facts import fact_of
from coterie.exports.installed import chosen_exporters
from coterie.exports.interface import Exporter
from coterie.exports.models import Exported, ExportedUntil
from coterie.rounds.models import Round

logger = logging.getLogger(__name__)
AT_ONCE = 50
"""Rounds of one call of an exporter."""
SETTLED = timedelta(hours=1)
"""So long after a round's end every process sees it, despite differing clocks and long transactions."""


def sweep(*, now: datetime) -> None:
    """Pass each exporter its next rounds; one that fails does not stop the others."""
    for name, exporter in chosen_exporters().items():
        try:
            export_next(name, exporter, now=now)
        except NotTaken as error:
            logger.warning("%s [%s]", error, error.code)


def export_next(name: str, exporter: Exporter, *, now: datetime) -> int:
    """Have `exporter` store the next rounds; returns how many. A kill repeats them. Raises NotTaken.

    Where none wait, those that ended long ago are not queried again.
    """
    rounds = list(waiting_for(name)[:AT_ONCE])
    if rounds:
        exporter.export([fact_of(round_) for round_ in rounds])
        insert_all([Exported(exporter=name, round=one, state=one.state, at=now) for one in rounds], or_nothing=True)
    elif not ExportedUntil.objects.filter(exporter=name, until__gte=now - 2 * SETTLED).exists():
        record_exported(exporter=name, until=now - SETTLED)
    return len(rounds)


@transaction.atomic
def record_exported(*, exporter: str, until: datetime) -> None:
    """Record that it has stored every round that had ended by `until`."""
    mark, _ = ExportedUntil.objects.select_for_update(no_key=True).get_or_create(
        exporter=exporter, defaults={"until": until}
    )
    if mark.until < until:
        mark.until = until
        mark.save(update_fields=["until"])


def waiting_for(exporter: str) -> QuerySet[Round]:
    """Ended rounds that it has not stored, in the order of their ends."""
    until = ExportedUntil.objects.filter(exporter=exporter).values_list("until", flat=True).first()
    kept = Exported.objects.filter(exporter=exporter, round=OuterRef("pk"), state=OuterRef("state"))
    ended = Round.objects.filter(state__in=[Round.State.PUBLISHED, Round.State.ABANDONED], finished_at__isnull=False)
    ended = ended if until is None else ended.filter(finished_at__gt=until)
    related = ("federation", "merge__result_version__pair", "merge__result_version__parameters")
    return ended.exclude(Exists(kept)).select_related(*related).order_by("finished_at", "pk")
