"""Profiles of devices' data, help requests between devices, and the groups that splits made."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

import msgspec
import numpy as np

from coterie.federations.models import Federation, Group, Membership, Split
from coterie.fleet.models import Device
from coterie.merging.reasons import split as split_reason
from coterie.registry.models import Alias, ModelVersion, Role
from coterie.rounds.models import Round
from coterie.seeding.inserting import AT_ONCE
from coterie.seeding.lineages import parameters
from coterie.transfer import reasons
from coterie.transfer.models import DeviceProfile, HelpRequest, PersonalFigures, ReportedDay, Transfer
from coterie.transfer.neighbourhood import prior_of
from coterie_learning.profile import jensen_shannon
from coterie_learning.unmatched import UnmatchedTensors, no_helper_reason
from coterie_wire.helping import Profile

TOLD_DAYS = 21
FOLLOWED = 60
"""Devices whose reports are there day by day."""
ASKING = 16
"""Devices among which the requests are."""
REQUESTS = 42
SPLITS = (1, 2, 3)
"""How many groups each of a federation's splits found."""


def add_help_between(federation: Federation, members: Sequence[Device], *, random: Random, now: datetime) -> None:
    """What the federation's plan has its members do between rounds, and the groups it divides them into."""
    plan = federation.parsed_plan()
    if plan.help.rules() is not None:
        _report_profiles(federation, members, random)
        _help_one_another(federation, members[:ASKING], random, now)
    if plan.personal.rules(plan.local) is not None:
        _tell_personal_figures(federation, members, random)
    if plan.groups.divides:
        _divide(federation, members, random)


def _report_profiles(federation: Federation, members: Sequence[Device], random: Random) -> None:
    """The profile of each member's data."""
    rows, days = [], []
    for place, device in enumerate(members):
        profile = _profile(device, random, len(federation.pair.labels))
        size_bytes = len(msgspec.json.encode(profile))
        assert device.last_seen_at is not None
        rows.append(
            DeviceProfile(
                federation=federation,
                device=device,
                batch=profile.batch,
                content=msgspec.to_builtins(profile),
                size_bytes=size_bytes * profile.batch // 10,
                reports=profile.batch // 10,
                updated_at=device.last_seen_at,
            )
        )
        for ago in range(TOLD_DAYS) if place < FOLLOWED else ():
            reports = random.randint(1, 14)
            at = device.last_seen_at - timedelta(days=ago)
            days.append(
                ReportedDay(
                    federation=federation,
                    device=device,
                    day=at.date(),
                    size_bytes=size_bytes * reports,
                    reports=reports,
                    latest_at=at,
                )
            )
    DeviceProfile.objects.bulk_create(rows, batch_size=AT_ONCE)
    ReportedDay.objects.bulk_create(days, batch_size=AT_ONCE)


def _tell_personal_figures(federation: Federation, members: Sequence[Device], random: Random) -> None:
    """Most members' personal models do better than the version, and the others answer with that."""
    version = str(Alias.objects.get(pair=federation.pair, role=Role.DEVICE).version_id)
    rows = []
    for device in members:
        assert device.last_seen_at is not None
        samples = random.randint(4, 60)
        by_version = random.betavariate(6, 3)
        by_own = max(by_version, random.betavariate(14, 2))
        rows.append(
            PersonalFigures(
                federation=federation,
                device=device,
                version=version,
                answers=by_own > by_version,
                samples=samples,
                version_accuracy=round(by_version * samples) / samples,
                own_accuracy=round(by_own * samples) / samples,
                updated_at=device.last_seen_at,
            )
        )
    PersonalFigures.objects.bulk_create(rows, batch_size=AT_ONCE)


def _help_one_another(federation: Federation, members: Sequence[Device], random: Random, now: datetime) -> None:
    """Help requests of the last weeks: most were answered, and most answers kept."""
    if len(members) < 2:
        return
    rows = DeviceProfile.objects.filter(federation=federation, device__in=members)
    profiles = {row.device_id: row.profile() for row in rows}
    known = DeviceProfile.objects.filter(federation=federation).count() - 1
    for _ in range(REQUESTS):
        target, helper = random.sample(list(members), 2)
        asked_at = now - timedelta(days=random.triangular(0, 20, 2))
        _helped(federation, target, helper, profiles, known, random, asked_at)


def _divide(federation: Federation, members: Sequence[Device], random: Random) -> None:
    """Splits of some rounds, the groups that came of the last, and a lineage for each."""
    rounds = list(Round.objects.filter(federation=federation, state="published").order_by("number"))
    if len(members) < 2 * len(SPLITS) or len(rounds) < len(SPLITS):
        return
    for place, count in zip(spread(len(SPLITS), len(rounds)), SPLITS, strict=True):
        round_ = rounds[place]
        names = [f"group-{number}" for number in range(1, count + 1)] if count > 1 else []
        _split(federation, round_, names, random)
    assert round_.finished_at is not None
    for place, name in enumerate(names):
        group = Group.objects.create(federation=federation, name=name, since=round_.finished_at)
        Membership.objects.bulk_create(
            Membership(
                group=group,
                federation=federation,
                device=device,
                since=round_.finished_at,
                since_round=round_.number,
            )
            for device in members[place :: len(names)]
        )
        for role in Role:
            _lineage(round_, name, role, random)


