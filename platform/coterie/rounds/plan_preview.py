"""What a plan needs of a fleet, and what it would change in a running federation: as sentences, before it is used."""

import math
from datetime import datetime

from coterie.federations.models import Federation
from coterie.federations.previewing import WORDS, PlanChange
from coterie.privacy.accounting import epsilon_of
from coterie.privacy.models import DEFAULT_DELTA, DEFAULT_EPSILON
from coterie.privacy.selectors import cost_under, limit_of, rounds_at_first, rounds_left
from coterie.privacy.streams import stream_of
from coterie.rounds.expected_traffic import ExpectedTraffic
from coterie.rounds.models import Round
from coterie.rounds.selectors import active_round, eligible_devices
from coterie_learning.plan import Plan, parse_plan
from coterie_learning.privacy import Stream

LONG_PAUSE_S = 86_400.0
"""A pause between two rounds that a user who tries a preset for the first time does not expect."""


def notes_on(plan: Plan, *, members: int) -> list[str]:
    """Why a federation of `members` devices could hold no rounds under a plan, or only few, or far apart."""
    pace = plan.pace
    if not pace.holds_rounds():
        return []
    notes = []
    needed = pace.devices_needed()
    if members < needed:
        have = "1 device is" if members == 1 else f"{members:,} devices are"
        notes.append(f"It cannot hold a round yet: one needs {needed:,} devices (pace), and {have} there.")
    stream = stream_of(plan)
    if stream is not None and needed <= members < needed * stream.apart:
        rest = f"a device is in one of {stream.apart:,} rounds, so that {needed * stream.apart:,} devices are needed"
        notes.append(f"It would stand still soon: {rest} (privacy), and {members:,} are there.")
    if pace.pause_after_s() >= LONG_PAUSE_S:
        notes.append(f"Between two rounds it pauses for {pace.pause_after_s() / 86_400:g} days (pace).")
    lasts = rounds_at_first(plan, devices=members)
    if lasts is not None:
        budget = f"{DEFAULT_EPSILON:g} at delta {DEFAULT_DELTA:g}"
        notes.append(f"The privacy budget that a federation begins with, epsilon {budget}, allows {lasts:,} rounds.")
    if stream is not None:
        notes.append(_whole(plan, stream))
    return notes


def note_on_keeping(plan: Plan, traffic: ExpectedTraffic) -> list[str]:
    """How much is stored so that merges can be repeated without a forgotten device."""
    days = plan.forgetting.kept_days()
    if days is None:
        return []
    rounds = days / 30 * traffic.rounds_a_month
    kept = math.ceil(rounds) * (traffic.round_up_bytes + traffic.version_bytes)
    what = f"the updates and versions of {days:,} days" if days > 1 else "the updates and versions of a day"
    each = f"{math.ceil(rounds):,} rounds of {plan.pace.updates_wanted():,} updates"
    return [f"The platform keeps {what} (forgetting): {_sized(kept)} for {each}, if each lasts until its deadline."]


def _sized(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.3g} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:,.3g} TB"


def _whole(plan: Plan, stream: Stream) -> str:
    """The privacy loss of a device that takes part in a stream of releases as often as it may."""
    parts, cost = math.ceil(stream.rounds / stream.apart), cost_under(plan)
    assert cost is not None, "a stream of releases guarantees something"
    loss = f"epsilon {epsilon_of(parts * cost, DEFAULT_DELTA):.3g} at delta {DEFAULT_DELTA:g}"
    return f"All {stream.rounds:,} releases tell {loss} of a device that is in {parts:,} of them, which is the most."


def effects_of(federation: Federation, changes: list[PlanChange], plan: object, *, now: datetime) -> list[str]:
    """When the change applies, what it changes, and whether enough devices are ready for it."""
    if not changes:
        return ["Nothing changes."]
    sentences = [_when(federation)]
    for slot in dict.fromkeys(change.slot for change in changes):
        fields = [change for change in changes if change.slot == slot]
        kind = next((change for change in fields if change.field == "kind"), None)
        what = (
            f"{kind.before} becomes {kind.after}"
            if kind is not None
            else ", ".join(
                f"{change.field} {_written(change.before)} becomes {_written(change.after)}" for change in fields
            )
        )
        sentences.append(f"{WORDS[slot]}: {what}.")
    given = parse_plan(plan)
    if given.pace.holds_rounds():
        needed, ready = given.pace.devices_needed(), eligible_devices(federation, given, now=now).count()
        sentences.append(f"A round needs {needed:,} devices to open; {ready:,} could be asked now.")
        left = rounds_left(federation, given)
        if left is not None:
            limit = limit_of(federation)
            budget = f"epsilon {limit.epsilon:g} at delta {limit.delta:g}"
            sentences.append(f"The privacy budget of {budget} allows {left:,} more rounds, if devices take turns.")
    return sentences


def _when(federation: Federation) -> str:
    round_ = active_round(federation)
    if round_ is not None and round_.state != Round.State.PLANNED:
        return f"Round {round_.number} is {round_.state} and keeps its plan; the change holds from the next round on."
    if federation.state == Federation.State.RUNNING:
        return "The change holds from the next round on, which has not opened yet."
    return f"The federation is {federation.state}: the change holds from its next round on."


def _written(value: object) -> str:
    return "nothing" if value is None else str(value)
