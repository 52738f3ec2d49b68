"""Why nothing more is released."""

from coterie_wire.conditions import Reason

BUDGET_SPENT = "privacy.budget_spent"
RESTING = "privacy.resting"


def out_of_budget(*, needed: int, affordable: int) -> Reason:
    """No further round can be held, however many devices are ready."""
    who = "1 device has" if affordable == 1 else f"{affordable} devices have"
    sentence = f"a round needs {needed} devices with privacy budget left, and {who}; raise a budget to go on"
    return Reason(BUDGET_SPENT, sentence)


def device_out_of_budget() -> Reason:
    """The device is not asked, and its update is not released."""
    return Reason(BUDGET_SPENT, "one more release would exceed its privacy budget, or the federation's")


def resting(rounds: int) -> Reason:
    """The device is not invited, because it took part too recently."""
    sentence = "it took part a short time ago, and the plan's noise hides parts that are apart"
    return Reason(RESTING, f"{sentence}: it rests for {_rounds(rounds)} more")


def device_resting() -> Reason:
    """The device's update is not released."""
    return Reason(RESTING, "it is in a release too near to this one, and the plan's noise hides parts that are apart")


def too_few_rested(*, needed: int, others: int, apart: int) -> Reason:
    """No further round can be held with this fleet under this plan."""
    have = "1 device of the fleet has" if others == 1 else f"{others} devices of the fleet have"
    sentence = f"a round needs {needed} devices that have rested for {_rounds(apart - 1)}, and {have}"
    return Reason("privacy.too_few_rested", f"{sentence}; take smaller rounds or a smaller separation_rounds")


def stream_ended(rounds: int) -> Reason:
    """No further round is held."""
    sentence = f"all {rounds} releases that the plan's guarantee is stated for have been made"
    return Reason(
        "privacy.stream_ended", f"{sentence}; a larger target_rounds goes on, and each further part is charged"
    )


def _rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count} rounds"
