"""Information that noise on updates does not cover; plans that would send it are refused."""

from typing import TYPE_CHECKING

from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.merge import Merge
    from coterie_learning.plan import Plan


def uncovered(kind: str, plan: "Plan", model: ModelSpec | None) -> Reason | None:
    """What devices send under `plan` beside their updates, where privacy `kind` adds noise only to these."""
    if plan.help.rules() is not None:
        detail = f"privacy {kind} covers updates, and help {plan.help.name} sends profiles and portions besides"
        return Reason("plan.not_covered", f"{detail}; take help none")
    if plan.local.scalars:
        named = ", ".join(plan.local.scalars)
        detail = f"local {plan.local.name} sends the numbers {named} beside its updates, which nothing bounds"
        advice = "take local sgd with merge fed_avg, or privacy secure_aggregation, whose sum hides them"
        return Reason("plan.not_covered", f"{detail}, so that no noise of privacy {kind} hides them; {advice}")
    if model is not None and model.statistics:
        detail = f"privacy {kind} does not cover running statistics, which leave the device as they are"
        return Reason("plan.not_covered", f"{detail}; take a model without batch normalisation")
    return None


def equal_weights_advice(merge: "Merge") -> str:
    """What to change so that each update counts once."""
    if "weight_by" in merge.__struct_fields__:
        return "set weight_by to uniform"
    return "take a merge that counts each update once, such as fed_avg with weight_by uniform"


def unsummed(plan: "Plan") -> Reason | None:
    """Parts of `plan` that use updates without the noise on their sum, or weigh them unequally."""
    if plan.merge.reads != "sums":
        detail = f"merge {plan.merge.name} reads {plan.merge.reads} of single updates, and noise is on their sum"
        return Reason("plan.needs_sums", f"{detail}; take a merge of sums, such as fed_avg")
    if set(plan.merge.counted([1, 2, 4])) != {1}:
        detail = f"merge {plan.merge.name} counts updates by their samples, so that noise would hide some less"
        return Reason("plan.needs_equal_weights", f"{detail}; {equal_weights_advice(plan.merge)}")
    if plan.selection.reads_history:
        detail = f"selection {plan.selection.name} chooses by what devices tell of their training, without noise"
        return Reason("plan.not_covered", f"{detail}; take selection uniform")
    return None
