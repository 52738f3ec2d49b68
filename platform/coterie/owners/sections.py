"""The tables with rows about a device: one section each, which a test compares with all tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import models
from django.db.models import Q

from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.alliances.models import Letter as AllianceLetter
from coterie.alliances.models import Party as AllianceParty
from coterie.analytics.models import Part as QuestionPart
from coterie.audit.models import Entry
from coterie.device_logs.models import DeviceLog, DeviceLogLine
from coterie.federations.models import Membership
from coterie.fleet.models import (
    Device,
    DeviceAgent,
    DeviceCertificate,
    DeviceLatency,
    Observation,
    OtherCredential,
    PathSignal,
    Presence,
)
from coterie.fleet_evaluation.models import Part as EvaluationPart
from coterie.merging.models import Partial, Update
from coterie.privacy.models import Account, Budget, Charge
from coterie.rollouts.models import Trial
from coterie.rounds.models import Assignment, Fold, RoundEvent, Route, Upload
from coterie.secure_sums.models import Identity, Party
from coterie.transfer.models import DeviceProfile, HelpRequest, PersonalFigures, ReportedDay, Transfer

ROWS_AT_ONCE = 500
Row = Mapping[str, object]


@dataclass(frozen=True)
class Section:
    """The rows of one table that are about a device."""

    name: str
    model: type[models.Model]
    by: str
    """The column that holds the device, from the table or along its keys."""
    says: str
    """What the rows contain, as a sentence for the owner."""
    without: frozenset[str] = frozenset()
    """Columns that are secret, or are about another person."""
    rule: Q = field(default_factory=Q)

    def columns(self) -> Sequence[str]:
        """The exported columns of each row."""
        return [column.attname for column in self.model._meta.concrete_fields if column.name not in self.without]

    def rows(self, device: Device) -> Iterator[Row]:
        """All rows about `device`, in an order that does not change."""
        after = ""
        while page := self.page(device, after=after):
            yield from (row for _, row in page)
            after = page[-1][0]

    def page(self, device: Device, *, after: str) -> list[tuple[str, Row]]:
        """The next rows after the one with key `after`, blank: the first ones, each with its key.

        Raises ValidationError or ValueError where that is none.
        """
        key = self.model._meta.pk
        assert key is not None
        found = self.model._base_manager.filter(self.rule, **{self.by: device.pk})
        if after:
            found = found.filter(pk__gt=key.to_python(after))
        columns = self.columns()
        pages = found.order_by("pk").values_list("pk", *columns)[:ROWS_AT_ONCE]
        return [(str(pk), dict(zip(columns, values, strict=True))) for pk, *values in pages]


_ABOUT_DEVICES = Q(subject_kind="fleet.device")
SECTIONS: Sequence[Section] = (
    Section("device", Device, "pk", "The device as it last reported itself.", without=frozenset({"credential_hash"})),
    Section(
        "credentials",
        OtherCredential,
        "device",
        "Credentials that are taken beside its own, without what they are.",
        without=frozenset({"sha256"}),
    ),
    Section("certificates", DeviceCertificate, "device", "Certificates that its connections show."),
    Section("presence", Presence, "device", "When it was heard of last, and until when it counts as present."),
    Section("agent", DeviceAgent, "device", "Which agent it runs, and why that takes no other release."),
    Section("observations", Observation, "device", "What it reported when something had changed."),
    Section("assignments", Assignment, "device", "Its parts in rounds."),
    Section("routes", Route, "assignment__device", "By what way its updates came."),
    Section(
        "relayed_routes",
        Route,
        "supernode",
        "Whose updates it was to sum.",
        without=frozenset({"fingerprint", "norm", "tier_fingerprints"}),
    ),
    Section("uploads", Upload, "assignment__device", "Updates that were on their way."),
    Section("updates", Update, "device", "Updates that were accepted, with what it measured."),
    Section("folds", Fold, "supernode", "Sums of neighbours' updates that it was asked for.", frozenset({"shares"})),
    Section("relayed_folds", Fold, "parent", "Sums of other supernodes that it was to add.", frozenset({"shares"})),
    Section("partials", Partial, "supernode", "Such sums that were accepted.", without=frozenset({"weights"})),
    Section("round_events", RoundEvent, "device", "What happened in its parts of rounds."),
    Section("memberships", Membership, "device", "The groups that it was in."),
    Section("trials", Trial, "device", "How candidates of new versions did on its samples."),
    Section("agent_rollouts", AgentRollout, "device", "Roll-outs of its agent that were for it alone."),
    Section("agent_updates", DeviceUpdate, "device", "Releases of its agent that it was asked to install."),
    Section("profiles", DeviceProfile, "device", "The newest profiles of its data that it told federations."),
    Section("reported_days", ReportedDay, "device", "How much of such profiles it told on each day."),
    Section("personal_figures", PersonalFigures, "device", "How its personal model did."),
    Section("help_requests", HelpRequest, "device", "Its requests for help."),
    Section("transfers", Transfer, "helper", "The help that it gave."),
    Section("budget", Budget, "device", "How much may be told of it, where that was set."),
    Section("accounts", Account, "device", "What each federation has told of it so far."),
    Section("charges", Charge, "device", "What each release told of it."),
    Section("latencies", DeviceLatency, "device", "How long train steps and predictions took on it."),
    Section("questions", QuestionPart, "device", "Questions that it was asked, and what it declined."),
    Section("logs", DeviceLog, "device", "Requests of operators for its log, and what its owner said."),
    Section("log_lines", DeviceLogLine, "log__device", "The lines of its log that it has sent."),
    Section("alliances", AllianceParty, "device", "Alliances with another party that it is in."),
    Section(
        "alliance_letters",
        AllianceLetter,
        "party__device",
        "Its letters to the other party that are on their way, which the platform cannot read.",
        without=frozenset({"content"}),
    ),
    Section(
        "path_signals_for_it",
        PathSignal,
        "receiver",
        "What such devices have sent it, which the platform cannot read.",
        without=frozenset({"content"}),
    ),
    Section(
        "path_signals",
        PathSignal,
        "sender",
        "What it has sent in the last minute to devices that it would meet, which the platform cannot read.",
        without=frozenset({"content"}),
    ),
    Section("evaluations", EvaluationPart, "device", "How versions did on its samples that it was to evaluate."),
    Section(
        "secure_sums",
        Party,
        "device",
        "Its parts in secure sums, without the shares of secrets that it kept for others.",
        without=frozenset({"boxes", "shares"}),
    ),
    Section("identity", Identity, "device", "Its public key in the log of identities."),
    Section(
        "audit",
        Entry,
        "subject_id",
        "What operators changed about it, without who they are.",
        without=frozenset({"actor_kind", "actor_id", "actor_name", "token", "address"}),
        rule=_ABOUT_DEVICES,
    ),
)
