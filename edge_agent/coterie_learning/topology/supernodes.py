"""Supernodes: hierarchical aggregation; a device at each site sums its neighbours' updates, and sends one sum.

After the aggregators of Bonawitz et al. 2019, "Towards federated learning at scale" (MLSys), §4, moved to the edge as
in Liu et al. 2020, "Client-edge-cloud hierarchical federated learning". Sums are exact, so that the version does not
depend on the tree. It loses where a site has few devices and a coarse codec: a sum takes two bytes a parameter with
`int8`, four with `float32`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.partial_sums import saved_bytes
from coterie_learning.topology import Topology
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.relaying import MAX_TIERS

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class Supernodes(Topology, frozen=True, tag="supernodes"):
    """Devices of one site send their updates to a neighbour whose owner allows it, and that device sends their sum."""

    members: Annotated[int, Meta(ge=2, le=100)] = 32
    """Devices that send to one supernode at most."""
    site: Annotated[str, Meta(min_length=1, max_length=40)] = "site:"
    """Devices are neighbours that have the same tag that begins so, as ``site:hall-3``; those without send directly."""
    wait_s: Annotated[float, Meta(ge=1, le=86_400)] = 60.0
    """Seconds that a supernode has to sum and send; then its devices send their updates to the platform."""
    above: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=40)], ...],
        Meta(
            max_length=MAX_TIERS,
            description="sums of sites meet again before they come to the platform: how the tags begin of those that "
            'share a supernode, from the inside out, as "building:", "region:"',
        ),
    ] = ()

    since = "0.2"

    def fan_in(self) -> int | None:
        return self.members

    def site_tag(self) -> str:
        return self.site

    def patience_s(self) -> float:
        return self.wait_s

    def tiers(self) -> Sequence[str]:
        return self.above

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """Kinds that need more than the sum over a site, or updates that no other device may read."""
        if plan.merge.reads != "sums":
            detail = f"merge {plan.merge.name} reads {plan.merge.reads} of single updates, and a supernode sends sums"
            return Reason("plan.needs_sums", f"{detail}; take a merge of sums, such as fed_avg, or topology star")
        if plan.pace.staleness_allowed() is not None:
            detail = f"pace {plan.pace.name} merges updates from different versions, which have no common sum"
            return Reason("plan.needs_one_base", f"{detail}; take pace sync, or topology star")
        if not plan.privacy.is_summed_by_others or plan.privacy.releases == "sums" or plan.privacy.bound() is not None:
            detail = f"privacy {plan.privacy.name} leaves it to the platform alone to sum updates"
            return Reason("plan.not_summed_by_others", f"{detail}; take topology star")
        if plan.local.scalars:
            detail = f"local {plan.local.name} sends numbers beside its parameters, of which there are no partial sums"
            return Reason("plan.no_partial_sums", f"{detail}; take topology star")
        if model is None:
            return None
        if model.statistics:
            detail = "the model has running statistics, of which there are no partial sums"
            return Reason("plan.no_partial_sums", f"{detail}; take topology star, or a model without batch norm")
        if saved_bytes(plan.local, plan.codec, model, members=self.members) <= 0:
            detail = f"{self.members} updates with codec {plan.codec.name} are smaller than their sum"
            return Reason("plan.no_saving", f"{detail}; raise members, or take topology star")
        return None
