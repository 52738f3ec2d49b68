"""For old rounds, one timestamp for each exporter replaces the row for each exported round."""

from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Max, Q, QuerySet

from coterie.core.pruning import OldRows
from coterie.exports.models import Exported
from coterie.exports.services import record_exported, waiting_for


def old_exported(before: datetime) -> QuerySet[Exported]:
    """Rows of rounds that ended before any that their exporter still has to export."""
    exporters = Exported.objects.order_by().values_list("exporter", flat=True).distinct()
    known = [_before_all_that_wait(exporter) for exporter in exporters]
    old = Exported.objects.filter(at__lt=before, round__finished_at__lt=before)
    return old.filter(reduce(or_, known, Q(pk__in=()))).order_by("at")


def note_until(rows: QuerySet[Exported]) -> None:
    """Before rows are deleted: record that rounds that ended as early count as exported."""
    latest = rows.order_by().values("exporter").annotate(until=Max("round__finished_at"))
    for exporter, until in latest.values_list("exporter", "until"):
        record_exported(exporter=exporter, until=until)


def _before_all_that_wait(exporter: str) -> Q:
    next_round = waiting_for(exporter).first()
    if next_round is None:
        return Q(exporter=exporter)
    return Q(exporter=exporter, round__finished_at__lt=next_round.finished_at)


OLD_ROWS = (OldRows("notes of exported rounds", old_exported, fold=note_until),)
