"""Closing a round whose updates supernodes hold: accept no further update, and wait for the partial sums."""

from datetime import datetime

from django.db.models import Q, QuerySet

from coterie.rounds import reasons
from coterie.rounds.jobs import ADVANCE
from coterie.rounds.models import Assignment, Round, Route
from coterie.rounds.transitions import end_assignments


def held_routes(round_: Round) -> QuerySet[Route]:
    """Routes whose updates a supernode holds and that are not counted yet."""
    held = Route.objects.filter(assignment__round=round_, held_at__isnull=False, assignment__update=None)
    return held.filter(assignment__state__in=Assignment.UNENDED).order_by("pk")


def has_held_updates(round_: Round) -> bool:
    """Whether supernodes hold updates of an open round."""
    return round_.parsed_plan().topology.fan_in() is not None and held_routes(round_).exists()


def begin_gathering(*, round_: Round, now: datetime) -> None:
    """Accept no further update in an open round; release devices that have not delivered.

    The caller holds the round's row.
    """
    if round_.gathers_since is None:
        late = Assignment.objects.filter(Q(route=None) | Q(route__held_at=None), round=round_)
        end_assignments(late, Assignment.State.RELEASED, reason=reasons.CLOSED, now=now)
        round_.gathers_since, round_.places = now, 0
        round_.save(update_fields=["gathers_since", "places"])
    ADVANCE.send(federation=str(round_.federation_id))
