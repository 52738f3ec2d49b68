"""Gossip: the devices of a round average their models among themselves, in small groups, and come home at its end.

Groups and averages are `coterie_learning.meetings`: Moshpit SGD (Ryabinin et al. 2021, arXiv 2103.03239), which with
groups of two is D-PSGD (Lian et al. 2017, arXiv 1705.09056). No meeting needs the platform. It loses to a star where
few devices come to a meeting, and gains no accuracy where all have data of the same distribution.
"""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.local import DELTA
from coterie_learning.meetings import MOST_MEMBERS, MeetingRules
from coterie_learning.topology import Topology
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

MOST_DEVICES = 256
"""Of a round: each is told the keys of all others."""
MOST_BYTES = 48 << 20
"""Of a message between two devices, which is held in memory while it is read."""


class Gossip(Topology, frozen=True, tag="gossip"):
    """Devices train, meet, train again; after the last meeting each sends the platform what it has come to."""

    meetings: Annotated[int, Meta(ge=1, le=10_000, description="meetings in a round, a training before each")] = 10
    group: Annotated[
        int, Meta(ge=2, le=MOST_MEMBERS, description="devices that meet at once, at most; 2: pairs, as in D-PSGD")
    ] = 4
    settling: Annotated[
        int, Meta(ge=0, le=100, description="meetings at the end without a training, so that the devices agree")
    ] = 4
    wait_s: Annotated[
        float, Meta(ge=0.1, le=86_400, description="seconds that a device waits for the others of its group")
    ] = 30.0

    since = "0.2"

    def meeting_rules(self) -> MeetingRules:
        return MeetingRules(self.meetings, self.settling, self.group, self.wait_s)

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """What would be mixed before anybody could look at it, or cannot be averaged, or other devices may not read."""
        if plan.merge.reads != "sums":
            detail = f"merge {plan.merge.name} reads {plan.merge.reads} of single updates, which meetings have mixed"
            return Reason("plan.needs_sums", f"{detail}; take a merge of sums, such as fed_avg, or topology star")
        if plan.pace.staleness_allowed() is not None:
            detail = f"pace {plan.pace.name} has devices begin at different versions, whose differences have no mean"
            return Reason("plan.needs_one_base", f"{detail}; take pace sync, or topology star")
        if plan.pace.holds_rounds() and plan.pace.updates_wanted() > MOST_DEVICES:
            detail = f"a round of {plan.pace.updates_wanted()} updates: at most {MOST_DEVICES} devices meet in a round"
            return Reason("plan.too_many_peers", f"{detail}; lower target_updates, or take topology star")
        if not plan.privacy.leaves_as_is():
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
