"""The control messages between a device and the platform, each a request with its reply.

Over HTTPS a message is ``POST /device/v1/NAME``; over the socket it is a frame. Both carry the same JSON.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from coterie_wire.alliances import Alliance, ExchangeLetters, JoinAlliance, LettersNews
from coterie_wire.asking import OfferToAnswer, OpenQuestion
from coterie_wire.bundle import Difference, Sha256, SignedManifest
from coterie_wire.certificates import AskCertificate, Certified
from coterie_wire.conditions import Conditions, Reason, Requirements
from coterie_wire.device_log import DeliverLog, LogAsked, ReportLog, SendsLog
from coterie_wire.discovery import AskPeerTicket, PeerTicketGiven
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.evaluating import Evaluate, ReportEvaluation
from coterie_wire.fallback import AskPlatform, PlatformAnswer, PlatformOffer
from coterie_wire.helping import (
    AskHelp,
    DeclineTransfer,
    GiveVerdict,
    HelpNews,
    OfferPortion,
    ReportMerged,
    ReportProfile,
    ReportReceived,
    Serve,
    StandingPlan,
    WithdrawHelp,
)
from coterie_wire.invitation import Invitation, ReadInvitation
from coterie_wire.latency import Latency
from coterie_wire.meeting import MAX_PEERS, Gathering, OfferToMeet
from coterie_wire.message import Count, Identifier, Message, Seconds
from coterie_wire.owning import ExportPage, Forget, ForgetNews, ReadExport, ReadReceipt
from coterie_wire.paths import MAX_SIGNALS, SendSignal, Signal
from coterie_wire.personal import ReportPersonal
from coterie_wire.relaying import HandIn, HandInSum, Lead, OfferPartial, OfferToLead, PublicKey, Route
from coterie_wire.secure_sum import (
    AskSum,
    JoinSum,
    LogEntries,
    OfferMasked,
    ReadLog,
    RevealShares,
    ShareSecrets,
    SumNews,
)
from coterie_wire.structs import from_json
from coterie_wire.trial import ReportTrial, ShadowTrial, Trial
from coterie_wire.updating import AgentUpdate, ReportUpdate, TakesUpdates
from coterie_wire.version import SPOKEN

MAX_CLASS_COUNTS = 10_000
MAX_WITHDRAWN = 64
MAX_NEXT_KEYS = 64
MAX_LATENCIES = 16
MAX_ROOT_BYTES = 64 << 10
KindName = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]


MAX_DECLINED = 100
Declined = Annotated[str, Meta(pattern="^[A-Za-z0-9_:-]{1,120}$")]


class Capabilities(Message, frozen=True):
    """A device's hardware, its agent, and what its owner lets it do."""

    cores: Annotated[int, Meta(ge=1, le=4096)]
    memory_bytes: Count
    machine: Annotated[str, Meta(max_length=100)]
    """Processor and system, e.g. ``aarch64 Linux``."""
    agent: Annotated[str, Meta(max_length=40)]
    """Version of the agent."""
    train_step_s: Seconds | None = None
    """Median duration of one train step in seconds; None until one has run."""
    kinds: Annotated[Mapping[KindName, Annotated[tuple[KindName, ...], Meta(max_length=100)]], Meta(max_length=20)] = {}
    """Names of the kinds that the device has, by slot of a plan; empty: the kinds of agent 0.1."""
    peer_key: PublicKey | None = None
    """Ed25519 public key that identifies it to other devices; None: it communicates with the platform alone."""
    platform_key: PublicKey | None = None
    """The platform key that it trusts, where the agent can follow a change of keys; None: it cannot."""
    relay: OfferToLead | None = None
    """Offer to be a supernode; None: the owner does not allow it."""
    meets: OfferToMeet | None = None
    """Offer to average its model with its peers'; None: the owner does not allow it."""
    answers: OfferToAnswer | None = None
    """Offer to answer questions to the fleet; None: the owner does not allow it."""
    evaluates: bool = False
    """Whether it takes part in federated evaluations."""
    shadows: bool = False
    """Whether it can run a candidate beside the version in use."""
    renews: bool = False
    """Whether it can replace its credential when the platform asks."""
    asks_platform: bool = False
    """Whether the owner lets it send samples that its own model does not answer to the platform."""
    paths: bool = False
    """Whether it opens direct paths to other devices and answers over theirs."""
    updates: TakesUpdates | None = None
    """Whether it installs other releases of its agent; None: its agent cannot."""
    certifies: bool = False
    """Whether it can generate a key and ask for a client certificate when the platform asks."""
    logs: SendsLog | None = None
    """Whether it sends its log where its owner allows it; None: its agent cannot."""
    declines: Annotated[tuple[Declined, ...], Meta(max_length=MAX_DECLINED)] = ()
    """Consent that its owner has withdrawn: ``federation:NAME``, or a kind of data that a plan would have leave it."""


