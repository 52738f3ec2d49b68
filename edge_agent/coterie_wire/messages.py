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
    """What a device is."""

    cores: Annotated[int, Meta(ge=1, le=4096)]
    memory_bytes: Count
    machine: Annotated[str, Meta(max_length=100)]
    """Processor and system, e.g. ``aarch64 Linux``."""
    agent: Annotated[str, Meta(max_length=40)]
    """Version of the agent."""
    train_step_s: Seconds | None = None
    """Measured median of one train step; None until one has run."""
    kinds: Annotated[Mapping[KindName, Annotated[tuple[KindName, ...], Meta(max_length=100)]], Meta(max_length=20)] = {}
    """By slot of a plan, the names of the kinds that the device has; empty: those of agent 0.1."""
    peer_key: PublicKey | None = None
    """By which other devices know it; None: it deals with the platform alone."""
    platform_key: PublicKey | None = None
    """The platform's key that it trusts, where the agent can take the next one; None: it cannot."""
    relay: OfferToLead | None = None
    """The owner lets it be a supernode."""
    meets: OfferToMeet | None = None
    """The owner lets it meet its peers."""
    answers: OfferToAnswer | None = None
    """The owner lets it be counted when a fleet is asked."""
    evaluates: bool = False
    """It takes part in federated evaluations."""
    shadows: bool = False
    """A candidate may answer beside the version that it holds."""
    renews: bool = False
    """It draws another credential when the platform wants it to."""
    asks_platform: bool = False
    """The owner lets samples go to the platform, to be answered where the device's own model does not."""
    paths: bool = False
    """It opens direct paths to other devices, and answers over theirs."""
    updates: TakesUpdates | None = None
    """Whether it installs other releases of its agent; None: its agent does not know how."""
    certifies: bool = False
    """It draws keys and asks for certificates of its connection when the platform wants it to."""
    logs: SendsLog | None = None
    """Whether it sends its log where its owner allows it; None: its agent does not know how."""
    declines: Annotated[tuple[Declined, ...], Meta(max_length=MAX_DECLINED)] = ()
    """What its owner has taken back of what was agreed to: ``federation:NAME``, or what a plan may have leave it."""


class Enrol(Message, frozen=True):
    """Join a fleet with a one-time token. It and `ReadInvitation` come without a credential."""

    protocol: Count
    token: Annotated[str, Meta(max_length=200)]
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    capabilities: Capabilities


class Enrolled(Message, frozen=True):
    """The device's identity. The platform keeps only a hash of the credential."""

    device: Identifier
    credential: Annotated[str, Meta(pattern=r"^[\x21-\x7e]{1,500}$")]
    """Goes into a header."""
    platform_key: Annotated[bytes, Meta(min_length=32, max_length=32)]
    """Ed25519 public key that every manifest must verify against."""
    check_in_s: Seconds
    update_root: Annotated[bytes, Meta(max_length=MAX_ROOT_BYTES)] | None = None
    """Names the keys that releases of the agent are signed with, as TUF's ``root`` metadata; None: the platform has no
    releases."""
    certificates: bool = False
    """The platform gives certificates: the device is to ask for one with `AskCertificate` at once."""


class LabelFacts(Message, frozen=True):
    """Where a device has its labels from, and what they cost its owner."""

    asked: Count = 0
    """Samples whose class its owner has said when asked."""
    implied: Count = 0
    """Samples whose class a program saw. The others came with theirs."""
    unlabelled: Count = 0
    """Samples without one, of which it may ask."""
    questions: Count = 0
    """Asked since the device has its store."""
    answers: Count = 0
    """Of these; the others were skipped, or one is open."""


class DataMetadata(Message, frozen=True):
    """What a device tells about its data, never the data."""

    samples: Count = 0
    class_counts: Annotated[tuple[Count, ...], Meta(max_length=MAX_CLASS_COUNTS)] = ()
    """Of class 0, 1, …; where a model has more classes than are told, `samples` still counts all."""
    labels: LabelFacts | UnsetType = UNSET
    """Left out where all samples came with their labels, none waits for one and nobody was asked."""


class Progress(Message, frozen=True):
    """How far a device is with its assignment."""

    assignment: Identifier
    stage: Literal["accepted", "training", "waiting", "uploading"]
    """`waiting`: conditions were lost, training is held and will resume."""
    steps_done: Count = 0
    steps_total: Count = 0


class CheckIn(Message, frozen=True):
    """A device's state; sent on connecting, whenever it changes, and at least every `check_in_s`."""

    protocol: Count
    conditions: Conditions
    blockers: Annotated[tuple[Reason, ...], Meta(max_length=16)] = ()
    """Why the device does not train now, judged on the device against the strictest policy it knows; empty: ready."""
    progress: Progress | None = None
    version: Identifier | None = None
    """Model version that the device holds."""
    metadata: DataMetadata | None = None
    capabilities: Capabilities | None = None
    standing: Sha256 | None = None
    """Digest of the plan that the device knows to hold between rounds."""
    help: Identifier | None = None
    """The help request that the device has not seen the end of."""
    variants: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] | None = None
    """Digest of the list of smaller forms that the device knows of the version that it holds; blank: it knows none;
    None: it takes none."""
    latencies: Annotated[tuple[Latency, ...], Meta(max_length=MAX_LATENCIES)] = ()
    """How quick the device is, in place of what it told before; empty: as it told."""
    excluded_at: Annotated[float, Meta(ge=0)] | None = None
    """When the list of excluded devices was written that the device has, in seconds since 1970; 0: it has none; None:
    it takes none."""


