"""Facts about devices from the rounds in which they took part."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median_low
from uuid import UUID

from django.db.models import Max

from coterie.federations.models import Federation
from coterie.merging.models import Update
from coterie.rounds.models import Assignment, Round
from coterie.rounds.selectors import able_members
from coterie_learning.selection import DeviceFacts

LOOKBACK_ROUNDS = 200
"""How many rounds back histories are read."""


def history_of(round_: Round, devices: Sequence[str]) -> Sequence[DeviceFacts]:
    """Facts about each of `devices`, from which a round's selection chooses."""
    last_invited = _last_invited(round_.federation, round_.number)
    updates: dict[UUID, tuple[float, int, float]] = {}
    recent = Update.objects.filter(
        federation=round_.federation_id, assignment__round__number__gte=round_.number - LOOKBACK_ROUNDS
    )
    reported = recent.order_by("received_at").values_list("device", "loss_before", "samples", "train_s")
    for device, loss, samples, train_s in reported.iterator():
        updates[device] = (loss, samples, train_s)
    found = []
    for name in devices:
        key = UUID(name)
        idle_rounds = round_.number - last_invited[key] if key in last_invited else None
        found.append(
            DeviceFacts(name, idle_rounds, *updates[key]) if key in updates else DeviceFacts(name, idle_rounds)
        )
    return found


@dataclass(frozen=True)
class Participation:
    """For how many rounds the devices that could take part now have not been invited."""

    round_number: int
    """Of the newest round; 0: there was none."""
    never: int
    """Devices that were not invited in the latest 200 rounds."""
    median: int | None
    """Of the others; None where there are none."""
    longest: int | None
    devices: Mapping[int, int]
    """Number of devices by rounds since they were invited."""

    def listed(self) -> list[dict[str, int]]:
        """`devices` as rows, the most recently invited first."""
        return [{"rounds": rounds, "devices": count} for rounds, count in self.devices.items()]


def participation_of(federation: Federation, *, now: datetime) -> Participation:
    """How evenly rounds invite the devices that are ready and able."""
    newest = federation.rounds.order_by("-number").values_list("number", flat=True).first() or 0
    last_invited = _last_invited(federation, newest)
    able = able_members(federation, federation.parsed_plan(), now=now).order_by().values_list("pk", flat=True)
    last = [last_invited.get(device) for device in able]
    idle = sorted(newest - number for number in last if number is not None)
    return Participation(
        round_number=newest,
        never=len(last) - len(idle),
        median=median_low(idle) if idle else None,
        longest=max(idle, default=None),
        devices=dict(sorted(Counter(idle).items())),
    )


def _last_invited(federation: Federation, newest: int) -> Mapping[UUID, int]:
    """By device, the number of the round that invited it last."""
    parts = Assignment.objects.filter(
        round__federation=federation, round__number__gte=newest - LOOKBACK_ROUNDS
    ).order_by()
    return {row["device"]: row["last"] for row in parts.values("device").annotate(last=Max("round__number"))}
