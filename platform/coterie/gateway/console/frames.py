"""What travels on the console's socket. A state is a set of documents; an event replaces one or takes it away.

The law of live sync: the events after a snapshot, applied to it in order by `apply`, give what a fresh snapshot would.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from coterie_wire.conditions import Reason

MAX_WATCHED = 500
"""Devices that one socket follows: as many as the longest page of a list shows."""


class Key(NamedTuple):
    """What a document is about."""

    kind: str
    id: str


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """The state of one thing; of its fields none changes by time alone more often than its status does."""

    id: str

    @property
    def key(self) -> Key:
        """What it is about."""
        return Key(str(self.__struct_config__.tag), self.id)


class StatusCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many devices have a status."""

    status: str
    reason: str
    words: str
    devices: int


class FleetDocument(Document, frozen=True, tag="fleet"):
    """All devices, counted."""

    devices: int
    by_status: tuple[StatusCount, ...]


class DeviceDocument(Document, frozen=True, tag="device"):
    """One device that the socket watches."""

    name: str
    tags: tuple[str, ...]
    state: str
    status: str
    reasons: tuple[Reason, ...]
    held_version: str
    pinned_version: str


class FederationDocument(Document, frozen=True, tag="federation"):
    """One federation."""

    name: str
    slug: str
    state: str
    pair: str
    device_tag: str
    plan: Mapping[str, Any]
    """Any: a plan is JSON; `coterie_learning.plan` parses it."""


class RoundDocument(Document, frozen=True, tag="round"):
    """A round that is planned or under way, or one of the latest that ended."""

    federation: str
    federation_slug: str
    number: int
    state: str
    reason: Reason | None
    opens_at: datetime
    opened_at: datetime | None
    deadline_at: datetime | None
    finished_at: datetime | None
    result_version: str | None
    devices: int
    updates: int
    metrics: Mapping[str, float]


class PartDocument(Document, frozen=True, tag="part"):
    """A device's part in a round that is under way."""

    round: str
    device: str
    device_name: str
    state: str
    stage: str
    steps_done: int
    steps_total: int
    reason: Reason | None


