"""What a plan would make devices send and fetch, estimated before it is used."""

from dataclasses import dataclass

from coterie_learning.contribution import sent_bytes
from coterie_learning.plan import Plan
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import running_statistics
from coterie_wire.tensors import encoded_bytes

MONTH_S = 30 * 86_400.0


@dataclass(frozen=True)
class ExpectedTraffic:
    """Bytes per device, per round and per month."""

    update_bytes: int
    """What a device sends in a round, usually; exact where it lies between equal bounds."""
    least_update_bytes: int
    most_update_bytes: int
    version_bytes: int
    """What a device fetches before a round: the version's tensors."""
    difference_bytes: int
    """The same for a device that holds the previous version, usually; all of it where the plan has no differences."""
    round_up_bytes: int
    """What all devices of a round send, if all wanted updates come."""
    round_down_bytes: int
    """What they fetch, if each holds the previous version."""
    rounds_a_month: float
    """If each round lasts until its deadline; rounds that close sooner are more frequent."""
    month_up_bytes: int
    """What devices send in the rounds of thirty days."""
    month_down_bytes: int


def expected_traffic(plan: Plan, model: ModelSpec) -> ExpectedTraffic | None:
    """None where the plan holds no rounds. Raises WireError ``plan.no_head``."""
    pace = plan.pace
    if not pace.holds_rounds():
        return None
    update, version = sent_bytes(plan, model), encoded_bytes(model.version)
    difference = _difference_bytes(plan, model, version)
    up, down = pace.updates_wanted() * update.usual, pace.updates_wanted() * difference
    rounds = MONTH_S / (pace.deadline_after_s() + pace.pause_after_s())
    return ExpectedTraffic(
        update_bytes=update.usual,
        least_update_bytes=update.least,
        most_update_bytes=update.most,
        version_bytes=version,
        difference_bytes=difference,
        round_up_bytes=up,
        round_down_bytes=down,
        rounds_a_month=rounds,
        month_up_bytes=round(rounds * up),
        month_down_bytes=round(rounds * down),
    )


def _difference_bytes(plan: Plan, model: ModelSpec, version: int) -> int:
    codec = plan.down.codec()
    if codec is None:
        return version
    statistics = running_statistics(model)
    beside = encoded_bytes(statistics) if statistics else 0
    return min(version, beside + codec.payload_bytes(model.parameters).usual)