class Enrol(Message, frozen=True):
    """Join a fleet with an enrolment token. Sent without a credential."""

    protocol: Count
    token: Annotated[str, Meta(max_length=200)]
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    capabilities: Capabilities


class Enrolled(Message, frozen=True):
    """The device's ID and its credential, of which the platform keeps only a hash."""

    device: Identifier
    credential: Annotated[str, Meta(pattern=r"^[\x21-\x7e]{1,500}$")]
    """Sent in a header, hence of printable ASCII characters."""
    platform_key: Annotated[bytes, Meta(min_length=32, max_length=32)]
    """Ed25519 public key that every manifest must verify against."""
    check_in_s: Seconds
    update_root: Annotated[bytes, Meta(max_length=MAX_ROOT_BYTES)] | None = None
    """TUF ``root`` metadata, which names the keys that sign releases of the agent; None: the platform has no
    releases."""
    certificates: bool = False
    """Whether the platform issues client certificates; the device is to ask for one with `AskCertificate` at once."""


class LabelFacts(Message, frozen=True):
    """Origin of a device's labels, and the number of questions to its owner."""

    asked: Count = 0
    """Samples that the owner has labelled in answer to a question."""
    implied: Count = 0
    """Samples that a program has labelled from what it observed. All other labels came with their samples."""
    unlabelled: Count = 0
    """Samples without a label, about which the owner may be asked."""
    questions: Count = 0
    """Questions to the owner since the device's store was created."""
    answers: Count = 0
    """Questions that the owner has answered; the others were skipped, or one is open."""


class DataMetadata(Message, frozen=True):
    """Counts of a device's samples."""

    samples: Count = 0
    class_counts: Annotated[tuple[Count, ...], Meta(max_length=MAX_CLASS_COUNTS)] = ()
    """Samples of class 0, 1, …; where the model has more classes than are listed, `samples` still counts all."""
    labels: LabelFacts | UnsetType = UNSET
    """Left out where all samples came with labels and the owner was never asked."""


class Progress(Message, frozen=True):
    """A device's progress in its assignment."""

    assignment: Identifier
    stage: Literal["accepted", "training", "waiting", "uploading"]
    """``waiting``: conditions do not hold, and training resumes when they do."""
    steps_done: Count = 0
    steps_total: Count = 0


class CheckIn(Message, frozen=True):
    """A device's state; sent on connecting, whenever it changes, and at least every `check_in_s` seconds."""

    protocol: Count
    conditions: Conditions
    blockers: Annotated[tuple[Reason, ...], Meta(max_length=16)] = ()
    """Why the device does not train now under the strictest policy that it knows; empty: it can train."""
    progress: Progress | None = None
    version: Identifier | None = None
    """ID of the model version that the device has."""
    metadata: DataMetadata | None = None
    capabilities: Capabilities | None = None
    standing: Sha256 | None = None
    """Digest of the standing plan that the device follows between rounds; None: it has none."""
    help: Identifier | None = None
    """ID of the device's unfinished help request."""
    variants: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] | None = None
    """Digest of the list of smaller forms that the device has for its version; blank: it has no list; None: its agent
    does not use such forms."""
    latencies: Annotated[tuple[Latency, ...], Meta(max_length=MAX_LATENCIES)] = ()
    """Measured durations, which replace those of earlier reports; empty: they are unchanged."""
    excluded_at: Annotated[float, Meta(ge=0)] | None = None
    """When the device's list of excluded devices was written, in seconds since 1970; 0: it has no list; None: its agent
    does not use such lists."""


class PrivacyBudget(Message, frozen=True):
    """Privacy budget of a federation: the most that it may spend for any device over all rounds."""

    epsilon: Annotated[float, Meta(gt=0, le=1e3)]
    delta: Annotated[float, Meta(gt=0, lt=1)]


