"""Why rounds and devices wait, and why rounds are abandoned: stable codes, and sentences made of counts."""

from collections.abc import Mapping

from coterie_wire.conditions import Reason

MAX_CHARACTERS = 400
NEEDS_DEVICES = "rounds.needs_devices"
ROLLING_OUT = "rounds.rolling_out"

NO_FEDERATION = Reason("rounds.no_federation", "no federation that is running asks this device")
HOLDS_NONE = Reason("rounds.holds_none", "the plan holds no rounds: every device learns by itself")
PAUSED = Reason("rounds.federation_paused", "the federation is paused")
FINISHED = Reason("rounds.federation_finished", "the federation has finished")
NO_MODEL = Reason("rounds.no_model", "the pair has no device model yet: bootstrap it first")
NO_CLOUD_MODEL = Reason("rounds.no_cloud_model", "the pair has no cloud model yet: bootstrap it first")
MERGING = Reason("rounds.merging", "the updates are being merged")
CLOSING = Reason("rounds.closing", "the round takes no more updates and is about to be merged")
BETWEEN = Reason("rounds.between", "the next round is being planned")
CLOSED = Reason("rounds.round_closed", "the round closed before the update had arrived")
ABSENT = Reason("rounds.device_absent", "the device fell silent")
GONE = Reason("rounds.device_gone", "the device was revoked or has left the fleet")
HELD_BACK = Reason("rounds.held_back", "an operator paused or pinned the device while the round was held")
MERGE_FAILED = Reason("rounds.merge_failed", "every worker that merged the updates died")
BASE_MOVED = Reason("rounds.base_moved", "the champion was moved while the round was held, so its updates fit no more")


def pause(seconds: float) -> Reason:
    """The next round's time has not come."""
    return Reason("rounds.pause", f"the next round may open in {seconds:.0f} s")


def needs_devices(*, needed: int, eligible: int, others: Mapping[str, int]) -> Reason:
    """Too few devices are ready; `others` counts the rest by what keeps them."""
    kept = ", ".join(f"{count} {what}" for what, count in sorted(others.items(), key=lambda item: (-item[1], item[0])))
    sentence = f"needs {needed} {_devices(needed)}, {eligible} eligible" + (f": {kept}" if kept else "")
    return Reason(NEEDS_DEVICES, sentence[:MAX_CHARACTERS])


def collecting(*, wanted: int, delivered: int, stages: Mapping[str, int]) -> Reason:
    """An open round waits for updates; `stages` counts the assignments at work by what they do."""
    at_work = ", ".join(f"{count} {stage}" for stage, count in sorted(stages.items()))
    return Reason("rounds.collecting", f"{delivered} of {wanted} updates are in" + (f": {at_work}" if at_work else ""))


def rolling_out(number: int, sentence: str) -> Reason:
    """The next round begins with whatever version the roll-out leaves in use."""
    return Reason(ROLLING_OUT, f"waits until the roll-out of version {number} has ended: {sentence}"[:MAX_CHARACTERS])


def full(number: int) -> Reason:
    """The open round has asked as many devices as it wants."""
    return Reason("rounds.full", f"round {number} has all the devices it wants; the next one may ask this device")


def delivered(number: int) -> Reason:
    """The device has done its part."""
    return Reason("rounds.delivered", f"the update for round {number} is in; the round waits for others")


def too_few_updates(*, delivered: int, needed: int) -> Reason:
    """A closed round that is not worth merging."""
    return Reason("rounds.too_few_updates", f"needs {needed} updates, {delivered} came before the deadline")


def distilling(sentence: str) -> Reason:
    """How far a merge by distillation is."""
    return Reason("rounds.distilling", sentence[:MAX_CHARACTERS])


def split(sentence: str) -> Reason:
    """Why there are so many groups."""
    return Reason("rounds.split", sentence[:MAX_CHARACTERS])


def worse_cloud_model(*, candidate: float, champion: float, tolerance: float) -> Reason:
    """The cloud model that learned from the devices lost more accuracy than the federation tolerates."""
    return Reason(
        "rounds.worse_cloud_model",
        f"the cloud model's accuracy is {candidate:.4f} on the held-out data against the champion's {champion:.4f}, "
        f"and {tolerance:.4f} is the most that may be lost",
    )


def worse_than_champion(*, candidate: float, champion: float, tolerance: float) -> Reason:
    """The merged model lost more accuracy than the federation tolerates."""
    return Reason(
        "rounds.worse_than_champion",
        f"accuracy {candidate:.4f} on the held-out data against the champion's {champion:.4f}, "
        f"and {tolerance:.4f} is the most that may be lost",
    )


def larger_loss_than_champion(*, candidate: float, champion: float, tolerance: float) -> Reason:
    """The merged model, whose task has no accuracy, has a larger loss than the federation tolerates."""
    return Reason(
        "rounds.worse_than_champion",
        f"loss {candidate:.4g} on the held-out data against the champion's {champion:.4g}, "
        f"and {tolerance:.2%} more is the most that is tolerated",
    )


def what_keeps(code: str) -> str:
    """A blocker's code in words that can be counted: ``conditions.on_battery`` is "on battery"."""
    return code.rpartition(".")[2].replace("_", " ")


def _devices(count: int) -> str:
    return "device" if count == 1 else "devices"
