"""Roll-outs of the agent: what a look at one costs in a fleet of 100,000, every ten seconds while it runs."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from tests.benchmarks.report import Figure

DEVICES = 100_000
LOOKS = 5
REFUSING = 10
"""One device of so many takes no updates."""
ABSENT = 20
"""One of so many does not check in."""
CAPABILITIES = {
    "cores": 4,
    "memory_bytes": 1 << 32,
    "machine": "aarch64 Linux",
    "agent": "0.2.0",
    "kinds": {f"slot_{slot}": [f"kind_{kind}" for kind in range(6)] for slot in range(9)},
}


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        os.environ |= {
            "COTERIE_STATE": str(Path(directory) / "state"),
            "DJANGO_SETTINGS_MODULE": "coterie.config.settings",
        }
        return list(_looks())


def _looks() -> Iterator[Figure]:
    import django

    django.setup()
    from django.core.management import call_command
    from django.utils import timezone

    from coterie.agent_rollouts.advancing import advance_agent_rollouts
    from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
    from coterie.fleet.agents import agents_of, count_by_release

    call_command("migrate", verbosity=0)
    now = timezone.now()
    _populate(now)
    yield _figure("agents counted by release", "no roll-out", lambda: list(count_by_release(agents_of(""))))
    for share in (0.05, 0.25, 1.0):
        AgentRollout.objects.all().delete()
        terms = {"hold_s": 86_400.0, "probation_s": 600.0, "most_failures": 0.1}
        AgentRollout.objects.create(version="9.0.0", phases=[share], created_at=now, phase_since=now, **terms)
        case = f"{share:.0%} asked"
        yield _figure("the look that asks them", case, lambda: advance_agent_rollouts(now=now), looks=1)
        DeviceUpdate.objects.filter(device__present_until__gt=now).update(state="installed", installed_at=now)
        yield _figure("a later look", case, lambda: advance_agent_rollouts(now=now))
        rollout = AgentRollout.objects.get()
        assert rollout.state == "running", rollout.reason_sentence


def _populate(now: datetime) -> None:
    from coterie.core.credentials import hash_secret
    from coterie.fleet.agents import add_agents
    from coterie.fleet.models import Device
    from coterie_wire.messages import Capabilities
    from coterie_wire.structs import from_values

    refuses = {"refuses": {"code": "updates.off", "sentence": "its owner wants no updates"}}
    told = [{**CAPABILITIES, "updates": {}}, {**CAPABILITIES, "updates": refuses}]
    devices = [
        Device(
            name=f"device-{number}",
            credential_hash=hash_secret(str(number)),
            enrolled_at=now,
            last_seen_at=now,
            present_until=now + timedelta(days=1 if number % ABSENT else -1),
            conditions={"charging": "yes", "network": "wifi"},
            capabilities=told[number % REFUSING == 0],
        )
        for number in range(DEVICES)
    ]
    Device.objects.bulk_create(devices, batch_size=2_000)
    parsed = [from_values(one, Capabilities) for one in told]
    add_agents([(device, parsed[number % REFUSING == 0]) for number, device in enumerate(devices)])


def _figure(metric: str, case: str, look: Callable[[], object], *, looks: int = LOOKS) -> Figure:
    """The least processor time of some looks."""
    took = []
    for _ in range(looks):
        began = time.process_time()
        look()
        took.append(time.process_time() - began)
    return Figure(f"{DEVICES:,} devices, {case}", metric, 1000 * min(took), "ms of processor")
