"""What the database keeps: bytes of a round, of a device and of its check-ins, in PostgreSQL.

Rounds of 100 devices go by the services of a real platform, with a tiny model; the log of PostgreSQL is the whole
server's, so the least of several batches counts.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.benchmarks.report import Figure
from tests.system.scaled import new_database

DEVICES = 100
"""That a round asks, and that all deliver but those that fall silent."""
SILENT = 10
WARM, ROUNDS = 1, 3
"""Rounds before the tables are first measured, and after."""
FEW = 5
"""Rows a round at most that are measured one by one instead of by the size of their table."""
HEADER_BYTES, ENTRY_BYTES = 28, 32
"""Of a row, with its place in the page, and of its entry in an index of a key of eight or sixteen bytes."""
FLEET = 4_000
"""Devices of which a row is measured."""
BATCHES, TOGETHER = 8, 200
"""Check-ins that are answered together."""
TRANSIENT = ("rounds_roundevent", "rounds_upload", "webhooks_delivery", "fleet_observation")
"""Tables that lose their rows within a month."""
CAPABILITIES = {
    "cores": 4,
    "memory_bytes": 1 << 32,
    "machine": "aarch64 Linux",
    "agent": "0.2.0",
    "kinds": {f"slot_{slot}": [f"kind_{kind}" for kind in range(6)] for slot in range(9)},
}


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory, new_database() as url:
        os.environ |= {"COTERIE_STATE": str(Path(directory)), "DJANGO_SETTINGS_MODULE": "coterie.config.settings"}
        from django.conf import settings

        from coterie.config.database import postgresql

        # Embedded mode keeps its hints in this process, and none reaches the workers of another platform.
        settings.DATABASES["default"] = postgresql(url)
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        call_command("migrate", verbosity=0)
        try:
            return [*_rounds(), *_devices()]
        finally:
            connection.close()
            connection.close_pool()  # type: ignore[attr-defined]


def _rounds() -> Iterator[Figure]:
    from coterie.federations.services import create_federation, start_federation
    from tests.coterie.world import START, fleet_of, make_pair, make_version

    pair = make_pair()
    make_version(pair)
    wanted = DEVICES - SILENT
    pace = {"kind": "sync", "target_updates": wanted, "over_selection": DEVICES / wanted, "min_updates": wanted}
    federation = create_federation(name="digits", pair=pair, plan={"pace": pace}, now=START, seed=3)
    start_federation(federation=federation, now=START)
    devices = fleet_of(DEVICES)
    for number in range(1, WARM + 1):
        _hold(federation, devices, START + timedelta(hours=number))
    before = _tables()
    written = _log(
        lambda number: _hold(federation, devices, START + timedelta(hours=WARM + 1 + number)), batches=ROUNDS
    )
    after = _tables()
    grown = {}
    for name, (size, rows) in after.items():
        former_size, former_rows = before.get(name, (0, 0))
        each = (rows - former_rows) / ROUNDS
        # A few rows a round fit into pages that were there before.
        grown[name] = ((size - former_size) / ROUNDS if each > FEW else each * _row_bytes(name) if each else 0.0, each)
    case = f"a round of {DEVICES} devices"
    for name, (size, rows) in sorted(grown.items(), key=lambda item: -item[1][0]):
        if size > 0:
            yield Figure(case, f"{name}, {rows:g} rows", size, "bytes")
    stays = sum(size for name, (size, _) in grown.items() if name not in TRANSIENT)
    yield Figure(case, "all that stays longer than a month", stays, "bytes")
    folded = stays - grown["rounds_assignment"][0] + _fold(after)
    yield Figure(case, "all that stays longer than history is kept", folded, "bytes")
    yield Figure(case, "all", sum(size for size, _ in grown.values()), "bytes")
    yield Figure(case, "PostgreSQL's log", written, "bytes")


def _fold(before: Mapping[str, tuple[int, int]]) -> float:
    """Have all rounds but the newest lose their assignments, as history; bytes that the updates of each have gained."""
    from coterie.core.pruning import prune
    from coterie.rounds import histories
    from coterie.rounds.models import Assignment
    from coterie.rounds.tidying import tidy
    from tests.coterie.world import START

    histories.LOOKBACK_ROUNDS = 0
    tidy(now=START + timedelta(days=40))
    prune(now=START + timedelta(days=400))
    assert Assignment.objects.count() == DEVICES - SILENT, "of the newest round, what was delivered"
    table = "merging_update"
    return (_tables()[table][0] - before[table][0]) / (WARM + ROUNDS - 1)


def _hold(federation: Any, devices: list[Any], at: datetime) -> None:
    """One round: all are asked, the last of them fall silent, the others deliver."""
    from coterie.rounds.advancing import advance_federation
    from coterie.rounds.models import Assignment, Round
    from tests.coterie.world import in_this_process, merge_round

    def then(seconds: float) -> datetime:
        return at + timedelta(seconds=seconds)

    for step in range(2):
        for device in devices:
            device.say(then(step))
        advance_federation(federation_id=federation.pk, now=then(step))
    round_ = federation.rounds.get(state=Round.State.OPEN)
    mine = dict(Assignment.objects.filter(round=round_).values_list("device", "pk"))
    assert len(mine) == DEVICES
    for seed, device in enumerate(devices[: DEVICES - SILENT]):
        device.say(then(3))
        device.deliver(str(mine[device.row.pk]), then(4), seed=seed)
    advance_federation(federation_id=federation.pk, now=then(5))
    merge_round(round_, clock=lambda: then(6), merger=in_this_process)
    assert round_.state == Round.State.PUBLISHED, round_.reason_sentence


def _devices() -> Iterator[Figure]:
    from coterie.core.credentials import hash_secret
    from coterie.fleet.agents import add_agents
    from coterie.fleet.models import Device
    from coterie.fleet.services import apply_check_in, expect_check_in, record_check_ins
    from coterie_wire.conditions import Conditions
    from coterie_wire.messages import Capabilities, CheckIn, DataMetadata
    from coterie_wire.structs import from_values
    from coterie_wire.version import PROTOCOL
    from tests.coterie.world import START

    before = _tables()
    now = START + timedelta(days=1)
    told = from_values(CAPABILITIES, Capabilities)
    devices = Device.objects.bulk_create(
        Device(name=f"many-{number}", credential_hash=hash_secret(f"many-{number}"), enrolled_at=now)
        for number in range(FLEET)
    )
    add_agents([(device, told) for device in devices])

    def check_in(batch: int, at: datetime, *, charging: str, first: bool = False) -> None:
        chosen = devices[TOGETHER * batch : TOGETHER * (batch + 1)]
        rows = list(Device.objects.filter(pk__in=[device.pk for device in chosen]))
        message = CheckIn(
            protocol=PROTOCOL,
            conditions=from_values({"charging": charging, "network": "wifi"}, Conditions),
            metadata=DataMetadata(samples=400, class_counts=(40,) * 10),
            capabilities=told if first else None,
        )
        taken = [apply_check_in(device=row, check_in=message, now=at) for row in rows]
        for row in rows:
            expect_check_in(device=row, check_in_s=600.0)
        record_check_ins(checked_in=taken, now=at)

    for batch in range(FLEET // TOGETHER):
        check_in(batch, now, charging="yes", first=True)
    after = _tables()
    case = f"a device, of {FLEET:,}"
    total = 0.0
    for name in ("fleet_device", "fleet_deviceagent", "fleet_presence", "fleet_observation"):
        size = (after[name][0] - before.get(name, (0, 0))[0]) / FLEET
        total += 0 if name in TRANSIENT else size
        yield Figure(case, name, size, "bytes")
    yield Figure(case, "all that stays while it is enrolled", total, "bytes")
    later = now + timedelta(minutes=10)
    case = f"a check-in, of {TOGETHER} answered together"
    same = _log(lambda batch: check_in(batch, later, charging="yes"))
    yield Figure(case, "PostgreSQL's log where nothing has changed", same / TOGETHER, "bytes")
    changed = _log(lambda batch: check_in(batch, later + timedelta(minutes=10), charging="no"))
    yield Figure(case, "PostgreSQL's log where conditions have changed", changed / TOGETHER, "bytes")
    silent = _log(lambda batch: check_in(batch, later + timedelta(hours=30), charging="no"))
    yield Figure(case, "PostgreSQL's log where its row says anew that it is present", silent / TOGETHER, "bytes")


def _log(act: Callable[[int], None], *, batches: int = BATCHES) -> float:
    """Bytes that the least of some batches adds to the log."""
    from django.db import connection

    found = []
    for batch in range(batches):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_wal_insert_lsn()")
            began = cursor.fetchone()
        act(batch)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", began)
            found.append(float(cursor.fetchone()[0]))
    return min(found)


def _tables() -> Mapping[str, tuple[int, int]]:
    """By table, its bytes with indexes and what is kept beside it, and its rows; without what was left of old rows."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM FULL")
        cursor.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        sizes = dict(cursor.fetchall())
        found = {}
        for name, size in sizes.items():
            cursor.execute(f'SELECT count(*) FROM "{name}"')
            found[name] = (size, cursor.fetchone()[0])
    return found


def _row_bytes(name: str) -> float:
    """Of a row on average, as it is stored: its columns, its header, and an entry in each index."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped", [name]
        )
        columns = " + ".join(f'coalesce(pg_column_size("{column}"), 0)' for (column,) in cursor.fetchall())
        cursor.execute(f'SELECT avg({columns}) FROM "{name}"')
        stored = float(cursor.fetchone()[0])
        cursor.execute("SELECT count(*) FROM pg_index WHERE indrelid = %s::regclass", [name])
        return stored + HEADER_BYTES + ENTRY_BYTES * int(cursor.fetchone()[0])
