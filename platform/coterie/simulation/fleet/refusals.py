"""Plans that a fleet's simulation refuses, whatever its model and its samples are."""

from typing import Literal

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.work import Executor
from coterie_learning.plan import Plan


def check_plan(plan: Plan, *, drifts: bool, has_cloud: bool, executor: Executor | Literal["auto"]) -> None:
    """Refuse what a fleet cannot simulate, which takes no compiled model to know. Raises DoesNotFit.

    `drifts`: samples come over time. `has_cloud`: there is a cloud model.
    """
    problem = None
    if not plan.pace.holds_rounds():
        problem = f"pace {plan.pace.name} holds no rounds"
    elif plan.help.rules() is not None:
        problem = f"help {plan.help.name} is about data that change"
    elif plan.local.period_s() is not None:
        problem = f"local {plan.local.name} asks when samples came"
    if problem is not None and not drifts:
        raise DoesNotFit(
            detail=f"{problem}, and devices here have all their samples from the beginning; let samples come over "
            "time with a drift (--drift steady, introduced:SHARE or by:COLUMN)"
        )
    if is_on_a_clock(plan, drifts=drifts, has_cloud=has_cloud) and executor == "batched":
        raise DoesNotFit(detail="devices that do more than rounds train one by one; leave --executor out")
    if not plan.needs_cloud_model and has_cloud and not plan.pace.holds_rounds():
        raise DoesNotFit(detail=f"pace {plan.pace.name} takes nothing from a cloud model; leave --cloud out")


def is_on_a_clock(plan: Plan, *, drifts: bool, has_cloud: bool) -> bool:
    """Whether devices do more than rounds on fixed samples, and are therefore simulated individually on a clock."""
    return drifts or has_cloud or plan.topology.meeting_rules() is not None
