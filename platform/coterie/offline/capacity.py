"""What a fleet of a size takes of machines, from measured coefficients: docs/scale.md says where each is from."""

import math
from collections.abc import Mapping
from typing import NamedTuple

DAY_S = 86_400
CHECK_IN_S = 0.95e-3
"""Processor time of the platform and its database for one, scaled, 10,000 devices."""
ASSIGNMENT_S = 3.0e-3
"""Processor time from a wake-up to the assignment, scaled, 5,000 at a time, check-ins that came meanwhile included."""
SOCKET_BYTES = 28.6e3
PROCESS_BYTES = 250e6
"""Of a web process before it holds a socket, rounded up."""
SOCKETS_EACH = 10_000
"""For one web process; so many were measured."""
MERGE_BYTES_S = 125e6
"""Of int8 updates by one core: the slowest that was measured, 10 updates of a 100 MB model."""
CHANGE_WAL_BYTES = 3.8e3
"""Of PostgreSQL's log for a check-in that tells of a change. One that tells of none writes nothing to it."""
RENEWAL_WAL_BYTES = 3.4e3
"""For one at which its row says anew that the device is present."""
RENEWED_AFTER_S = 23 * 3600
"""A row says for so long that its device is present (`coterie.fleet.presence`), which counts for
`MISSED_CHECK_INS` of its intervals after each check-in."""
MISSED_CHECK_INS = 2.5
DEVICE_BYTES = 2.8e3
"""What is kept of an enrolled device, with indexes."""
PART_BYTES = 0.71e3
"""What is kept of a device's part in a round for a year: assignment, and of nine in ten the update, with indexes."""
FOLDED_PART_BYTES = 0.33e3
"""What stays of it then, of ten parts' nine updates."""
ROUND_BYTES = 3.8e3
"""What stays of a round beside its parts: itself, its merge and its version, with indexes."""
TIMELINE_BYTES = 0.41e3
"""Of a device's part, for `TIMELINE_DAYS`."""
TIMELINE_DAYS = 30
PART_WAL_BYTES = 9.8e3
"""Of the log for a device's part in a round, from the offer to the version."""
UPDATES_KEPT_DAYS = 7
"""After the end of their round."""
LOAD = 0.5
"""Share of a core that is planned for: the rest is for peaks and for what is being restarted."""


class Fleet(NamedTuple):
    """What is asked."""

    devices: int
    sockets_share: float
    """Of devices that hold a socket at a time."""
    check_ins_per_second: float
    """What the platform is set to answer idle devices; it spreads them to that (COTERIE_CHECK_INS_PER_SECOND)."""
    shortest_check_in_s: float
    rounds_per_day: float
    """Over all federations."""
    asked: int
    """Devices that a round asks."""
    changes_per_day: float
    """How often something changes on a device: it is put on its charger, or leaves its Wi-Fi."""
    model_bytes: float
    update_bytes: float


class Plan(NamedTuple):
    """What it takes."""

    check_ins_per_second: float
    check_in_every_s: float
    """Between two of one idle device."""
    web_processes: int
    web_memory_bytes: float
    """Of all web processes."""
    worker_cores: int
    worker_memory_bytes: float
    """Of each that merges: two models and 200 MB."""
    worker_disk_bytes: float
    """Of each: copies of the updates of one merge."""
    database_bytes: float
    """Devices, and the rounds of a year."""
    database_bytes_per_year: float
    """By which that grows in each further year, in which assignments of the year before go."""
    wal_bytes_per_day: float
    stored_update_bytes: float
    down_bytes_per_day: float
    up_bytes_per_day: float


PRICED = ("core", "memory", "stored", "sent")
"""What has a price, a month: a core; a GB of memory; a GB stored, in the database or the object storage; a GB sent."""
DAYS_OF_A_MONTH = 30


def cost_per_month(found: Plan, prices: Mapping[str, float]) -> dict[str, float]:
    """What `found` costs, by what of `PRICED` a price is given for, after a year.

    A web process counts as a core. Not counted are the cores and memory of database and Redis, the versions that are
    kept, and copies.
    """
    amounts = {
        "core": found.web_processes + found.worker_cores,
        "memory": (found.web_memory_bytes + found.worker_cores * found.worker_memory_bytes) / 1e9,
        "stored": (found.database_bytes + found.stored_update_bytes) / 1e9,
        "sent": DAYS_OF_A_MONTH * found.down_bytes_per_day / 1e9,
    }
    return {name: price * amounts[name] for name, price in prices.items()}


def plan(fleet: Fleet) -> Plan:
    """Whole processes and cores; averages over a day, at `LOAD` of a core."""
    check_ins = min(fleet.check_ins_per_second, fleet.devices / fleet.shortest_check_in_s)
    every_s = fleet.devices / check_ins
    assigned = fleet.rounds_per_day * fleet.asked
    changes = fleet.devices * fleet.changes_per_day / DAY_S
    web_cores = ((check_ins + changes) * CHECK_IN_S + assigned / DAY_S * ASSIGNMENT_S) / LOAD
    sockets = fleet.devices * fleet.sockets_share
    web = max(2, math.ceil(web_cores), math.ceil(sockets / SOCKETS_EACH))
    up = assigned * fleet.update_bytes
    return Plan(
        check_ins_per_second=check_ins,
        check_in_every_s=every_s,
        web_processes=web,
        web_memory_bytes=web * PROCESS_BYTES + sockets * SOCKET_BYTES,
        worker_cores=max(2, math.ceil(up / DAY_S / MERGE_BYTES_S / LOAD)),
        worker_memory_bytes=2 * fleet.model_bytes + 200e6,
        worker_disk_bytes=fleet.asked * fleet.update_bytes,
        database_bytes=fleet.devices * DEVICE_BYTES
        + 365 * (assigned * PART_BYTES + fleet.rounds_per_day * ROUND_BYTES)
        + TIMELINE_DAYS * assigned * TIMELINE_BYTES,
        database_bytes_per_year=365 * (assigned * FOLDED_PART_BYTES + fleet.rounds_per_day * ROUND_BYTES),
        wal_bytes_per_day=changes * DAY_S * CHANGE_WAL_BYTES
        + check_ins * DAY_S / _check_ins_a_renewal(every_s) * RENEWAL_WAL_BYTES
        + assigned * PART_WAL_BYTES,
        stored_update_bytes=UPDATES_KEPT_DAYS * up,
        down_bytes_per_day=assigned * fleet.model_bytes,
        up_bytes_per_day=up,
    )


def _check_ins_a_renewal(every_s: float) -> int:
    """Of how many check-ins of a device one writes its row although nothing has changed."""
    return 1 + max(0, math.floor((RENEWED_AFTER_S - MISSED_CHECK_INS * every_s) / every_s))
