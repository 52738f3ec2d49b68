"""Messages of help between devices, which the platform matches (Daga et al. 2019, Cartel).

A device reports a profile of its data, asks for help, serves a portion of its model, and merges and judges another
device's portion. The directive that answers its check-in says which of these it should do now.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_wire.bundle import BlobRef, Sha256
from coterie_wire.conditions import Reason
from coterie_wire.message import Count, Identifier, Message, Seconds, Share
from coterie_wire.relaying import DirectPeer

MAX_REPORTED_CLASSES = 256
"""Most classes in a profile, the most frequent ones; this bounds a report's size."""
Class = Annotated[int, Meta(ge=0, lt=1_000_000)]
Classes = Annotated[tuple[Class, ...], Meta(max_length=MAX_REPORTED_CLASSES)]
HelpState = Literal[
    "unknown", "asked", "matched", "requested", "delivered", "merged", "judged", "unmatched", "abandoned"
]
"""States of a help request. ``unknown``: the platform has no such request, and the device should ask again."""
PORTIONS_PATH = "/portions"
"""The path at which a helper answers over a direct path."""
DIRECT_S = 45.0
"""Seconds for which a helper keeps a portion to be fetched before it uploads the portion."""
ENDED: frozenset[HelpState] = frozenset({"judged", "unmatched", "abandoned"})
"""The final states of a help request."""


class SampleNoise(Message, frozen=True):
    """The differential privacy of one sample under the device's own noise, as the device reports it."""

    epsilon: Annotated[float, Meta(ge=0)]
    """Epsilon over all profiles and help requests that count the sample."""
    delta: Annotated[float, Meta(gt=0, lt=1)]


class Profile(Message, frozen=True):
    """Counts over a device's latest batches; each batch is evaluated before the model trains on it."""

    batch: Count
    """Number of batches evaluated so far; the profile with the greater number is the newer one."""
    classes: Classes = ()
    """Classes that occur in the latest batches, ascending."""
    counts: Annotated[tuple[Count, ...], Meta(max_length=MAX_REPORTED_CLASSES)] = ()
    """Number of samples of each of `classes`; rounded, or all 1, where the owner wants less to be reported."""
    hits: Annotated[tuple[Count, ...], Meta(max_length=MAX_REPORTED_CLASSES)] | None = None
    """Number of correct predictions for each of `classes`; None: the owner withholds it, and the device cannot help."""
    drifting: bool = False
    """Whether the device has detected drift: its own model fails, so that it should not help others."""
    willing: bool = True
    """Whether the owner lets the device help others."""
    noise: SampleNoise | None = None
    """Privacy of the noise that was added to classes, counts and hits; None: none was added."""

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.classes) or (self.hits is not None and len(self.hits) != len(self.classes)):
            raise ValueError("classes, counts and hits differ in length")
        if any(later <= earlier for earlier, later in zip(self.classes, self.classes[1:], strict=False)):
            raise ValueError("classes are not ascending")
        if self.hits is not None and any(hit > count for hit, count in zip(self.hits, self.counts, strict=True)):
            raise ValueError("a class has more hits than samples")

    @property
    def error(self) -> float | None:
        """Share of wrong predictions, 0 to 1; None where hits are withheld or there are no samples."""
        samples = sum(self.counts)
        return None if self.hits is None or not samples else 1 - sum(self.hits) / samples


class ReportProfile(Message, frozen=True):
    """Report a profile; it replaces the device's earlier one in this federation."""

    federation: Annotated[str, Meta(max_length=100)]
    profile: Profile


class AskHelp(Message, frozen=True):
    """Ask for help on `classes`, on which the device's model fails. Repeating the same `request` changes nothing."""

    request: Annotated[str, Meta(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    """UUID that the device has drawn for the request."""
    federation: Annotated[str, Meta(max_length=100)]
    classes: Annotated[Classes, Meta(min_length=1)]
    """Classes with too low an accuracy, ascending."""
    profile: Profile


class WithdrawHelp(Message, frozen=True):
    """End a help request: the device's model has recovered without help."""

    request: Identifier


class Portion(Message, frozen=True):
    """The portion of a helper's model, ready for the device that asked."""

    transfer: Identifier
    content: BlobRef
    remaining_s: Seconds
    """Seconds within which the device must have judged it."""
    direct: DirectPeer | None = None
    """The helper, from which the device fetches the portion itself; None: the platform has it."""


class HelpNews(Message, frozen=True):
    """The state of the device's help request."""

    request: Identifier
    state: HelpState
    reason: Reason | None = None
    """Why the request waits, or how it ended."""
    portion: Portion | None = None
    """The portion to merge and judge now; None: there is none yet."""


class Serve(Message, frozen=True):
    """Help another device: offer the portion of the own model that predicts `classes`."""

    transfer: Identifier
    federation: Annotated[str, Meta(max_length=100)]
    digest: Sha256
    """Digest of the standing plan that both devices follow."""
    classes: Classes
    remaining_s: Seconds
    """Seconds until the portion must have arrived; then the platform asks another helper."""
    direct: DirectPeer | None = None
    """The device that asked, which tries to fetch the portion from this device. This device announces the portion and
    uploads it only after `DIRECT_S`, or when the platform says so. None: it is uploaded at once."""


class StandingPlan(Message, frozen=True):
    """The plan that a member of a federation follows between rounds."""

    digest: Sha256
    """SHA-256 of the plan's bytes. The device sends it at each check-in and receives the plan when it has changed."""
    federation: Annotated[str, Meta(max_length=100)]
    plan: msgspec.Raw
    """A `coterie_learning.device_plan.DevicePlan`."""


class OfferPortion(Message, frozen=True):
    """Announce the portion of a transfer, or ask how many bytes of its upload have arrived."""

    transfer: Identifier
    sha256: Sha256
    size_bytes: Annotated[int, Meta(ge=1, le=2**53)]


class DeclineTransfer(Message, frozen=True):
    """End a transfer: the helper does not serve it, or the device that asked cannot use the portion."""

    transfer: Identifier
    reason: Reason


class ReportReceived(Message, frozen=True):
    """Whether the device has fetched the portion of a transfer from the helper."""

    transfer: Identifier
    failed: Reason | None = None
    """Why it has not, so that the helper is to upload the portion; None: it has the portion."""


class PortionOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Unencrypted head of a `Fetch`: the transfer, by which the helper finds the key that opens the rest."""

    transfer: Identifier


class Fetch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From the device that asked to its helper, sealed: send the portion of a transfer from byte `offset` on."""

    transfer: Identifier
    number: Annotated[bytes, Meta(min_length=16, max_length=16)]
    """Random; the answer repeats it."""
    offset: Count


class Fetched(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reply to a `Fetch`, sealed; bytes of the portion follow it."""

    number: Annotated[bytes, Meta(min_length=16, max_length=16)]


class ReportMerged(Message, frozen=True):
    """The device has merged the portion into its own model and is about to judge it."""

    transfer: Identifier


class GiveVerdict(Message, frozen=True):
    """Whether the device kept the merged model, with its accuracy on the newest samples before and after the merge."""

    transfer: Identifier
    kept: bool
    accuracy_before: Share
    accuracy_after: Share
    samples: Annotated[int, Meta(ge=1, le=2**53)]
    """Number of samples on which the accuracies were measured."""