def spread(count: int, size: int) -> Sequence[int]:
    """So many of `size` places (at least as many), at equal distances, no two the same."""
    return [number * size // (count + 1) for number in range(1, count + 1)]


def _profile(device: Device, random: Random, classes: int) -> Profile:
    """Of the newest batches, which lean as the device's data do."""
    weights = [count + 1 for count in device.reported_metadata().class_counts][:classes]
    counts = [round(320 * weight / sum(weights)) for weight in weights]
    reported = [label for label, count in enumerate(counts) if count]
    skill = random.betavariate(18, 2)
    hits = [round(counts[label] * min(1.0, skill + random.gauss(0, 0.03))) for label in reported]
    return Profile(
        batch=random.randint(20, 900),
        classes=tuple(reported),
        counts=tuple(counts[label] for label in reported),
        hits=tuple(hits),
        drifting=random.random() < 0.03,
        willing=random.random() < 0.95,
    )


def _helped(
    federation: Federation,
    target: Device,
    helper: Device,
    profiles: dict[uuid.UUID, Profile],
    known: int,
    random: Random,
    asked_at: datetime,
) -> None:
    asked = profiles[target.pk]
    classes = sorted(random.sample(asked.classes, min(len(asked.classes), random.choice((1, 1, 2)))))
    matched, kept = random.choices([(True, True), (True, False), (False, False)], [7, 2, 1])[0]
    before = random.uniform(0.42, 0.7)
    after = min(0.97, before + random.uniform(0.1, 0.3)) if kept else before - random.uniform(0.01, 0.05)
    reason = reasons.verdict(kept=kept, before=before, after=after)
    if not matched:
        reason = no_helper_reason(UnmatchedTensors(known, 0, 0, 0, 0, 0), classes, tried=0)
    ended_at = asked_at + timedelta(seconds=random.uniform(20, 110))
    request = HelpRequest.objects.create(
        id=uuid.UUID(int=random.getrandbits(128), version=4),
        federation=federation,
        device=target,
        state=HelpRequest.State.JUDGED if matched else HelpRequest.State.UNMATCHED,
        reason_code=reason.code,
        reason_sentence=reason.sentence,
        changed_at=ended_at,
        due_at=ended_at + timedelta(minutes=1),
        plan=federation.plan,
        plan_digest=f"{random.getrandbits(256):064x}",
        classes=classes,
        profile=msgspec.to_builtins(msgspec.structs.replace(asked, drifting=True)),
        asked_at=asked_at,
        finished_at=ended_at,
    )
    if not matched:
        return
    spans = [(ended_at - asked_at) * share for share in (0.05, 0.1, 0.5, 0.7)]
    Transfer.objects.create(
        id=uuid.UUID(int=random.getrandbits(128), version=4),
        request=request,
        helper=helper,
        state=Transfer.State.KEPT if kept else Transfer.State.UNDONE,
        divergence=_divergence(asked, profiles[helper.pk], len(federation.pair.labels)),
        matched_at=asked_at + spans[0],
        requested_at=asked_at + spans[1],
        delivered_at=asked_at + spans[2],
        merged_at=asked_at + spans[3],
        ended_at=ended_at,
        due_at=ended_at,
        sha256=f"{random.getrandbits(256):064x}",
        size_bytes=random.randint(380, 2_400),
        accuracy_before=before,
        accuracy_after=after,
        judged_samples=random.choice((32, 64, 96)),
    )


def _divergence(one: Profile, other: Profile, classes: int) -> float:
    return jensen_shannon(np.array(prior_of(one, classes)), np.array(prior_of(other, classes)))


def _split(federation: Federation, round_: Round, names: list[str], random: Random) -> None:
    silhouettes = {str(count): round(random.uniform(0.05, 0.14), 3) for count in range(2, 5)}
    sentence = "one group: 2 would be told apart best, with silhouette 0.14, and 0.20 is the least that counts"
    if names:
        best = round(random.uniform(0.34, 0.52), 3)
        silhouettes[str(len(names))] = best
        others = ", ".join(
            f"{value:.2f} with {count}" for count, value in silhouettes.items() if count != str(len(names))
        )
        sentence = f"{len(names)} groups: silhouette {best:.2f}, against {others}"
    reason = split_reason(sentence)
    assert round_.finished_at is not None
    Split.objects.create(
        federation=federation,
        round_number=round_.number,
        groups=max(1, len(names)),
        silhouettes=silhouettes,
        distances={
            one: {
                other: round(0.08 + (0 if one == other else 0.3 + 0.11 * abs(place - beside)), 3)
                for beside, other in enumerate(names)
            }
            for place, one in enumerate(names)
        },
        reason_code=reason.code,
        reason_sentence=reason.sentence,
        at=round_.finished_at,
    )


def _lineage(round_: Round, name: str, role: Role, random: Random) -> None:
    """The first version of a group's model, from the base's."""
    parents = ModelVersion.objects.filter(pair=round_.federation.pair, role=role, lineage="")
    parent = parents.filter(created_at__lte=round_.finished_at).latest("number")
    assert round_.finished_at is not None
    version = ModelVersion.objects.create(
        pair=parent.pair,
        role=role,
        lineage=name,
        number=1,
        parent=parent,
        origin=ModelVersion.Origin.SPLIT,
        parameters=parameters(parent.pair.model_spec(), random, round_.finished_at),
        metrics={
            "models": 6,
            "cross_entropy_gap_before": 0.61,
            "cross_entropy_gap": round(random.uniform(0.31, 0.5), 3),
        },
        created_at=round_.finished_at,
    )
    Alias.objects.create(
        pair=parent.pair,
        role=role,
        lineage=name,
        name=Alias.Name.CHAMPION,
        version=version,
        moved_at=round_.finished_at,
    )
