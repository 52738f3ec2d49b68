"""What happened to a federation beside its rounds: the marks on its charts, each with a sentence.

The audit log, roll-outs and help requests explain changes in the figures of rounds; here they are merged into one list.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from django.db.models import Count, Max, Min
from django.db.models.functions import TruncDay

from coterie.audit.models import Entry
from coterie.federations.models import Federation
from coterie.federations.previewing import PlanChange, changes_between
from coterie.registry.models import Alias, ModelVersion, Role
from coterie.rollouts.models import Rollout
from coterie.rounds.models import Round
from coterie.transfer.models import HelpRequest

Kind = Literal["plan", "terms", "started", "paused", "finished", "moved", "trial", "promoted", "rolled_back", "drift"]
KINDS: tuple[Kind, ...] = (
    "plan",
    "terms",
    "started",
    "paused",
    "finished",
    "moved",
    "trial",
    "promoted",
    "rolled_back",
    "drift",
)
MOST = 200
"""At most so many of each source, and in all: the newest."""
MOST_FIELDS = 3
"""At most so many changed fields of a plan are named."""


@dataclass(frozen=True)
class Annotation:
    """Something that happened at one moment."""

    at: datetime
    kind: Kind
    label: str
    """A word or two, for beside a mark."""
    sentence: str


STATES: Mapping[str, tuple[Kind, str, str]] = {
    "federations.start_federation": ("started", "started", "started it"),
    "federations.pause_federation": ("paused", "paused", "paused it"),
    "federations.finish_federation": ("finished", "finished", "finished it"),
    "federations.change_terms": ("terms", "terms", "changed by what its candidates are judged"),
}
CHANGES = ("federations.change_plan", *STATES)
MOVES = ("registry.roll_back", "federations.adopt_versions")


def annotations_of(federation: Federation) -> list[Annotation]:
    """The newest `MOST`, oldest first."""
    found = [*_operated(federation), *_moved(federation), *_tried(federation), *_drifted(federation)]
    return sorted([*found, *_paused_itself(federation)], key=lambda one: one.at)[-MOST:]


def _operated(federation: Federation) -> Iterable[Annotation]:
    """What operators did to the federation."""
    entries = Entry.objects.filter(
        subject_kind=Federation._meta.label_lower, subject_id=str(federation.pk), action__in=CHANGES
    )
    for entry in entries[:MOST]:
        if entry.action in STATES:
            kind, label, did = STATES[entry.action]
            yield Annotation(entry.at, kind, label, f"{entry.actor_name} {did}.")
        elif (named := _changed_fields(entry)) != "":
            yield Annotation(entry.at, "plan", "plan", f"{entry.actor_name} changed its plan: {named}.")


def _changed_fields(entry: Entry) -> str:
    """As in "local learning rate 0.1 → 0.05"; blank where the plan is unchanged."""
    before, after = (cast(Mapping[str, object], side.get("plan") or {}) for side in (entry.before, entry.after))
    changes = changes_between(before, after)
    named = [
        f"{change.slot} {_named(change.field)} {_written(change, change.before)} → {_written(change, change.after)}"
        for change in changes[:MOST_FIELDS]
    ]
    return ", ".join([*named, *([f"{len(changes) - MOST_FIELDS} more"] if len(changes) > MOST_FIELDS else [])])


def _named(field: str) -> str:
    """The field's name as words, without its unit, which is written with the value."""
    return field.removesuffix("_s").replace("_", " ")


def _written(change: PlanChange, value: object) -> str:
    if value is None:
        return "none"
    number = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{number} s" if change.field.endswith("_s") else number


def _moved(federation: Federation) -> Iterable[Annotation]:
    """Moves of its devices to another version by an operator."""
    aliases = Alias.objects.filter(pair=federation.pair_id, role=Role.DEVICE, lineage=federation.lineage())
    names = [str(pk) for pk in aliases.values_list("pk", flat=True)]
    entries = list(
        Entry.objects.filter(subject_kind=Alias._meta.label_lower, subject_id__in=names, action__in=MOVES)[:MOST]
    )
    ids = {str(side["version_id"]) for entry in entries for side in (entry.before, entry.after) if "version_id" in side}
    numbers = {str(pk): n for pk, n in ModelVersion.objects.filter(pk__in=ids).values_list("pk", "number")}
    for entry in entries:
        left, taken = (numbers.get(str(side.get("version_id"))) for side in (entry.before, entry.after))
        if taken is None:
            continue
        way = "back to" if left is not None and taken < left else "to"
        moved = f"{entry.actor_name} moved the devices {way} version {taken}"
        why = str(entry.after.get("why", ""))
        yield Annotation(entry.at, "moved", f"{way} {taken}", f"{moved}: {why.rstrip('.')}." if why else f"{moved}.")


def _tried(federation: Federation) -> Iterable[Annotation]:
    """Versions that a canary group tried, and how each trial ended."""
    ends: Mapping[str, tuple[Kind, str]] = {
        Rollout.State.PROMOTED: ("promoted", "promoted"),
        Rollout.State.ROLLED_BACK: ("rolled_back", "rolled back"),
        Rollout.State.CANCELLED: ("rolled_back", "stopped"),
    }
    rollouts = Rollout.objects.filter(federation=federation, begun_at__isnull=False).select_related("version")
    for rollout in rollouts[:MOST]:
        number = rollout.version.number
        assert rollout.begun_at is not None, "those that have not begun are left out"
        yield Annotation(rollout.begun_at, "trial", f"{number} tried", f"A canary group was given version {number}.")
        if rollout.ended_at is not None:
            kind, word = ends[rollout.state]
            why = f": {rollout.reason_sentence}" if rollout.reason_sentence else ""
            yield Annotation(rollout.ended_at, kind, f"{number} {word}", f"Version {number} was {word}{why}.")


def _drifted(federation: Federation) -> Iterable[Annotation]:
    """Devices whose models failed on their new data, one mark a day."""
    requests = HelpRequest.objects.filter(federation=federation).order_by()
    days = requests.annotate(day=TruncDay("asked_at")).values("day")
    for day in days.annotate(first=Min("asked_at"), devices=Count("device", distinct=True)).order_by("-day")[:MOST]:
        many = day["devices"]
        who = "A device" if many == 1 else f"{many} devices"
        sentence = f"{who} met data that {'its' if many == 1 else 'their'} model fails on, and asked for help."
        yield Annotation(day["first"], "drift", "drift", sentence)


def _paused_itself(federation: Federation) -> Iterable[Annotation]:
    """The federation paused itself, without an operator: since the end of its last round."""
    if federation.state != Federation.State.PAUSED or not federation.reason_code:
        return
    at = Round.objects.filter(federation=federation).aggregate(last=Max("finished_at"))["last"]
    if at is not None:
        sentence = federation.reason_sentence
        yield Annotation(at, "paused", "paused itself", f"{sentence[:1].upper()}{sentence[1:]}.")
