"""The platform answers with the cloud model: offloading of single inferences from a device to the cloud."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from coterie_learning.fallback import Bounds, Fallback
from coterie_learning.kinds import Resources
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.fallback import MAX_SAMPLES

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class CloudModel(Fallback, frozen=True, tag="cloud_model"):
    """Devices whose owners allow it send such samples to the platform, which answers and stores none of them."""

    samples: Annotated[int, Meta(ge=1, le=MAX_SAMPLES, description="samples of one request at most")] = 8
    per_device: Annotated[int, Meta(ge=1, le=6000, description="requests a minute of one device at most")] = 30
    per_minute: Annotated[
        int, Meta(ge=1, le=1_000_000, description="requests a minute of all devices together at most")
    ] = 300

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        if plan.privacy.masking() is None and plan.privacy.releases != "updates":
            return None
        sentence = f"privacy {plan.privacy.name} hides from the platform what devices have, and samples would show it; "
        sentence += "leave fallback none"
        return Reason("plan.not_covered", sentence)

    def platform_bounds(self) -> Bounds:
        return Bounds(self.samples, self.per_device, self.per_minute)
