"""What devices tell and ask one another through the platform, so that one helps another (Daga et al. 2019, Cartel).

A device reports a profile of its data, asks for help, serves a portion of its model, merges one and judges it. What it
should do now stands in the directive that answers its check-in; these are the structs of both directions.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_wire.bundle import BlobRef, Sha256
from coterie_wire.conditions import Reason
from coterie_wire.message import Count, Identifier, Message, Seconds, Share
from coterie_wire.relaying import DirectPeer

MAX_REPORTED_CLASSES = 256
"""Of one profile, the most frequent; keeps a report small however many classes a model has."""
Class = Annotated[int, Meta(ge=0, lt=1_000_000)]
Classes = Annotated[tuple[Class, ...], Meta(max_length=MAX_REPORTED_CLASSES)]
HelpState = Literal[
    "unknown", "asked", "matched", "requested", "delivered", "merged", "judged", "unmatched", "abandoned"
]
"""Of a help request; ``unknown`` asks the device to ask again. The last three are ends."""
PORTIONS_PATH = "/portions"
"""Where a device that helps answers over a direct path."""
DIRECT_S = 45.0
"""For which a portion waits at its helper to be fetched."""
ENDED: frozenset[HelpState] = frozenset({"judged", "unmatched", "abandoned"})


class SampleNoise(Message, frozen=True):
    """What noise of the device's own leaves to be learned of one of its samples, by the device's word."""

    epsilon: Annotated[float, Meta(ge=0)]
    """Of all profiles and help requests that count the sample, together."""
    delta: Annotated[float, Meta(gt=0, lt=1)]


class Profile(Message, frozen=True):
    """A device's latest batches in counts, each batch judged before it was learned from."""

    batch: Count
    """Batches judged so far; tells a newer profile from an older one."""
    classes: Classes = ()
    """Classes among the latest batches, ascending."""
    counts: Annotated[tuple[Count, ...], Meta(max_length=MAX_REPORTED_CLASSES)] = ()
    """Samples of each; rounded or all 1 where the owner wants the device to tell less."""
    hits: Annotated[tuple[Count, ...], Meta(max_length=MAX_REPORTED_CLASSES)] | None = None
    """How many of each were predicted rightly; None: the owner does not tell, and the device helps nobody."""
    drifting: bool = False
    """Whether its own model fails it, so that it should help nobody."""
    willing: bool = True
    """Whether its owner lets it help others."""
    noise: SampleNoise | None = None
    """What classes, counts and hits were noised to; None: they were not."""

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.classes) or (self.hits is not None and len(self.hits) != len(self.classes)):
            raise ValueError("classes, counts and hits differ in length")
        if any(later <= earlier for earlier, later in zip(self.classes, self.classes[1:], strict=False)):
            raise ValueError("classes are not ascending")
        if self.hits is not None and any(hit > count for hit, count in zip(self.hits, self.counts, strict=True)):
            raise ValueError("a class has more hits than samples")

    @property
    def error(self) -> float | None:
        """Share of the samples that were predicted wrongly; None where that is not told, or there are none."""
        samples = sum(self.counts)
        return None if self.hits is None or not samples else 1 - sum(self.hits) / samples


class ReportProfile(Message, frozen=True):
    """Tell how the device's data and its model's errors have moved; replaces what was told before."""

    federation: Annotated[str, Meta(max_length=100)]
    profile: Profile


class AskHelp(Message, frozen=True):
    """The device's model fails on `classes`; asking again with the same `request` changes nothing."""

    request: Annotated[str, Meta(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    """UUID, chosen by the device before it asks first."""
    federation: Annotated[str, Meta(max_length=100)]
    classes: Annotated[Classes, Meta(min_length=1)]
    """Those of which too few are predicted rightly, ascending."""
    profile: Profile


class WithdrawHelp(Message, frozen=True):
    """The device has recovered by itself; nobody need help it any more."""

    request: Identifier


class Portion(Message, frozen=True):
    """A helper's portion of its model, ready for the device that asked."""

    transfer: Identifier
    content: BlobRef
    remaining_s: Seconds
    """Until the device must have judged it."""
    direct: DirectPeer | None = None
    """The helper, which gives it away itself; None: it is at the platform."""


class HelpNews(Message, frozen=True):
    """How the device's help request stands."""

    request: Identifier
    state: HelpState
    reason: Reason | None = None
    """Why it waits, or how it ended."""
    portion: Portion | None = None
    """What to merge and judge now."""


class Serve(Message, frozen=True):
    """Help another device: upload the portion of the own model that knows `classes`."""

    transfer: Identifier
    federation: Annotated[str, Meta(max_length=100)]
    digest: Sha256
    """Of the standing plan that both devices go by."""
    classes: Classes
    remaining_s: Seconds
    """Until the portion must have arrived; another device is asked then."""
    direct: DirectPeer | None = None
    """The device that asked, which tries to fetch the portion from this one: it is announced and not uploaded, until
    `DIRECT_S` have passed or the platform says so; None: it is uploaded."""


class StandingPlan(Message, frozen=True):
    """What holds for a member of a federation between rounds."""

    digest: Sha256
    """Of the plan's bytes; the device repeats it at each check-in, and is told the plan when it changes."""
    federation: Annotated[str, Meta(max_length=100)]
    plan: msgspec.Raw
    """A `coterie_learning.device_plan.DevicePlan`."""


class OfferPortion(Message, frozen=True):
    """Announce the portion of a transfer, or ask how far its upload came."""

    transfer: Identifier
    sha256: Sha256
    size_bytes: Annotated[int, Meta(ge=1, le=2**53)]


class DeclineTransfer(Message, frozen=True):
    """The helper will not serve, or the device that asked can no longer use what was served; the reason is its own."""

    transfer: Identifier
    reason: Reason


class ReportReceived(Message, frozen=True):
    """Whether the device has the portion of a transfer from the helper itself."""

    transfer: Identifier
    failed: Reason | None = None
    """Why it has not: the helper is to upload it."""


class PortionOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In the clear before what is sealed: which portion is wanted, so by whose key the rest is to be opened."""

    transfer: Identifier


class Fetch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From the device that asked to the one that helps, sealed: the portion of a transfer from an offset on."""

    transfer: Identifier
    number: Annotated[bytes, Meta(min_length=16, max_length=16)]
    """Random; the answer repeats it."""
    offset: Count


class Fetched(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reply, sealed, before a piece of the portion."""

    number: Annotated[bytes, Meta(min_length=16, max_length=16)]


class ReportMerged(Message, frozen=True):
    """The device has merged the portion into its own model and is about to judge it."""

    transfer: Identifier


class GiveVerdict(Message, frozen=True):
    """Whether the device kept what it merged: accuracy of its own model on its newest samples, without and with it."""

    transfer: Identifier
    kept: bool
    accuracy_before: Share
    accuracy_after: Share
    samples: Annotated[int, Meta(ge=1, le=2**53)]
    """Samples judged on."""
