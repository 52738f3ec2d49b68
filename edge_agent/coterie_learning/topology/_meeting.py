"""Shared by gossip topologies: how models are mixed, and plans under which devices may not meet."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from coterie_learning.local import DELTA
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

MOST_DEVICES = 256
"""Most devices of a round, since each gets the keys of all others."""
MOST_BYTES = 48 << 20
"""Largest message between two devices, since it is read in memory."""
Mixing = Annotated[
    Literal["clipped", "mean"],
    Meta(
        description="clipped: each is sent all models, and a peer's counts no more than half of the others' do; mean: "
        "less is sent, and one poisoned model moves all"
    ),
]


def misfit_of_mixing(mixing: Mixing, group: int) -> Reason | None:
    """Groups in which an outlier cannot be told from the other model."""
    if mixing != "clipped" or group > 2:
        return None
    detail = f"in a meeting of {group} nobody can tell whether the other's model is poisoned"
    return Reason("plan.too_few_peers", f"{detail}; let at least 3 devices meet at once, or take mixing mean")


def misfit_of_meetings(plan: "Plan", model: ModelSpec | None) -> Reason | None:
    """Parts of a plan that check updates before mixing, cannot be averaged, or that other devices may not read."""
    if plan.merge.reads != "sums":
        detail = f"merge {plan.merge.name} reads {plan.merge.reads} of single updates, which meetings have mixed"
        return Reason("plan.needs_sums", f"{detail}; take a merge of sums, such as fed_avg, or topology star")
    if plan.pace.staleness_allowed() is not None:
        detail = f"pace {plan.pace.name} has devices begin at different versions, whose differences have no mean"
        return Reason("plan.needs_one_base", f"{detail}; take pace sync, or topology star")
    if plan.pace.holds_rounds() and plan.pace.updates_wanted() > MOST_DEVICES:
        detail = f"a round of {plan.pace.updates_wanted()} updates: at most {MOST_DEVICES} devices meet in a round"
        return Reason("plan.too_many_peers", f"{detail}; lower target_updates, or take topology star")
    if not plan.privacy.leaves_as_is:
        detail = f"privacy {plan.privacy.name} covers what the platform is sent, and peers read each other's models"
        return Reason("plan.read_by_peers", f"{detail}; take privacy none, or topology star")
    if plan.local.parts != (DELTA,) or plan.local.scalars or plan.local.moves_together:
        detail = f"local {plan.local.name} remembers or sends more than parameters, which meetings do not average"
        return Reason("plan.not_averaged", f"{detail}; take local sgd or prox, or topology star")
    if not plan.local.scope().is_whole or plan.local.trains_personal_model() or plan.local.needs_teacher():
        detail = f"local {plan.local.name} does not train the whole of one model, which meetings would average"
        return Reason("plan.not_averaged", f"{detail}; take local sgd or prox, or topology star")
    if plan.codec.coarse:
        detail = f"one message of codec {plan.codec.name} says too little of a model for another device to go on"
        return Reason("plan.too_coarse", f"{detail}; take float32, int8 or int4")
    if plan.help.rules() is not None:
        detail = f"under help {plan.help.name} devices begin rounds with parts of others' models, which do not meet"
        return Reason("plan.not_averaged", f"{detail}; take help none, or topology star")
    if model is not None and (size_bytes := plan.codec.payload_bytes(model.parameters).most) > MOST_BYTES:
        detail = f"a model takes {size_bytes} bytes with codec {plan.codec.name}: peers send {MOST_BYTES} at most"
        return Reason("plan.too_large", f"{detail}; take a codec of fewer bytes, or topology star")
    if model is not None and model.statistics:
        detail = "the model has running statistics, which meetings do not average"
        return Reason("plan.not_averaged", f"{detail}; take a model without batch norm, or topology star")
    return None