class PrivacyBudget(Message, frozen=True):
    """How much a federation may tell of any of its devices under noise, in all."""

    epsilon: Annotated[float, Meta(gt=0, le=1e3)]
    delta: Annotated[float, Meta(gt=0, lt=1)]


class Assignment(Message, frozen=True):
    """Take part in a round: train this version under this plan, upload the difference."""

    assignment: Identifier
    federation: str
    round: Count
    plan: msgspec.Raw
    """A `coterie_learning.device_plan.DevicePlan`."""
    manifest: SignedManifest
    seed: Annotated[int, Meta(ge=0, le=2**53)]
    """Seeds shuffling and stochastic rounding."""
    remaining_s: Seconds
    """Until the round closes; partial work uploaded in time counts."""
    teacher: SignedManifest | None = None
    """A signed `coterie_learning.teacher.Teacher`, where the plan has the device learn from the cloud model."""
    stream_index: Count | None = None
    """How many sums were released before the round's, where the plan's noise depends on these: the device takes part in
    such as are far enough apart only."""
    route: Route | None = None
    """The supernode that the update goes to; None: to the platform."""
    difference: Difference | None = None
    """From the version that the device holds to that of `manifest`, where the platform has a smaller one."""
    gathering: Gathering | None = None
    """With whom the device averages its model before it sends the update; None: with nobody."""
    budget: PrivacyBudget | None = None
    """What the platform holds the federation to, where the plan spends any."""


class CheckInWindow(Message, frozen=True):
    """When the device comes back: at a moment that it draws, each as likely, of `within_s` seconds from `after_s` on.

    It comes at once, as ever, when it is woken or its conditions change.
    """

    after_s: Seconds
    within_s: Seconds


class Directive(Message, frozen=True):
    """The platform's whole answer to a check-in: what the device should do now.

    State, not an event: it can be lost and asked again.
    """

    check_in_s: Seconds
    assignment: Assignment | None = None
    """The one assignment that is the device's now; the device drops any other."""
    manifest: SignedManifest | None = None
    """The champion, when the device holds another version."""
    difference: Difference | None = None
    """From the version that the device holds to that of `manifest`, where the platform has a smaller one."""
    requirements: Requirements | None = None
    """What the federation's plan asks before it invites the device; None: no federation asks."""
    wait: Reason | None = None
    """Why there is no assignment."""
    stands: bool = False
    """Whether something holds between rounds: the plan that the device told the digest of, or `standing`."""
    standing: StandingPlan | None = None
    """What holds between rounds, where the device knows another plan."""
    help: HelpNews | None = None
    """How the help request stands that the device told of."""
    serve: Serve | None = None
    """Help another device now."""
    trial: Trial | None = None
    """The device is one of a canary group: what it is to compare, until it has told the outcome."""
    withdrawn: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_WITHDRAWN)] = ()
    """Versions that were rolled back, the newest: an own model that went on from one is given up."""
    ignores_unknown: bool = False
    """The platform passes over fields that it does not know, as all but 0.1 do. Only then a device sends what 0.1 does
    not know; agents of 0.1, which refuse this field too, are not told."""
    lead: Lead | None = None
    """The device is a supernode now."""
    variants: SignedManifest | None = None
    """Smaller forms of the version that the device holds, where it knows another list: a
    `coterie_wire.variants.Variants`."""
    next_keys: Annotated[tuple[SignedManifest, ...], Meta(max_length=MAX_NEXT_KEYS)] = ()
    """How the platform came from the key that the device trusts to the one that it signs with, the oldest first: each a
    `coterie_wire.platform_keys.NextKey`. The device follows them before it reads anything else."""
    question: OpenQuestion | None = None
    """What the device is to count for a sum, until it has answered or declined."""
    evaluate: Evaluate | None = None
    """A version that the device is to measure beside its assignment, until it has told the outcome."""
    shadow: ShadowTrial | None = None
    """A candidate that is to answer on the device without being shown, until the device has told the outcome."""
    renew_credential: bool = False
    """The device is to draw another credential and say so with `NextCredential`."""
    renew_certificate: bool = False
    """The device is to draw another key and ask for its certificate with `AskCertificate`."""
    platform_answers: PlatformOffer | None = None
    """The platform answers for the device, whose owner allows it; None: it does not."""
    window: CheckInWindow | None = None
    """When to check in again, in place of `check_in_s`; None: as `check_in_s` says."""
    signals: Annotated[tuple[Signal, ...], Meta(max_length=MAX_SIGNALS)] = ()
    """Of devices that want to meet this one by a direct path."""
    update: AgentUpdate | None = None
    """What is to be done about the agent itself; None: nothing."""
    log: LogAsked | None = None
    """An operator asks for the device's log."""
    excluded: SignedManifest | None = None
    """A newer list of excluded devices than the device has, where it has to do with others: a signed
    `coterie_wire.exclusion.Excluded`."""
    hides: bool = False
    """A plan of the device's federations hides in a sum what devices measure, which the device then tells nowhere else,
    before its first round too."""
    federations: tuple[str, ...] | None = None
    """Those that the device is in and that have not ended; None: the platform does not say. What another one has asked
    of the device's owner is asked no more."""


