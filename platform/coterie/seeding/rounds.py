"""Federations and the rounds that they have held: who was asked, who delivered, who did not and why."""

import math
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Literal

from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet.status import DeviceStatus, status_of
from coterie.merging import reasons as merging_reasons
from coterie.merging.models import Merge, Update
from coterie.registry.models import Alias, Dataset, ModelPair, ModelVersion, Role
from coterie.rounds import reasons
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie.seeding.evaluations import evaluate_versions
from coterie.seeding.inserting import AT_ONCE
from coterie.seeding.latencies import time_devices
from coterie.seeding.lineages import Task, by_class, parameters
from coterie.seeding.peers import add_help_between
from coterie.seeding.rollouts import try_versions
from coterie.seeding.statistics import analyze
from coterie_learning.pace import View
from coterie_learning.plan import parse_plan, plan_document
from coterie_wire.conditions import Reason

Fate = Literal["published", "too_few", "worse"]
"""How a round ends: with a version, with too few updates, or with a model that is worse than the champion."""

ASKED = 26
REGULARS = 40
OF_REGULARS = 6
WANTED = 20
LAST_DAYS = 58
FATES: Mapping[Fate, float] = {"published": 0.93, "too_few": 0.04, "worse": 0.03}
PINNED = 0.004
REPLAYABLE = 15
"""Of the latest rounds so many can be replayed."""
PROCESS_BYTES = 61_000_000
"""What an agent takes while it trains."""
PLAN = {
    "local": {"kind": "sgd", "epochs": 3, "learning_rate": 0.05},
    # Seeded devices send nothing: they are not dropped while people look at them.
    "pace": {
        "kind": "sync",
        "target_updates": WANTED,
        "min_updates": 12,
        "deadline_s": 86_400,
        "absent_s": 86_400,
        "pause_s": 3_600,
    },
    "requirements": {"charging": True, "unmetered": True, "idle": True, "max_temperature_c": 60.0},
}
LATE = Reason("rounds.round_closed", reasons.CLOSED.sentence)


def make_federation(
    task: Task,
    pair: ModelPair,
    dataset: Dataset,
    devices: list[Device],
    *,
    state: Federation.State,
    random: Random,
    now: datetime,
) -> Federation:
    """A federation with its rounds, and the versions that they published."""
    federation = Federation.objects.create(
        name=task.name,
        slug=pair.slug,
        pair=pair,
        plan=plan_document(parse_plan({**PLAN, **task.slots})),
        device_tag=task.tag,
        cloud_data=dataset if task.taught else None,
        tolerance=0.01,
        state=state,
        created_at=pair.created_at + timedelta(hours=3),
    )
    members = [d for d in devices if task.tag in d.tags and d.last_seen_at and d.state == Device.State.ENROLLED]
    if not members:
        return federation
    every = timedelta(days=LAST_DAYS) / task.rounds
    base = ModelVersion.objects.get(pair=pair, role=Role.DEVICE, number=1)
    for number in range(1, task.rounds + 1):
        opened_at = now - every * (task.rounds - number + 1)
        fate = random.choices(list(FATES), list(FATES.values()))[0]
        base = _ended_round(federation, task, number, base, members, opened_at, fate, random) or base
    Alias.objects.filter(pair=pair, role=Role.DEVICE).update(version=base, moved_at=now - every)
    _hand_out(base, members, random)
    _pin(members, random)
    analyze()
    evaluate_versions(federation, base, members)
    time_devices(base, members, now=now)
    is_running = state == Federation.State.RUNNING
    if federation.parsed_plan().rollout.is_staged():
        opened_at = now - (timedelta(minutes=50) if is_running else timedelta(hours=7))
        candidate = _ended_round(federation, task, task.rounds + 1, base, members, opened_at, "published", random)
        assert candidate is not None
        try_versions(federation, champion=base, candidate=candidate, members=members, random=random)
    elif is_running:
        _open_round(federation, task.rounds + 1, base, members, random, now)
    add_help_between(federation, members, random=random, now=now)
    return federation


