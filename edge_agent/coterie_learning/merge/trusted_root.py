"""FLTrust: updates are weighted by their cosine similarity to an update that the platform computes from root samples.

Cao, Fang, Liu, Gong 2021, arXiv 2012.13995, Algorithm 2. With g the update that the platform computes from its root
samples, update u_i has the trust score t_i = max(0, cos(u_i, g)) and is scaled to the norm of g; the version moves by
Σ t_i · |g| / |u_i| · u_i / Σ t_i. There is no majority vote, so that even a majority of attackers does not win; they
can only do what the root samples do not distinguish from learning. Devices' claimed numbers of samples have no effect.
"""

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.merge import Geometry, Vote
from coterie_learning.merge._robust import Comparing
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class TrustedRoot(Comparing, frozen=True, tag="trusted_root"):
    """Trains on samples of the federation's cloud data as devices do, and trusts updates of a similar direction."""

    samples: Annotated[
        int, Meta(ge=1, le=1_000_000, description="root samples: the first of the cloud data, all where it has fewer")
    ] = 100
    compares_with_root: ClassVar[bool] = True

    def root_samples(self) -> int:
        return self.samples

    def weigh(self, found: Geometry) -> Vote:
        """The platform's own update is the last."""
        lengths, length = found.norms[:-1], float(found.norms[-1])
        between = found.squared_distances[:-1, -1]
        products = (lengths * lengths + length * length - between) / 2
        nonzero = lengths * length > 0
        cosines = np.divide(products, lengths * length, out=np.zeros_like(products), where=nonzero)
        trust = np.maximum(cosines, 0)
        weights = np.divide(trust * length, lengths, out=np.zeros_like(trust), where=nonzero)
        return Vote(weights, np.sqrt(between), math.fsum(trust.tolist()))

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:
        """The platform needs samples, and a way to learn from them as devices do."""
        local = plan.local
        if local.runs() > 1 or local.needs_teacher() or not local.scope().is_whole:
            detail = f"the platform cannot compute what local {local.name} would make of its samples; take sgd or prox"
            return Reason("plan.root_cannot_learn", detail)
        if resources is not None and not resources.cloud_data:
            return Reason("plan.needs_cloud_data", "it compares updates with one that the platform learns from samples")
        return super().misfit(plan, model, resources)
