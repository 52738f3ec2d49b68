"""What each kind of rule sees now: a function from the database to sightings."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from django.db.models import Max, QuerySet

from coterie.alerts.models import Rule, Severity
from coterie.federations.models import Federation
from coterie.fleet.presence import is_on_time
from coterie.fleet.selectors import enrolled_devices
from coterie.privacy.selectors import rounds_left
from coterie.registry.models import Role
from coterie.registry.selectors import champion
from coterie.repairs.faults import Repair, find_faults
from coterie.repairs.services import unmuted
from coterie.rounds.models import Round

GOING_ON = (Federation.State.RUNNING, Federation.State.PAUSED)


@dataclass(frozen=True)
class Sighting:
    """Something that a rule watches for; a healthy state is no sighting."""

    key: str
    """The same as long as it is the same fault."""
    severity: str
    sentence: str
    path: str
    """Of the REST API."""
    is_certain: bool = True
    """False: its state is unknown or muted, so that nothing begins and nothing ends."""


class Situation:
    """The platform at one moment, read once for all rules."""

    def __init__(self, *, now: datetime) -> None:
        self.now = now

    @cached_property
    def faults(self) -> list[Repair]:
        """All faults."""
        return find_faults(now=self.now)

    @cached_property
    def unmuted_keys(self) -> frozenset[str]:
        """Keys of the faults that are not muted."""
        return frozenset(repair.key for repair in unmuted(self.faults, now=self.now))


def sightings(rule: Rule, situation: Situation) -> list[Sighting]:
    """The sightings of `rule`; one for each thing."""
    return list(WATCHERS[Rule.Kind(rule.kind)](rule, situation))


def kind_of(repair: Repair) -> str:
    """The kind of fault: the first part of its key."""
    return repair.key.partition(":")[0]


def _repairs(rule: Rule, situation: Situation) -> Iterator[Sighting]:
    for repair in situation.faults:
        wanted = not rule.code or rule.code in (repair.code, kind_of(repair))
        if wanted and (rule.least == Severity.WARNING or repair.severity == Severity.ERROR.value):
            yield _of_fault(repair, situation)


def _failed_jobs(_rule: Rule, situation: Situation) -> Iterator[Sighting]:
    yield from (_of_fault(repair, situation) for repair in situation.faults if kind_of(repair) == "job_failed")


def _of_fault(repair: Repair, situation: Situation) -> Sighting:
    path = next((remedy.path for remedy in repair.remedies if remedy.method == "GET"), "")
    return Sighting(repair.key, repair.severity, repair.sentence, path, is_certain=repair.key in situation.unmuted_keys)


def _accuracy(rule: Rule, _situation: Situation) -> Iterator[Sighting]:
    """A champion without a measurement gives no sighting."""
    for federation in _federations(rule).filter(state__in=GOING_ON):
        version = champion(federation.pair_id, Role.DEVICE, federation.lineage())
        if version is None:
            continue
        measured = version.metrics.get("accuracy")
        known = isinstance(measured, int | float)
        if known and measured >= _threshold(rule):
            continue
        sentence = f"The champion of {federation.name}, version {version.number}, has an accuracy of " + (
            f"{measured:.1%}, below {_threshold(rule):.1%}." if known else "unknown."
        )
        path = f"/api/versions/{version.pk}/"
        yield Sighting(f"accuracy:{federation.pk}", rule.severity, sentence, path, is_certain=known)


def _online(rule: Rule, situation: Situation) -> Iterator[Sighting]:
    federation = rule.federation
    devices = enrolled_devices(tag="" if federation is None else federation.device_tag).filter(project=rule.project_id)
    enrolled = devices.count()
    present = devices.filter(is_on_time(situation.now)).count()
    if enrolled and present / enrolled >= _threshold(rule):
        return
    whose = "the fleet" if federation is None else federation.name
    share = f"{present:,} of {enrolled:,} devices"
    sentence = f"{share} of {whose} are online, fewer than {_threshold(rule):.0%}."
    yield Sighting("online", rule.severity, sentence, "/api/devices/?status=absent", is_certain=enrolled > 0)


def _unpublished(rule: Rule, situation: Situation) -> Iterator[Sighting]:
    """A federation that has never published a round is counted from the opening of its first."""
    hours = _threshold(rule)
    for federation in _federations(rule).filter(state=Federation.State.RUNNING):
        published = federation.rounds.filter(state=Round.State.PUBLISHED).aggregate(at=Max("finished_at"))["at"]
        first = federation.rounds.order_by("number").values_list("opens_at", flat=True).first()
        since = published or first
        if since is None or situation.now - since <= timedelta(hours=hours):
            continue
        sentence = f"{federation.name} has published no round for more than {hours:g} h" + (
            "." if published else ", nor ever before."
        )
        path = f"/api/federations/{federation.pk}/"
        yield Sighting(f"unpublished:{federation.pk}", rule.severity, sentence, path)


def _rounds_left(rule: Rule, _situation: Situation) -> Iterator[Sighting]:
    """A plan without a privacy budget has no limit."""
    for federation in _federations(rule).filter(state__in=GOING_ON):
        left = rounds_left(federation, federation.parsed_plan())
        if left is None or left >= _threshold(rule):
            continue
        sentence = f"The privacy budgets of {federation.name} pay {left} more rounds, fewer than {_threshold(rule):g}."
        path = f"/api/federations/{federation.pk}/"
        yield Sighting(f"rounds_left:{federation.pk}", rule.severity, sentence, path)


def _federations(rule: Rule) -> QuerySet[Federation]:
    found = Federation.objects.filter(archived_at=None)
    return found if rule.federation_id is None else found.filter(pk=rule.federation_id)


def _threshold(rule: Rule) -> float:
    assert rule.threshold is not None, "rules that compare have a threshold"
    return rule.threshold


WATCHERS: Mapping[Rule.Kind, Callable[[Rule, Situation], Iterator[Sighting]]] = {
    Rule.Kind.REPAIR: _repairs,
    Rule.Kind.JOB_FAILED: _failed_jobs,
    Rule.Kind.ACCURACY_BELOW: _accuracy,
    Rule.Kind.ONLINE_BELOW: _online,
    Rule.Kind.UNPUBLISHED_FOR: _unpublished,
    Rule.Kind.ROUNDS_LEFT_BELOW: _rounds_left,
}