class HelperTried(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One helper's part in a help request."""

    transfer: str
    helper: str
    state: str
    reason: Reason | None
    size_bytes: int
    accuracy_before: float | None
    accuracy_after: float | None


class HelpDocument(Document, frozen=True, tag="help"):
    """A device that asks others for help, or one of the latest that did."""

    federation: str
    device: str
    classes: tuple[int, ...]
    state: str
    reason: Reason | None
    tried: tuple[HelperTried, ...]


class RolloutDocument(Document, frozen=True, tag="rollout"):
    """A roll-out that is planned or under way, or one of the latest that ended."""

    federation: str
    federation_slug: str
    pair: str
    version: str
    version_number: int
    champion: str | None
    champion_number: int | None
    terms: Mapping[str, Any]
    """Any: a kind is JSON; `coterie_learning.plan.ROLLOUT` parses it."""
    state: str
    reason: Reason | None
    created_at: datetime
    begun_at: datetime | None
    due_at: datetime
    ended_at: datetime | None
    figures: Mapping[str, float]


class AgentRolloutDocument(Document, frozen=True, tag="agent_rollout"):
    """A roll-out of the agent that is under way, or one of the latest that ended."""

    version: str
    tag: str
    state: str
    reason: Reason | None
    phase: int
    figures: Mapping[str, Any]
    """Any: numbers, and by code those that were left out."""


class QuestionDocument(Document, frozen=True, tag="question"):
    """A question that is asked, or one of the latest that ended."""

    federation: str
    federation_slug: str
    title: str
    state: str
    reason: Reason | None
    asked_at: datetime
    ended_at: datetime | None


class EvaluationDocument(Document, frozen=True, tag="evaluation"):
    """A federated evaluation that is planned or under way, or one of the latest that ended."""

    federation: str
    version: str
    state: str
    reason: Reason | None
    reports: int


class PairDocument(Document, frozen=True, tag="pair"):
    """One pair."""

    name: str
    slug: str
    state: str
    reason: Reason | None
    device_champion: str | None
    cloud_champion: str | None


class JobDocument(Document, frozen=True, tag="job"):
    """A job that waits or runs, or one of the latest that ended."""

    work: str
    """Its kind."""
    pair: str
    pair_slug: str
    state: str
    progress: float
    progress_sentence: str
    error: Reason | None


class EnrolmentTokenDocument(Document, frozen=True, tag="enrolment_token"):
    """An enrolment token with which devices can still join, or one of the youngest."""

    label: str
    uses: int
    uses_allowed: int
    expires_at: datetime
    revoked_at: datetime | None


class SimulationsDocument(Document, frozen=True, tag="simulations"):
    """All runs of simulated fleets, counted."""

    queued: int
    running: int
    succeeded: int
    failed: int
    cancelled: int
    done: float
    """Shares of the rounds that those which run have held, summed."""


class RepairsDocument(Document, frozen=True, tag="repairs"):
    """How many faults there are that nobody has muted."""

    count: int


class AuditDocument(Document, frozen=True, tag="audit"):
    """The latest write of anybody: whatever page shows its subject asks again."""

    entry: int
    action: str
    subject_kind: str
    subject_id: str


AnyDocument = (
    FleetDocument
    | DeviceDocument
    | FederationDocument
    | RoundDocument
    | PartDocument
    | RolloutDocument
    | AgentRolloutDocument
    | QuestionDocument
    | EvaluationDocument
    | HelpDocument
    | PairDocument
    | JobDocument
    | EnrolmentTokenDocument
    | SimulationsDocument
    | RepairsDocument
    | AuditDocument
)


class ServerFrame(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="frame"):
    """Platform to console."""

    number: int
    """Of the latest event that the frame contains or is."""


class Snapshot(ServerFrame, frozen=True, tag="snapshot"):
    """The whole state, in place of any former one."""

    epoch: str
    """Numbers mean something within one epoch."""
    documents: tuple[AnyDocument, ...]


class Changed(ServerFrame, frozen=True, tag="changed"):
    """A document is new or different."""

    document: AnyDocument


class Gone(ServerFrame, frozen=True, tag="gone"):
    """A document has been removed."""

    kind: str
    id: str


class Tick(ServerFrame, frozen=True, tag="tick"):
    """Nothing has changed; sent every few seconds, so that a console with a dead connection can say so."""

    at: datetime


Event = Changed | Gone
AnyServerFrame = Snapshot | Changed | Gone | Tick
Watched = Annotated[
    tuple[Annotated[str, Meta(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")], ...],
    Meta(max_length=MAX_WATCHED),
]


class Hello(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="frame", tag="hello"):
    """Console to platform, first: what it has already, and the devices that it shows."""

    epoch: Annotated[str, Meta(max_length=64)] = ""
    number: Annotated[int, Meta(ge=0)] = 0
    devices: Watched = ()


class Watch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="frame", tag="watch"):
    """Console to platform: the devices that it shows now, instead of those before."""

    devices: Watched


ClientFrame = Hello | Watch
Documents = dict[Key, AnyDocument]


def apply(documents: Documents, frame: AnyServerFrame) -> Documents:
    """The console's state after `frame`."""
    match frame:
        case Snapshot():
            return {document.key: document for document in frame.documents}
        case Changed():
            return {**documents, frame.document.key: frame.document}
        case Gone():
            return {key: document for key, document in documents.items() if key != (frame.kind, frame.id)}
        case Tick():
            return documents


def console_schema() -> Mapping[str, object]:
    """JSON schema of the frames, either way."""
    frames = (Snapshot, Changed, Gone, Tick, Hello, Watch)
    references, definitions = msgspec.json.schema_components(frames, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Coterie: what platform and console say to each other",
        "server": references[:4],
        "client": references[4:],
        "$defs": dict(sorted(definitions.items())),
    }
