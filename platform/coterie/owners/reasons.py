"""Why something of a device was removed, and what forgetting it waits for."""

from coterie_wire.conditions import Reason

FORGOTTEN = Reason("owners.forgotten", "the device was forgotten, as its owner wants it")
ASKED = Reason("owners.asked", "what is known of the device is about to be removed")
REMOVING = Reason("owners.removing", "its files are being removed")


def in_a_sum(federation: str, number: int) -> Reason:
    """The device cannot be taken out of a sum that is being formed."""
    return Reason(
        "owners.in_a_sum",
        f"its update is in a sum of round {number} of {federation}, from which it cannot be taken; it is removed when "
        "the round ends",
    )


def in_an_answer(federation: str) -> Reason:
    """The device cannot be taken out of a sum of answers to a question."""
    return Reason(
        "owners.in_an_answer",
        f"its answer is in a sum that {federation} is asked for, from which it cannot be taken; it is removed when the "
        "question ends",
    )


def is_rebuilt(federation: str, reason: Reason | None) -> Reason:
    """What the last step of forgetting waits for."""
    waits_for = "" if reason is None else f": {reason.sentence}"
    return Reason("owners.rebuilding", f"the models of {federation} are made again without it{waits_for}")


REBUILD_ASKED = Reason("owners.rebuild_asked", "what has to be made again is found next")
BEHIND_ANOTHER = Reason("owners.behind_another", "another device's rebuild of the same lineage is finished first")
NOT_IN_USE = Reason("owners.not_in_use", "the version in use holds nothing of the device, so that none had to be made")
RETIRING = Reason("owners.retiring", "the parameters of versions that hold the device are being removed")
NOT_KEPT = Reason("owners.not_kept", "updates that had to be merged again are not kept any more")
NOT_REPEATABLE = Reason(
    "owners.not_repeatable", "something else than merges has made versions since the device's first"
)
ROLLOUT = Reason("owners.rollout", "a roll-out is under way, whose version may come to use; it is waited for")
NO_BASE = Reason(
    "owners.no_base",
    "no version from before the device has its parameters still; have the uploaded weights used, or upload others",
)


def repeating(done: int, of: int) -> Reason:
    """The progress of the rebuild."""
    return Reason("owners.repeating", f"{done} of {of} merges are repeated without the device")


def still_used(versions: int) -> Reason:
    """A round, a roll-out, an evaluation or a pinned device reads what is to be removed."""
    count = "a version that holds" if versions == 1 else f"{versions} versions that hold"
    return Reason(
        "owners.still_used", f"{count} the device: a round, roll-out, evaluation or pinned device uses it still"
    )


def rebuild_failed(problem: str, pause_s: float) -> Reason:
    """The latest attempt failed."""
    return Reason("owners.rebuild_failed", f"it failed, and is tried again {pause_s:.0f} s from now: {problem}")