def _hand_out(base: ModelVersion, members: list[Device], random: Random) -> None:
    """Most of `members` hold the version in use, the others its parent."""
    versions = ["" if base.parent_id is None else str(base.parent_id), str(base.pk)]
    holders: tuple[list[Device], list[Device]] = ([], [])
    for device in members:
        holders[random.random() < 0.86].append(device)
    for version, held_by in zip(versions, holders, strict=True):
        for begin in range(0, len(held_by), AT_ONCE):
            some = held_by[begin : begin + AT_ONCE]
            Device.objects.filter(pk__in=[device.pk for device in some]).update(held_version=version)
        for device in held_by:
            device.held_version = version


def _pin(members: list[Device], random: Random) -> None:
    """An operator keeps a few of `members` on the version that they hold."""
    for device in members:
        if random.random() < PINNED:
            device.pinned_version = device.held_version
            device.save(update_fields=["pinned_version"])


def _ended_round(
    federation: Federation,
    task: Task,
    number: int,
    base: ModelVersion,
    members: list[Device],
    opened_at: datetime,
    fate: Fate,
    random: Random,
) -> ModelVersion | None:
    """A round that is over; the version that came of it."""
    too_few, worse = fate == "too_few", fate == "worse"
    asked = _asked(members, random)
    delivering = asked[: 7 if too_few else min(WANTED, len(asked))]
    closed_at = opened_at + timedelta(minutes=random.uniform(4, 25))
    finished_at = closed_at + timedelta(seconds=random.uniform(1, 6))
    accuracy = task.top - (task.top - task.start) * math.exp(-3.2 * number / task.rounds) + random.gauss(0, 0.003)
    metrics = {
        "updates": len(delivering),
        "accuracy": round(accuracy - 0.03 * worse, 4),
        "accuracy_before": round(base.metrics.get("accuracy", task.start), 4),
        "mean_accuracy": round(accuracy - 0.02 + random.gauss(0, 0.004), 4),
        "mean_loss_before": round(2.1 * (1 - accuracy) + 0.1, 4),
        "mean_loss_after": round(1.7 * (1 - accuracy) + 0.08, 4),
        "loss": round(1.9 * (1 - accuracy) + 0.09, 4),
        "merge_s": round(random.uniform(0.4, 1.2), 3),
    }
    round_ = Round(
        federation=federation,
        number=number,
        opens_at=opened_at,
        opened_at=opened_at,
        deadline_at=opened_at + timedelta(days=1),
        closed_at=closed_at,
        finished_at=finished_at,
        tidied_at=finished_at,
        plan=federation.plan,
        seed=random.getrandbits(40),
        base_version=base,
        state=Round.State.ABANDONED,
        updates_in=len(delivering),
    )
    version = None
    if fate != "published":
        reason = (
            round_.parsed_plan().pace.decide(View(0, len(delivering), 0.0, is_open=False)).reason
            if too_few
            else merging_reasons.worse_than_champion(
                candidate=metrics["accuracy"], champion=metrics["accuracy_before"], tolerance=federation.tolerance
            )
        )
        round_.reason_code, round_.reason_sentence, round_.reason_at = reason.code, reason.sentence, finished_at
    parts, updates = _parts(round_, asked, delivering, closed_at, base, random)
    metrics |= {"samples": sum(u.samples for u in updates), "update_bytes": sum(u.size_bytes for u in updates)}
    if fate == "published":
        version = ModelVersion.objects.create(
            pair=base.pair,
            role=Role.DEVICE,
            number=base.number + 1,
            parent=base,
            origin=ModelVersion.Origin.MERGE,
            parameters=parameters(base.pair.model_spec(), random, finished_at),
            metrics={**metrics, **by_class(task, accuracy, random)},
            created_at=finished_at,
        )
        round_.state = Round.State.PUBLISHED
    if not too_few:
        round_.merge = _merge(round_, version, metrics)
    round_.save()
    for update in updates:
        update.cohort, update.merge = round_.pk, round_.merge
    Update.objects.bulk_create(updates)
    Assignment.objects.bulk_create(parts)
    if number > task.rounds - REPLAYABLE:
        _record_course(round_, parts, random)
    return version


