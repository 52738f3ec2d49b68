"""Plans whose updates spread to where neither repeated merges nor a restart can remove them."""

from typing import TYPE_CHECKING

from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


def out_of_reach(plan: "Plan") -> Reason | None:
    """Where a device's update goes from which the platform cannot remove it; None: into one lineage alone."""
    if plan.help.rules() is not None:
        return _not_kept(f"help {plan.help.name} gives portions of a device's model to other devices, which keep them")
    if plan.topology.meeting_rules() is not None:
        return _not_kept(
            f"under topology {plan.topology.name} devices have averaged their models before they send them"
        )
    if plan.merge.reads == "models" or plan.groups.divides:
        return _not_kept(f"merge {plan.merge.name} has several models learn from a device at once")
    if plan.rollout.is_staged():
        return _not_kept(f"rollout {plan.rollout.name} may put a version to use later that holds the device")
    return None


def _not_kept(why: str) -> Reason:
    return Reason("plan.cannot_forget", f"{why}; choose forgetting none")
