"""Devices in shops, workshops and greenhouses, with their conditions by the hour and their last two weeks."""

import math
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

import msgspec

from coterie.core.credentials import hash_secret, new_secret
from coterie.fleet.models import Device, EnrolmentToken, Observation
from coterie.seeding.inserting import AT_ONCE, insert
from coterie_agent.policy import judge
from coterie_agent.updating.support import OFF, OTHERWISE
from coterie_wire.conditions import Conditions, Network, Reason, Requirements

PRESENT_FOR = timedelta(days=1)
"""Seeded devices do not check in; for so long they count as present all the same."""
HISTORY_DAYS = 14
PLAN = Requirements(idle=True, max_temperature_c=60.0)
OWNER = Requirements()
FOLLOWED = 60
"""Devices whose past is there hour by hour; of the others only the turns of each third day."""


FORMER_AGENT = "0.2.0"
AGENTS = (
    {"agent": FORMER_AGENT, "updates": {}, "logs": {}},
    {"agent": FORMER_AGENT, "updates": {"refuses": msgspec.to_builtins(OTHERWISE)}, "logs": {}},
    {"agent": FORMER_AGENT, "updates": {"refuses": msgspec.to_builtins(OFF)}, "logs": {}},
    {"agent": "0.1.0"},
)
"""What devices tell of their agents: most take other releases, some do not, some are older than that."""
SHARES_OF_AGENTS = (0.8, 0.1, 0.04, 0.06)


@dataclass(frozen=True)
class Site:
    """Where devices of one kind stand."""

    tag: str
    cities: tuple[str, ...]
    machine: str
    cores: int
    memory_gib: int
    step_s: float
    heat_c: float
    """Temperature of an idle device."""
    mains: float
    """Share that is always on mains."""
    wifi: float
    share: float


SITES = (
    Site("kiosk", ("berlin", "lyon", "turin", "porto"), "aarch64 Linux", 4, 4, 0.011, 44.0, 0.97, 0.97, 0.42),
    Site("shelf-camera", ("utrecht", "malmo", "graz"), "aarch64 Linux", 4, 8, 0.006, 52.0, 0.99, 0.99, 0.26),
    Site("handheld", ("cork", "lyon", "gdansk"), "aarch64 Android", 8, 6, 0.009, 33.0, 0.25, 0.7, 0.22),
    Site("greenhouse", ("almeria", "westland"), "armv7l Linux", 4, 1, 0.048, 48.0, 0.9, 0.82, 0.10),
)


def make_devices(count: int, *, tokens: dict[str, EnrolmentToken], random: Random, now: datetime) -> list[Device]:
    """So many devices, in the database, with their past."""
    devices: list[Device] = []
    sites = random.choices(SITES, [site.share for site in SITES], k=count)
    for number, site in enumerate(sites, start=1):
        devices.append(_device(number, site, tokens[site.tag], random, now))
    Device.objects.bulk_create(devices, batch_size=AT_ONCE)
    past = (row for number, device in enumerate(devices) for row in _past(device, number < FOLLOWED, random, now))
    insert(Observation, Observed._fields, past)
    return devices


def _device(number: int, site: Site, token: EnrolmentToken, random: Random, now: datetime) -> Device:
    city = random.choice(site.cities)
    enrolled_at = now - timedelta(days=random.triangular(0.02, 120, 90))
    device = Device(
        id=uuid.UUID(int=random.getrandbits(128), version=4),
        name=f"{site.tag}-{city}-{number:04d}",
        tags=sorted({site.tag, city, *(["canary"] if random.random() < 0.03 else [])}),
        credential_hash=hash_secret(new_secret("cod")),
        enrolled_with=token,
        enrolled_at=enrolled_at,
        check_in_s=15.0,
        capabilities={
            "cores": site.cores,
            "memory_bytes": site.memory_gib << 30,
            "machine": site.machine,
            **random.choices(AGENTS, SHARES_OF_AGENTS)[0],
        },
        train_step_s=site.step_s * random.lognormvariate(0, 0.25),
        metadata=_metadata(random, has_questions=number % 4 == 0),
    )
    fate = random.random()
    if fate < 0.012:
        return device  # it has joined and not checked in
    conditions, blockers = _report(site, random, now)
    device.conditions, device.blockers = msgspec.to_builtins(conditions), msgspec.to_builtins(blockers)
    device.blocked_by = _first_code(blockers)
    device.last_seen_at, device.present_until = now - timedelta(seconds=random.uniform(0, 15)), now + PRESENT_FOR
    if fate < 0.07:
        device.last_seen_at = now - timedelta(hours=random.expovariate(1 / 30) + 0.05)
        device.present_until = device.last_seen_at + timedelta(seconds=40)
    elif fate < 0.085:
        device.paused_at = now - timedelta(hours=random.uniform(1, 60))
    elif fate < 0.11:
        device.state = random.choice([Device.State.REVOKED, Device.State.LEFT])
        device.ended_at = now - timedelta(days=random.uniform(0, 20))
        device.last_seen_at = device.ended_at
    return device


def _report(site: Site, random: Random, at: datetime) -> tuple[Conditions, tuple[Reason, ...]]:
    """What a device there says of itself, and what holds it back by the agent's own rules."""
    hour = at.hour + at.minute / 60
    busy = 0.35 * max(0.0, math.sin((hour - 7) / 12 * math.pi))  # people use devices by day
    conditions = Conditions(
        charging="yes" if random.random() < site.mains or random.random() < 0.3 * (hour < 7) else "no",
        network=_network(site, random),
        idle="no" if random.random() < busy else "yes",
        temperature_c=round(site.heat_c + 8 * busy + random.gauss(0, 3.5), 1),
    )
    return conditions, judge(PLAN, OWNER, conditions, at.hour)


def _first_code(blockers: tuple[Reason, ...]) -> str:
    return blockers[0].code if blockers else ""


def _network(site: Site, random: Random) -> Network:
    if random.random() < site.wifi:
        return "wifi"
    return "metered" if random.random() < 0.9 else "none"


def _metadata(random: Random, *, has_questions: bool) -> dict[str, object]:
    """A share of the classes that leans to a few of them, as devices' data do; some owners are asked for labels."""
    weights = [random.gammavariate(0.4, 1.0) + 1e-3 for _ in range(10)]
    samples = int(random.triangular(60, 2_400, 500))
    counts = [round(samples * weight / sum(weights)) for weight in weights]
    told = {"samples": sum(counts), "class_counts": counts}
    labels = {
        "asked": samples // 60,
        "implied": samples // 5,
        "unlabelled": samples // 3,
        "questions": samples // 50,
        "answers": samples // 60,
    }
    return {**told, "labels": labels} if has_questions else told


class Observed(NamedTuple):
    """A row of `Observation`."""

    device: uuid.UUID
    at: datetime
    conditions: str
    blockers: str
    blocked_by: str
    held_version: str


def _past(device: Device, followed: bool, random: Random, now: datetime) -> Iterator[Observed]:
    if device.last_seen_at is None:
        return
    site = next(site for site in SITES if site.tag in device.tags)
    at = max(device.enrolled_at, now - timedelta(days=HISTORY_DAYS))
    while at < device.last_seen_at:
        conditions, blockers = _report(site, random, at)
        yield Observed(
            device=device.id,
            at=at,
            conditions=_text(conditions),
            blockers=_text(blockers),
            blocked_by=_first_code(blockers),
            held_version=device.held_version,
        )
        at += timedelta(hours=random.uniform(0.5, 3)) if followed else timedelta(days=random.uniform(2, 6))


def _text(reported: object) -> str:
    return msgspec.json.encode(reported).decode()