def _merge(round_: Round, version: ModelVersion | None, metrics: dict[str, float]) -> Merge:
    """The merge that a round has ended with."""
    assert round_.base_version is not None and round_.closed_at is not None and round_.finished_at is not None
    return Merge.objects.create(
        federation=round_.federation,
        number=round_.number,
        plan=round_.plan,
        seed=round_.seed,
        base_version=round_.base_version,
        result_version=version,
        state=Merge.State.ABANDONED if version is None else Merge.State.PUBLISHED,
        reason_code=round_.reason_code,
        reason_sentence=round_.reason_sentence,
        reason_at=round_.finished_at,
        metrics=metrics,
        attempts=1,
        asked_at=round_.closed_at,
        finished_at=round_.finished_at,
    )


def _asked(members: list[Device], random: Random) -> list[Device]:
    """The devices that were invited; some are present more often than others."""
    regulars, others = members[:REGULARS], members[REGULARS:]
    wanted = random.sample(regulars, min(OF_REGULARS, len(regulars)))
    return wanted + random.sample(others, min(ASKED - len(wanted), len(others)))


def _parts(
    round_: Round,
    asked: list[Device],
    delivering: list[Device],
    closed_at: datetime,
    base: ModelVersion,
    random: Random,
) -> tuple[list[Assignment], list[Update]]:
    assert round_.opened_at is not None
    parts, updates = [], []
    for device in asked:
        steps = max(3, int(_samples(device) / 32) * 3)
        part = Assignment(
            id=uuid.UUID(int=random.getrandbits(128), version=4),
            round=round_,
            device=device,
            base_version=base,
            seed=random.getrandbits(40),
            steps_done=steps,
            steps_total=steps,
            offered_at=round_.opened_at,
            changed_at=closed_at,
            stage="uploading",
        )
        parts.append(part)
        if device in delivering:
            part.state = Assignment.State.DELIVERED
            part.changed_at = round_.opened_at + (closed_at - round_.opened_at) * random.uniform(0.2, 1)
            part.update, part.taken_by = _update(part, device, base, random), round_
            updates.append(part.update)
            continue
        part.state, why = random.choices(
            [
                (Assignment.State.RELEASED, LATE),
                (Assignment.State.RELEASED, Reason("conditions.on_battery", "on battery; the plan asks for charging")),
                (Assignment.State.DROPPED, reasons.ABSENT),
                (
                    Assignment.State.REJECTED,
                    Reason("update.not_finite", "it holds numbers that are not finite"),
                ),
            ],
            [6, 3, 2, 0.2],
        )[0]
        part.steps_done = int(steps * random.uniform(0, 0.9))
        part.reason_code, part.reason_sentence = why.code, why.sentence
    return parts, updates


def _update(part: Assignment, device: Device, base: ModelVersion, random: Random) -> Update:
    accuracy = min(0.995, max(0.3, base.metrics.get("accuracy", 0.7) - 0.02 + random.gauss(0, 0.04)))
    spec = base.pair.model_spec()
    size_bytes = 400 + sum(math.prod(tensor.shape) + 40 for tensor in spec.parameters)
    return Update(
        id=part.pk,
        federation=part.round.federation,
        device=device,
        base_version=base,
        sha256=f"{random.getrandbits(256):064x}",
        size_bytes=size_bytes,
        samples=_samples(device),
        steps_done=part.steps_done,
        steps_total=part.steps_total,
        loss_before=2.1 * (1 - accuracy) + 0.1,
        loss_after=1.7 * (1 - accuracy) + 0.08,
        accuracy_before=accuracy,
        train_s=part.steps_done * (device.train_step_s or 0.01),
        train_memory_bytes=int(PROCESS_BYTES * random.lognormvariate(0, 0.03)),
        received_at=part.changed_at,
    )


