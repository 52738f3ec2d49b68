"""Logs of some devices: one that came, one that an owner refused, and one that still waits."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from coterie.device_logs import reasons
from coterie.device_logs.models import DeviceLog, DeviceLogLine
from coterie.device_logs.selectors import KEEP_DAYS
from coterie.device_logs.services import WAIT
from coterie.fleet.models import Device
from coterie.transfer.models import Transfer
from coterie_agent.device_log.rule import ASKS_OWNER, REFUSED
from coterie_wire.conditions import Reason

DEVICES = 60
LINES = 240
HOURS = 24
LOGGED = (
    ("info", "worker", "accepted round {} of digits", 8),
    ("info", "worker", "training of round {} pauses", 4),
    ("info", "worker", "holds version {} of digits", 3),
    ("info", "contact", "in contact with the platform over the socket", 4),
    ("warning", "contact", "no contact with the platform: the connection was closed; trying again", 4),
    ("warning", "model", "the difference to version {} cannot be used, which comes whole: wrong hash", 1),
    ("error", "worker", "the platform's newest version is not usable: 812 bytes are missing [bundle.missing]", 1),
)
"""Level, part of the agent, text, and how often."""


def make_logs(*, random: Random, now: datetime) -> None:
    """Of devices that have helped others, which have much to show anyway."""
    helpers = Transfer.objects.exclude(delivered_at=None).values("helper")
    for number, device in enumerate(Device.objects.filter(pk__in=helpers, state="enrolled").order_by("pk")[:DEVICES]):
        _log(device, DeviceLog.State.REFUSED, REFUSED, now - timedelta(days=9), random)
        _log(device, DeviceLog.State.DELIVERED, None, now - timedelta(hours=30), random)
        if number % 5 == 4:
            _log(device, DeviceLog.State.ASKED, ASKS_OWNER, now - timedelta(minutes=12), random)


def _log(device: Device, state: DeviceLog.State, reason: Reason | None, at: datetime, random: Random) -> None:
    is_open, came = state == DeviceLog.State.ASKED, state == DeviceLog.State.DELIVERED
    ended_at = None if is_open else at + timedelta(minutes=random.uniform(2, 90))
    lines = list(_lines(ended_at, random)) if came and ended_at is not None else []
    reason = reason or reasons.delivered(lines=len(lines), left_out=0)
    log = DeviceLog.objects.create(
        device=device,
        hours=HOURS,
        why="It drops out of rounds." if came else "",
        state=state,
        reason_code=reason.code,
        reason_sentence=reason.sentence,
        created_at=at,
        due_at=at + WAIT,
        allowed_at=ended_at if came else None,
        ended_at=ended_at,
        line_count=len(lines),
        size_bytes=sum(len(line.text) + 70 for line in lines),
        keep_until=ended_at + timedelta(days=KEEP_DAYS) if came and ended_at is not None else None,
    )
    for line in lines:
        line.log = log
    DeviceLogLine.objects.bulk_create(lines)


def _lines(until: datetime, random: Random) -> Iterator[DeviceLogLine]:
    weights = [often for *_, often in LOGGED]
    for number in range(LINES):
        level, source, text, _ = random.choices(LOGGED, weights)[0]
        at = until - timedelta(hours=HOURS * (1 - number / LINES))
        yield DeviceLogLine(at=at, level=level, source=source, text=text.format(random.randint(180, 220)))
