"""Why something of a device is gone, and what forgetting it waits for."""

from coterie_wire.conditions import Reason

FORGOTTEN = Reason("owners.forgotten", "the device was forgotten, as its owner wants it")
ASKED = Reason("owners.asked", "what is known of the device is about to be removed")
REMOVING = Reason("owners.removing", "its files are being removed")


def in_a_sum(federation: str, number: int) -> Reason:
    """A sum that is being formed cannot be formed without what is in it already."""
    return Reason(
        "owners.in_a_sum",
        f"its update is in a sum of round {number} of {federation}, from which it cannot be taken; it is removed when "
        "the round ends",
    )


def in_an_answer(federation: str) -> Reason:
    """So it is with the sum of answers to a question."""
    return Reason(
        "owners.in_an_answer",
        f"its answer is in a sum that {federation} is asked for, from which it cannot be taken; it is removed when the "
        "question ends",
    )
