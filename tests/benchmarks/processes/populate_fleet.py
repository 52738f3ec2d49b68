"""Prepare a platform with devices: ``python -m tests.benchmarks.processes.populate_fleet DIRECTORY DEVICES AWAKE``.

The settings come from the environment, as the platform's own do. Prints what `tests.system.seed` gives.
"""

import sys
from datetime import timedelta
from pathlib import Path

import django
import msgspec

AWAKE = "awake"
"""Tag of the devices that hold sockets."""


def credential(number: int) -> str:
    """Of one of the devices."""
    return f"cod_bench_{number}"


def populate(*, devices: int, awake: int) -> None:
    """Devices that have checked in and are ready, the first of them tagged `AWAKE`; Django is set up."""
    from django.utils import timezone

    from coterie.core.credentials import hash_secret
    from coterie.fleet.counting import count_devices
    from coterie.fleet.models import Device

    now = timezone.now()
    Device.objects.bulk_create(
        (
            Device(
                name=f"device-{number}",
                tags=[AWAKE] if number < awake else [],
                credential_hash=hash_secret(credential(number)),
                enrolled_at=now,
                last_seen_at=now,
                present_until=now + timedelta(days=1),
                conditions={"charging": "yes", "network": "wifi"},
            )
            for number in range(devices)
        ),
        batch_size=2_000,
    )
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
