"""Removes files that nobody needs: updates of rounds that ended a while ago, and uploads that were given up."""

from datetime import datetime, timedelta

from coterie.rounds.files import UPDATES, discard_part, parts_on_disk
from coterie.rounds.models import Round, Update, Upload

RETENTION = timedelta(days=7)
"""How long after a round's end its updates stay, for whoever wants to merge them again."""
ROUNDS_AT_ONCE = 100


def tidy(*, now: datetime) -> None:
    """Remove what is older than the retention; what is broken off half-way is finished the next time."""
    ended = Round.objects.filter(finished_at__lt=now - RETENTION, tidied_at=None)[:ROUNDS_AT_ONCE]
    for round_ in ended:
        _remove_updates(round_)
        Round.objects.filter(pk=round_.pk).update(tidied_at=now)
    arriving = set(Upload.objects.values_list("assignment_id", flat=True))
    for assignment_id in parts_on_disk().keys() - arriving:
        discard_part(assignment_id)


def _remove_updates(round_: Round) -> None:
    """An update's file goes unless a round that is kept has the same content."""
    hashes = set(Update.objects.filter(assignment__round=round_).values_list("sha256", flat=True))
    kept = Update.objects.filter(sha256__in=hashes, assignment__round__tidied_at=None).exclude(assignment__round=round_)
    for sha256 in hashes - set(kept.values_list("sha256", flat=True)):
        UPDATES.delete(sha256)
