"""What another plan would do to a federation that runs: as sentences, before it is given it."""

from datetime import datetime

from coterie.federations.models import Federation
from coterie.federations.previewing import WORDS, PlanChange
from coterie.rounds.models import Round
from coterie.rounds.selectors import active_round, eligible_devices
from coterie_learning.plan import parse_plan


def effects_of(federation: Federation, changes: list[PlanChange], plan: object, *, now: datetime) -> list[str]:
    """When it holds, what becomes different, and whether enough devices are there for it."""
    if not changes:
        return ["Nothing changes."]
    sentences = [_when(federation)]
    for slot in dict.fromkeys(change.slot for change in changes):
        fields = [change for change in changes if change.slot == slot]
        kind = next((change for change in fields if change.field == "kind"), None)
        told = (
            f"{kind.before} becomes {kind.after}"
            if kind is not None
            else ", ".join(f"{change.field} {_told(change.before)} becomes {_told(change.after)}" for change in fields)
        )
        sentences.append(f"{WORDS[slot]}: {told}.")
    pace = parse_plan(plan).pace
    if pace.holds_rounds():
        needed, ready = pace.devices_needed(), eligible_devices(federation, now=now).count()
        sentences.append(f"A round needs {needed:,} devices to open; {ready:,} could be asked now.")
    return sentences


def _when(federation: Federation) -> str:
    round_ = active_round(federation)
    if round_ is not None and round_.state != Round.State.PLANNED:
        return f"Round {round_.number} is {round_.state} and keeps its plan; the change holds from the next round on."
    if federation.state == Federation.State.RUNNING:
        return "The change holds from the next round on, which has not opened yet."
    return f"The federation is {federation.state}: the change holds from its next round on."


def _told(value: object) -> str:
    return "nothing" if value is None else str(value)
