"""Compares what rules see now with their open incidents: new ones begin, resolved ones end, each is notified once."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from django.db import transaction

from coterie.alerts.models import Channel, Incident, Notice, Rule
from coterie.alerts.watching import Sighting, Situation, sightings
from coterie.core.lease import SKEW
from coterie.core.separation import acting_in


class Changes(NamedTuple):
    """The changes of an evaluation."""

    begin: tuple[Sighting, ...]
    end: tuple[str, ...]
    """Keys of open incidents."""


def changes(open_keys: Collection[str], seen: Iterable[Sighting]) -> Changes:
    """Incidents to begin, and to end: an open incident that is not seen. Uncertain sightings do neither."""
    found = {sighting.key: sighting for sighting in seen}
    begin = tuple(one for one in found.values() if one.is_certain and one.key not in open_keys)
    return Changes(begin, tuple(key for key in open_keys if key not in found))


def evaluate_rules(*, now: datetime) -> None:
    """Evaluate all rules. Each rule is one transaction: a kill leaves it undone or done."""
    situations: dict[int | None, Situation] = {}
    for rule in Rule.objects.filter(is_active=True).select_related("federation"):
        with acting_in(rule.project_id):  # a rule finds what is in its project
            situation = situations.setdefault(rule.project_id, Situation(now=now))
            apply(rule_id=rule.pk, seen=sightings(rule, situation), now=now)


@transaction.atomic
def apply(*, rule_id: int, seen: Iterable[Sighting], now: datetime) -> None:
    """Record what was seen at `now`, unless a later evaluation was recorded meanwhile or the rule is removed or
    paused.
    """
    rule = Rule.objects.select_for_update(no_key=True).filter(pk=rule_id, is_active=True).first()
    if rule is None or (rule.looked_at is not None and now < rule.looked_at <= now + SKEW):
        return
    Rule.objects.filter(pk=rule.pk).update(looked_at=now)
    incidents = {incident.key: incident for incident in rule.incidents.filter(resolved_at=None)}
    begin, end = changes(incidents, seen)
    if not begin and not end:
        return
    ended = [incidents[key] for key in end]
    rule.incidents.filter(pk__in=[incident.pk for incident in ended]).update(resolved_at=now)
    begun = Incident.objects.bulk_create(
        Incident(
            rule=rule,
            key=one.key,
            severity=one.severity,
            sentence=one.sentence[:500],
            path=one.path[:200],
            began_at=now,
        )
        for one in begin
    )
    channels = list(Channel.objects.filter(pk__in=rule.channels, is_active=True))
    Notice.objects.bulk_create(
        Notice(
            incident=incident,
            channel=channel,
            rule_name=rule.name,
            change=change,
            severity=incident.severity,
            sentence=incident.sentence,
            path=incident.path,
            created_at=now,
        )
        for change, some in ((Notice.Change.FIRING, begun), (Notice.Change.RESOLVED, ended))
        for incident in some
        for channel in channels
    )