class OfferUpdate(Message, frozen=True):
    """Announce an upload, or ask how far it came."""

    assignment: Identifier
    sha256: Sha256
    size_bytes: Count
    samples: Annotated[int, Meta(ge=1, le=2**53)]
    """Training samples that the update was computed from."""
    steps_done: Annotated[int, Meta(ge=1, le=2**53)]
    steps_total: Annotated[int, Meta(ge=1, le=2**53)]
    loss_before: float
    """Mean loss over the device's samples at the received parameters."""
    loss_after: float
    accuracy_before: Annotated[float, Meta(ge=0, le=1)] | None
    """Share of the device's held-out samples that the received parameters have right; None: the task has no right."""
    train_s: Seconds
    classes: Annotated[tuple[Count, ...], Meta(max_length=MAX_CLASS_COUNTS)] = ()
    """Those whose rows of the output layer the update holds, ascending, where the plan customises it."""
    train_memory_bytes: Count | None = None
    """Largest resident size of the agent's process while it trained; None: the agent does not measure it."""
    suspects: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_PEERS)] = ()
    """Devices that it has met whose models lay far off those of the others, at most meetings with them."""


class UploadState(Message, frozen=True):
    """How much of an update has arrived; `accepted` once it is verified, stored and counted."""

    offset: Count
    accepted: bool = False
    held: Count | None = None
    """A supernode holds the update, by the route of this epoch: the device keeps it until it is accepted."""


class ReleaseAssignment(Message, frozen=True):
    """Give an assignment back, or decline to answer a question."""

    assignment: Identifier
    reason: Reason


class NextCredential(Message, frozen=True):
    """The device has drawn and stored another credential. From now on the platform takes it, too; the first check-in
    with it ends the present one, after a grace."""

    sha256: Sha256
    """Of the credential's characters."""


class Leave(Message, frozen=True):
    """Leave the fleet; the credential ends."""


class Done(Message, frozen=True):
    """The request was carried out."""


class Exchange(NamedTuple):
    """One kind of message and its reply."""

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
    """An error as RFC 9457 problem+json, extended by our stable code and typed fields."""

    code: str
    title: str
    status: int
    detail: str
    type: str = "about:blank"
    fields: Mapping[str, str | int | float | bool | None] = {}


class Request(msgspec.Struct, frozen=True, tag="request", tag_field="frame"):
    """Socket frame, device to platform: a message with a number that the answer repeats."""

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
    """Socket frame, platform to device: check in now, something has changed. A hint; it may be lost."""


PlatformFrame = Reply | Refusal | Wake
MAX_MESSAGE_BYTES = 1 << 20
"""Of one message or frame, either way."""

S = TypeVar("S", bound=msgspec.Struct)


def decode(struct: type[S], data: bytes | memoryview | msgspec.Raw) -> S:
    """The message, request frame or problem that the JSON of `data` stands for; its numbers are finite.

    Raises WireError ``wire.too_large``, ``wire.malformed``, or ``wire.protocol`` where a version is announced that this
    side does not speak.
    """
    raw = _bounded(data)
    try:
        if "protocol" in struct.__struct_fields__:
            _check_protocol(from_json(raw, _Announcement).protocol)
        return from_json(raw, struct)
    except UNREADABLE as error:
        raise WireError("wire.malformed", f"{struct.__name__}: {error}") from error


def decode_platform_frame(data: bytes | memoryview) -> PlatformFrame:
    """What the platform sent over the socket.

    Raises WireError ``wire.too_large`` or ``wire.malformed``.
    """
    raw = _bounded(data)
    try:
        frame: PlatformFrame = from_json(raw, PlatformFrame)
    except UNREADABLE as error:
        raise WireError("wire.malformed", f"frame: {error}") from error
    return frame


class _Announcement(msgspec.Struct, frozen=True):
    """Read first, from whatever shape a newer message has."""

    protocol: Count


def _bounded(data: bytes | memoryview | msgspec.Raw) -> memoryview:
    raw = memoryview(data)
    if len(raw) > MAX_MESSAGE_BYTES:
        raise WireError("wire.too_large", f"a message of {len(raw)} bytes; at most {MAX_MESSAGE_BYTES} are read")
    return raw


def _check_protocol(protocol: int) -> None:
    if protocol not in SPOKEN:
        raise WireError("wire.protocol", f"the message speaks protocol {protocol}, this side {list(SPOKEN)}")