class Assignment(Message, frozen=True):
    """Take part in a round: train this version under this plan, and upload the difference."""

    assignment: Identifier
    federation: str
    round: Count
    plan: msgspec.Raw
    """A `coterie_learning.device_plan.DevicePlan`."""
    manifest: SignedManifest
    seed: Annotated[int, Meta(ge=0, le=2**53)]
    """Seed of shuffling and stochastic rounding."""
    remaining_s: Seconds
    """Seconds until the round closes; an update of fewer steps that arrives in time counts."""
    teacher: SignedManifest | None = None
    """A signed `coterie_learning.teacher.Teacher`, where the plan distils from the cloud model."""
    stream_index: Count | None = None
    """Number of sums released before this round, where the plan correlates the noise of sums: the device takes part
    only in rounds that are far enough apart."""
    route: Route | None = None
    """The supernode to which the update is sent; None: it is sent to the platform."""
    difference: Difference | None = None
    """A smaller download of the version for a device that has an earlier one; None: there is none."""
    gathering: Gathering | None = None
    """Peers with which the device averages its model before it sends the update; None: there are none."""
    budget: PrivacyBudget | None = None
    """The federation's privacy budget, where the plan spends any."""


class CheckInWindow(Message, frozen=True):
    """When the device checks in again: after `after_s` seconds and a uniformly random part of `within_s` seconds.

    It still checks in at once when the platform wakes it or its conditions change.
    """

    after_s: Seconds
    within_s: Seconds


class Directive(Message, frozen=True):
    """The platform's complete answer to a check-in: what the device should do now.

    It is a state and not an event: where it is lost, the next check-in gives it again.
    """

    check_in_s: Seconds
    assignment: Assignment | None = None
    """The device's only current assignment; it gives up any other."""
    manifest: SignedManifest | None = None
    """Manifest of the champion, where the device has another version."""
    difference: Difference | None = None
    """A smaller download of the champion for a device that has an earlier version; None: there is none."""
    requirements: Requirements | None = None
    """Conditions that the device must meet before its federation invites it; None: there are none."""
    wait: Reason | None = None
    """Why there is no assignment."""
    stands: bool = False
    """Whether a plan applies between rounds: `standing`, or else the one whose digest the device sent."""
    standing: StandingPlan | None = None
    """The plan that applies between rounds, where the device has another one or none."""
    help: HelpNews | None = None
    """The state of the help request that the device named at its check-in."""
    serve: Serve | None = None
    """Help another device now."""
    trial: Trial | None = None
    """A comparison that the device should make as one of a canary group; repeated until it has reported the outcome."""
    withdrawn: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_WITHDRAWN)] = ()
    """The newest versions that were rolled back; the device discards a personal model that was trained from one."""
    ignores_unknown: bool = False
    """Whether the platform ignores unknown fields, as all releases after 0.1 do. Only then does a device send fields
    that 0.1 does not know. It is not sent to agents of 0.1, which refuse this field too."""
    lead: Lead | None = None
    """The device's task as a supernode; None: it is none now."""
    variants: SignedManifest | None = None
    """The list of smaller forms of the device's version, where the device has another list: a signed
    `coterie_wire.variants.Variants`."""
    next_keys: Annotated[tuple[SignedManifest, ...], Meta(max_length=MAX_NEXT_KEYS)] = ()
    """Changes of the platform's key from the one that the device trusts to the present one, the oldest first, each a
    signed `coterie_wire.platform_keys.NextKey`. The device follows them before it reads anything else."""
    question: OpenQuestion | None = None
    """A question to the device; repeated until it has answered or declined."""
    evaluate: Evaluate | None = None
    """A version that the device should evaluate beside its assignment; repeated until it has reported the outcome."""
    shadow: ShadowTrial | None = None
    """A candidate that should predict on the device without its predictions being shown; repeated until the device has
    reported the outcome."""
    renew_credential: bool = False
    """Whether the device should draw a new credential and announce it with `NextCredential`."""
    renew_certificate: bool = False
    """Whether the device should generate a new key and ask for its certificate with `AskCertificate`."""
    platform_answers: PlatformOffer | None = None
    """The platform's offer to predict for the device; None: it does not."""
    window: CheckInWindow | None = None
    """When to check in again, in place of `check_in_s`; None: `check_in_s` applies."""
    signals: Annotated[tuple[Signal, ...], Meta(max_length=MAX_SIGNALS)] = ()
    """Signals of devices that want to open a direct path to this one."""
    update: AgentUpdate | None = None
    """An update of the agent itself; None: there is none."""
    log: LogAsked | None = None
    """An operator's request for the device's log."""
    excluded: SignedManifest | None = None
    """A newer list of excluded devices than the device's, where it communicates with others: a signed
    `coterie_wire.exclusion.Excluded`."""
    hides: bool = False
    """Whether a plan of the device's federations uses secure aggregation for its metrics. The device then reports them
    in no other way, not even before its first round."""
    federations: tuple[str, ...] | None = None
    """Names of the device's federations that have not ended; None: the platform does not say. The agent forgets what
    other federations have asked of the owner."""