def _open_round(
    federation: Federation, number: int, base: ModelVersion, members: list[Device], random: Random, now: datetime
) -> None:
    """One that is under way: some train, some upload, some have delivered."""
    opened_at = now - timedelta(minutes=3)
    ready = [device for device in members if status_of(device, now=now) is DeviceStatus.READY]
    asked = random.sample(ready, min(ASKED, len(ready)))
    round_ = Round.objects.create(
        federation=federation,
        number=number,
        opens_at=opened_at,
        opened_at=opened_at,
        deadline_at=opened_at + timedelta(days=1),
        plan=federation.plan,
        seed=random.getrandbits(40),
        base_version=base,
        state=Round.State.OPEN,
    )
    parts, updates = _parts(round_, asked, asked[:8], now, base, random)
    for part in parts[8:]:
        part.stage = random.choices(["accepted", "training", "waiting", "uploading"], [1, 6, 1, 2])[0]
        part.state, part.reason_code, part.reason_sentence = Assignment.State.ACCEPTED, "", ""
        if part.stage == "accepted":
            part.steps_done = 0
    reason = reasons.collecting(wanted=WANTED, delivered=len(updates), stages={"training": len(parts) - len(updates)})
    Round.objects.filter(pk=round_.pk).update(
        reason_code=reason.code, reason_sentence=reason.sentence, reason_at=opened_at
    )
    for update in updates:
        update.cohort = round_.pk
    Update.objects.bulk_create(updates)
    Assignment.objects.bulk_create(parts)
    Round.objects.filter(pk=round_.pk).update(updates_in=len(updates))
    _record_course(round_, parts, random)


def _record_course(round_: Round, parts: list[Assignment], random: Random) -> None:
    """The events of a round, in order."""
    kind = RoundEvent.Kind
    assert round_.opened_at is not None
    reported: list[tuple[datetime, RoundEvent.Kind, Device | None, str, str]] = [
        (round_.opened_at - timedelta(minutes=2), kind.PLANNED, None, "", ""),
        (round_.opened_at, kind.OPEN, None, "", ""),
    ]
    for part in parts:
        at = part.offered_at
        reported.append((at, kind.ASKED, part.device, "", ""))
        span = (part.changed_at - part.offered_at) / 4
        for stage in _stages(part):
            at += span * random.uniform(0.6, 1.2)
            reported.append((at, stage, part.device, "", ""))
        if part.state not in Assignment.LIVE:
            reported.append((part.changed_at, kind(part.state), part.device, part.reason_code, part.reason_sentence))
    if round_.closed_at is not None and round_.finished_at is not None:
        reported.append((round_.closed_at, kind.CLOSING, None, reasons.CLOSING.code, reasons.CLOSING.sentence))
        reported.append((round_.finished_at, kind(round_.state), None, round_.reason_code, round_.reason_sentence))
    RoundEvent.objects.bulk_create(
        RoundEvent(round=round_, at=at, kind=what, device=device, reason_code=code, reason_sentence=sentence)
        for at, what, device, code, sentence in sorted(reported, key=lambda line: line[0])
    )


def _stages(part: Assignment) -> list[RoundEvent.Kind]:
    """What a device told on its way to where it is, or to its end."""
    kind = RoundEvent.Kind
    course = [kind.ACCEPTED, kind.TRAINING, kind.UPLOADING]
    if part.state == Assignment.State.DELIVERED:
        return course
    if part.state not in Assignment.LIVE:
        return course[:2] if part.steps_done else course[:1]
    if part.stage == kind.WAITING:
        return [*course[:2], kind.WAITING]
    return course[: course.index(kind(part.stage)) + 1]


def _samples(device: Device) -> int:
    return max(32, device.reported_metadata().samples)
