"""What the device knows of itself that a question may be about."""

from coterie_agent.device import capabilities
from coterie_agent.situation import Now
from coterie_agent.store.opened import Store
from coterie_learning.question import NONE, OwnFacts


def own_facts(store: Store, now: Now) -> OwnFacts:
    """As it is now."""
    device, conditions = capabilities(), now.conditions
    outcomes = store.work.outcomes()
    latest = outcomes[0].outcome if outcomes else NONE
    return OwnFacts(
        class_counts=store.samples.class_counts(),
        quantities={
            "samples": float(store.samples.usable()),
            "train_step_s": store.journal.measurement("train_step_s"),
            "upload_s": store.journal.measurement("upload_s"),
            "temperature_c": conditions.temperature_c,
            "cores": float(device.cores),
            "memory_bytes": float(device.memory_bytes),
        },
        properties={
            "machine": device.machine,
            "agent": device.agent,
            "charging": conditions.charging,
            "network": conditions.network,
            "idle": conditions.idle,
            "reason": now.blockers[0].code if now.blockers else NONE,
            "outcome": latest,
        },
        is_failing=latest in ("dropped", "released"),
        is_waiting=bool(now.blockers),
    )