class OfferUpdate(Message, frozen=True):
    """Announce an upload, or ask how many bytes of it have arrived."""

    assignment: Identifier
    sha256: Sha256
    size_bytes: Count
    samples: Annotated[int, Meta(ge=1, le=2**53)]
    """Number of training samples."""
    steps_done: Annotated[int, Meta(ge=1, le=2**53)]
    steps_total: Annotated[int, Meta(ge=1, le=2**53)]
    loss_before: float
    """Mean loss of the received parameters over the device's samples."""
    loss_after: float
    """Mean loss after training."""
    accuracy_before: Annotated[float, Meta(ge=0, le=1)] | None
    """Accuracy of the received parameters on the device's held-out samples; None: the task has no accuracy."""
    train_s: Seconds
    classes: Annotated[tuple[Count, ...], Meta(max_length=MAX_CLASS_COUNTS)] = ()
    """Classes whose rows of the output layer the update contains, ascending; empty: the plan sends the whole layer."""
    train_memory_bytes: Count | None = None
    """Peak resident memory of the agent's process during training; None: the agent does not measure it."""
    suspects: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_PEERS)] = ()
    """Peers whose models were far from those of the others at most of the meetings with them."""


class UploadState(Message, frozen=True):
    """How many bytes of an upload have arrived; `accepted` once it is complete, verified and stored."""

    offset: Count
    accepted: bool = False
    held: Count | None = None
    """Epoch of the route by which a supernode has received the update, which the device keeps until it is accepted.
    None: no supernode has it."""


class ReleaseAssignment(Message, frozen=True):
    """Give an assignment back, or decline to answer a question."""

    assignment: Identifier
    reason: Reason


class NextCredential(Message, frozen=True):
    """Announce a new credential, which the device has drawn and stored. From now on the platform accepts it, too; the
    first check-in with it ends the old one after a grace period."""

    sha256: Sha256
    """SHA-256 of the credential's characters."""


class Leave(Message, frozen=True):
    """Leave the fleet; the credential becomes invalid."""


class Done(Message, frozen=True):
    """The request was carried out."""


class Exchange(NamedTuple):
    """The types of a request and of its reply."""

    request: type[Message]
    reply: type[Message]


