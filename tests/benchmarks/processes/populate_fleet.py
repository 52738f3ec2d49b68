"""Prepare a platform with devices: ``python -m tests.benchmarks.processes.populate_fleet DIRECTORY DEVICES AWAKE``.

The settings come from the environment, as the platform's own do. Prints what `tests.system.seed` gives.
"""

import sys
from pathlib import Path

import django
import msgspec

from coterie_wire.conditions import Conditions
from coterie_wire.messages import CheckIn, DataMetadata
from coterie_wire.version import PROTOCOL

AWAKE = "awake"
"""Tag of the devices that hold sockets."""
REPORTED = CheckIn(PROTOCOL, Conditions(charging="yes", network="wifi"), metadata=DataMetadata(samples=100))
"""What each device says at every check-in."""
AT_ONCE = 1_000


def credential(number: int) -> str:
    """Of one of the devices."""
    return f"cod_bench_{number}"


def populate(*, devices: int, awake: int) -> None:
    """Devices that have checked in and are ready, the first of them tagged `AWAKE`; Django is set up."""
    from django.utils import timezone

    from coterie.core.credentials import hash_secret
    from coterie.fleet.counting import count_devices, interval_s
    from coterie.fleet.models import Device
    from coterie.fleet.presence import record_presence
    from coterie.rounds.intervals import IDLE_CHECK_IN_S

    now = timezone.now()
    Device.objects.bulk_create(
        (
            Device(
                name=f"device-{number}",
                tags=[AWAKE] if number < awake else [],
                credential_hash=hash_secret(credential(number)),
                enrolled_at=now,
                check_in_s=1.5 * interval_s(IDLE_CHECK_IN_S, devices=devices),  # the end of the window that it is told
                conditions=msgspec.to_builtins(REPORTED.conditions),
                metadata=msgspec.to_builtins(REPORTED.metadata),
            )
            for number in range(devices)
        ),
        batch_size=2_000,
    )
    unheard = Device.objects.filter(last_seen_at=None).order_by("pk")
    while some := list(unheard[:AT_ONCE]):
        record_presence(some, now=now)
    count_devices(now=now)


def main(directory: Path, devices: int, awake: int) -> None:
    from tests.system.model import SIDE
    from tests.system.seed import seed

    django.setup()
    seeded = seed(directory, pairs=2, side=SIDE)
    populate(devices=devices, awake=awake)
    sys.stdout.write(msgspec.json.encode(seeded).decode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
