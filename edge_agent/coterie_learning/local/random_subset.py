"""A random subset of the parameters is trained and sent: a structured update with a random mask.

Konečný et al. 2016 (arXiv 1610.05492, §2): each device draws its own subset in each round, trains only that, and
sends its values and a seed. Values are multiplied by the number of parameters over that of the chosen, like the paper's
subsampled updates (§3), so that the mean over devices is unbiased. Federated Dropout (Caldas et al. 2018, arXiv
1812.07210) instead leaves out whole units, which also reduces computation and download, but needs a model with a known
sequence of layers.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.device_state import State
from coterie_learning.kinds import Resources
from coterie_learning.local import DELTA, Broadcast, Ended, Scope, Trained
from coterie_learning.local._descent import Descent
from coterie_learning.subsets import count_of
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

SUMMED = ("sums", "norms")
"""Values of `Merge.reads` for which zeros in place of the other parameters are harmless."""


class RandomSubset(Descent, frozen=True, tag="random_subset"):
    """Descent on a random share of each tensor's parameters, a new one in each round; share 1 is `sgd`.

    A step still computes all gradients: only the upload becomes smaller. Each parameter is updated only by the devices
    that drew it, so that with few devices in a round the mean of its updates is noisy.
    """

    share: Annotated[
        float, Meta(gt=0, le=1, description="of each tensor's parameters, those that a device trains and sends")
    ] = 0.25
    since: ClassVar[str] = "0.2"

    def scope(self) -> Scope:
        return Scope(share=self.share)

    def end(self, broadcast: Broadcast, trained: Trained, state: State) -> Ended:
        ended = super().end(broadcast, trained, state)
        difference = {
            name: tensor * np.float32(tensor.size / count_of(self.share, tensor.size)) if tensor.size else tensor
            for name, tensor in ended.parts[DELTA].items()
        }
        return ended._replace(parts={DELTA: difference})

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:
        """Kinds that use single devices' updates, most of whose values are zero here."""
        alone = None
        if plan.merge.reads not in SUMMED:
            alone = f"merge {plan.merge.name} looks at each update by itself"
        elif plan.groups.divides:
            alone = f"groups {plan.groups.name} compares devices' models"
        if alone is not None and self.share < 1:
            return Reason("plan.sent_in_part", f"{alone}, and under local {self.name} it is a random part of one")
        return super().misfit(plan, model, resources)