EXCHANGES: Mapping[str, Exchange] = {
    "read-invitation": Exchange(ReadInvitation, Invitation),
    "enrol": Exchange(Enrol, Enrolled),
    "check-in": Exchange(CheckIn, Directive),
    "offer-update": Exchange(OfferUpdate, UploadState),
    "hand-in": Exchange(HandIn, UploadState),
    "hand-in-sum": Exchange(HandInSum, UploadState),
    "offer-partial": Exchange(OfferPartial, UploadState),
    "release-assignment": Exchange(ReleaseAssignment, Done),
    "report-profile": Exchange(ReportProfile, Done),
    "ask-help": Exchange(AskHelp, HelpNews),
    "withdraw-help": Exchange(WithdrawHelp, Done),
    "offer-portion": Exchange(OfferPortion, UploadState),
    "decline-transfer": Exchange(DeclineTransfer, Done),
    "report-merged": Exchange(ReportMerged, Done),
    "give-verdict": Exchange(GiveVerdict, Done),
    "report-trial": Exchange(ReportTrial, Done),
    "report-personal": Exchange(ReportPersonal, Done),
    "report-evaluation": Exchange(ReportEvaluation, Done),
    "read-log": Exchange(ReadLog, LogEntries),
    "ask-sum": Exchange(AskSum, SumNews),
    "join-sum": Exchange(JoinSum, SumNews),
    "share-secrets": Exchange(ShareSecrets, SumNews),
    "offer-masked": Exchange(OfferMasked, UploadState),
    "reveal-shares": Exchange(RevealShares, SumNews),
    "join-alliance": Exchange(JoinAlliance, Alliance),
    "exchange-letters": Exchange(ExchangeLetters, LettersNews),
    "read-export": Exchange(ReadExport, ExportPage),
    "forget": Exchange(Forget, ForgetNews),
    "read-receipt": Exchange(ReadReceipt, ForgetNews),
    "next-credential": Exchange(NextCredential, Done),
    "ask-certificate": Exchange(AskCertificate, Certified),
    "ask-platform": Exchange(AskPlatform, PlatformAnswer),
    "send-signal": Exchange(SendSignal, Done),
    "report-received": Exchange(ReportReceived, Done),
    "ask-peer-ticket": Exchange(AskPeerTicket, PeerTicketGiven),
    "report-update": Exchange(ReportUpdate, Done),
    "report-log": Exchange(ReportLog, Done),
    "deliver-log": Exchange(DeliverLog, Done),
    "leave": Exchange(Leave, Done),
}


class Problem(msgspec.Struct, frozen=True):
    """An error as RFC 9457 problem+json, with a stable code and typed fields besides."""

    code: str
    title: str
    status: int
    detail: str
    type: str = "about:blank"
    fields: Mapping[str, str | int | float | bool | None] = {}


class Request(msgspec.Struct, frozen=True, tag="request", tag_field="frame"):
    """Socket frame, device to platform: a message with an ID that the answer repeats."""

    id: Count
    name: Annotated[str, Meta(max_length=40)]
    body: msgspec.Raw


class Reply(msgspec.Struct, frozen=True, tag="reply", tag_field="frame"):
    """Socket frame, platform to device: the answer to request `id`."""

    id: Count
    body: msgspec.Raw


class Refusal(msgspec.Struct, frozen=True, tag="refusal", tag_field="frame"):
    """Socket frame, platform to device: request `id` failed."""

    id: Count
    problem: Problem


class Wake(msgspec.Struct, frozen=True, tag="wake", tag_field="frame"):
    """Socket frame, platform to device: check in now, because something has changed. It is a hint and may be lost."""


PlatformFrame = Reply | Refusal | Wake
MAX_MESSAGE_BYTES = 1 << 20
"""Most bytes of one message or frame, in either direction."""

S = TypeVar("S", bound=msgspec.Struct)


def decode(struct: type[S], data: bytes | memoryview | msgspec.Raw) -> S:
    """The message, request frame or problem in the JSON `data`; its numbers are finite.

    Raises WireError ``wire.too_large``, ``wire.malformed``, or ``wire.protocol`` where the message states a protocol
    version that this side does not speak.
    """
    raw = _bounded(data)
    try:
        if "protocol" in struct.__struct_fields__:
            _check_protocol(from_json(raw, _Announcement).protocol)
        return from_json(raw, struct)
    except UNREADABLE as error:
        raise WireError("wire.malformed", f"{struct.__name__}: {error}") from error


def decode_platform_frame(data: bytes | memoryview) -> PlatformFrame:
    """The frame that the platform sent over the socket.

    Raises WireError ``wire.too_large`` or ``wire.malformed``.
    """
    raw = _bounded(data)
    try:
        frame: PlatformFrame = from_json(raw, PlatformFrame)
    except UNREADABLE as error:
        raise WireError("wire.malformed", f"frame: {error}") from error
    return frame


class _Announcement(msgspec.Struct, frozen=True):
    """Decoded first: the one field that messages of all protocol versions have."""

    protocol: Count


def _bounded(data: bytes | memoryview | msgspec.Raw) -> memoryview:
    raw = memoryview(data)
    if len(raw) > MAX_MESSAGE_BYTES:
        raise WireError("wire.too_large", f"a message of {len(raw)} bytes; at most {MAX_MESSAGE_BYTES} are read")
    return raw


def _check_protocol(protocol: int) -> None:
    if protocol not in SPOKEN:
        raise WireError("wire.protocol", f"the message speaks protocol {protocol}, this side {list(SPOKEN)}")
