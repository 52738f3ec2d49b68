"""Why nothing more is released."""

from coterie_wire.conditions import Reason

BUDGET_SPENT = "privacy.budget_spent"


def out_of_budget(*, needed: int, affordable: int) -> Reason:
    """No further round can be held, however many devices are ready."""
    who = "1 device has" if affordable == 1 else f"{affordable} devices have"
    sentence = f"a round needs {needed} devices with privacy budget left, and {who}; raise a budget to go on"
    return Reason(BUDGET_SPENT, sentence)


def device_out_of_budget() -> Reason:
    """The device is not asked, and its update is not released."""
    return Reason(BUDGET_SPENT, "one more release would exceed its privacy budget, or the federation's")
