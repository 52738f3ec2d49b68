"""Versions on their way through canary groups: promoted ones, one that was taken back, one that is being tried."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

import msgspec

from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion
from coterie.rollouts import reasons
from coterie.rollouts.advancing import shadow_figures
from coterie.rollouts.models import Rollout, Trial
from coterie.seeding.latencies import OF_A_STEP, drawn_durations
from coterie_learning.rollout.comparison import Comparison, compare
from coterie_wire.conditions import Reason

EARLIER = 4
"""Roll-outs that ended well before the latest one."""
TOLD = 0.6
"""Share of a group that has reported on a candidate while it is being tried."""
SHADOWED = 0.7
"""Share of a group whose programs have asked for predictions meanwhile, which the candidate answered unseen."""
GAIN, LOSS = 0.006, -0.051
"""By how much more often a candidate is right than the champion: one that is promoted, and one that is taken back."""


def try_versions(
    federation: Federation,
    *,
    champion: ModelVersion,
    candidate: ModelVersion,
    members: Sequence[Device],
    random: Random,
) -> None:
    """Promoted the champion and those before it; the candidate is being tried, or was taken back, and rounds paused."""
    promoted = champion
    for _ in range(EARLIER):
        if promoted.parent is None:
            break
        _roll_out(federation, promoted, promoted.parent, Rollout.State.PROMOTED, members, random)
        promoted = promoted.parent
    is_running = federation.state == Federation.State.RUNNING
    latest = Rollout.State.MEASURING if is_running else Rollout.State.ROLLED_BACK
    _roll_out(federation, candidate, champion, latest, members, random)


def _roll_out(
    federation: Federation,
    candidate: ModelVersion,
    champion: ModelVersion,
    state: Rollout.State,
    members: Sequence[Device],
    random: Random,
) -> None:
    terms = federation.parsed_plan().rollout
    begun_at = candidate.created_at + timedelta(seconds=2)
    ended_at = None if state == Rollout.State.MEASURING else begun_at + timedelta(minutes=random.uniform(20, 50))
    rollout = Rollout(
        federation=federation,
        version=candidate,
        champion=champion,
        terms=msgspec.to_builtins(terms),
        state=state,
        created_at=candidate.created_at,
        begun_at=begun_at,
        due_at=begun_at + timedelta(seconds=terms.patience_s()),
        ended_at=ended_at,
    )
    group = random.sample(list(members), terms.group_size(len(members)))
    telling = round(TOLD * len(group)) if ended_at is None else len(group)
    gain = LOSS if state == Rollout.State.ROLLED_BACK else GAIN
    trials = [
        _trial(device, champion, gain, begun_at, random) if place < telling else Trial(device=device)
        for place, device in enumerate(group)
    ]
    compared = [(pair.champion, pair.candidate) for trial in trials if (pair := trial.compared()) is not None]
    comparison = compare(compared)
    rollout.figures = {"devices": len(group), "reports": len(compared), "faults": 0}
    rollout.figures |= shadow_figures(trials)
    if comparison is not None:
        rollout.figures |= {"champion_error": comparison.champion, "candidate_error": comparison.candidate}
    reason = _reason(state, comparison, group=len(group), reports=len(compared))
    rollout.reason_code, rollout.reason_sentence = reason.code, reason.sentence
    rollout.save()
    for trial in trials:
        trial.rollout = rollout
    Trial.objects.bulk_create(trials)
    if state == Rollout.State.MEASURING:
        Device.objects.filter(pk__in=[device.pk for device in group]).update(held_version=str(candidate.pk))


def _trial(device: Device, champion: ModelVersion, gain: float, begun_at: datetime, random: Random) -> Trial:
    """The report of a device on both versions."""
    before = min(0.99, max(0.4, champion.metrics.get("accuracy", 0.8) + random.gauss(-0.02, 0.03)))
    after = min(0.995, before + gain + random.gauss(0, 0.006))
    trial = Trial(
        device=device,
        reported_at=begun_at + timedelta(minutes=random.uniform(0.5, 18)),
        samples=random.choice((32, 64, 96, 128)),
        champion_loss=2.1 * (1 - before) + 0.1,
        champion_accuracy=before,
        candidate_loss=2.1 * (1 - after) + 0.1,
        candidate_accuracy=after,
    )
    if random.random() < SHADOWED:
        answer_s = OF_A_STEP * (device.train_step_s or 0.01)
        trial.agreement = min(1.0, max(0.0, 1 - abs(random.gauss(0.03 + abs(gain), 0.01))))
        both = {which: drawn_durations(answer_s, random) for which in ("champion", "candidate")}
        trial.durations = msgspec.to_builtins(both)
    return trial


def _reason(state: Rollout.State, comparison: Comparison | None, *, group: int, reports: int) -> Reason:
    if state == Rollout.State.MEASURING or comparison is None:
        return reasons.measuring(group=group, reports=reports)
    return reasons.worse(comparison) if state == Rollout.State.ROLLED_BACK else reasons.no_worse(comparison)
