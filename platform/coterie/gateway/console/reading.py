"""The documents of the console, read from the database; a hint that something has changed names what to read again."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from django.db.models import Count, Model, Q, QuerySet, Sum

from coterie.agent_rollouts.models import AgentRollout
from coterie.analytics.models import Question
from coterie.audit.models import Entry
from coterie.cloud_training.models import TrainingJob
from coterie.federations.models import Federation
from coterie.fleet.models import Device, EnrolmentToken
from coterie.fleet.selectors import why_not_ready
from coterie.fleet.status import status_of, totals_by_status
from coterie.fleet_evaluation.models import Evaluation
from coterie.gateway.console.frames import (
    AgentRolloutDocument,
    AnyDocument,
    AuditDocument,
    DeviceDocument,
    EnrolmentTokenDocument,
    EvaluationDocument,
    FederationDocument,
    FleetDocument,
    HelpDocument,
    HelperTried,
    JobDocument,
    PairDocument,
    PartDocument,
    QuestionDocument,
    RepairsDocument,
    RolloutDocument,
    RoundDocument,
    SimulationsDocument,
    StatusCount,
)
from coterie.registry.models import BASE, Alias, ModelPair, Role
from coterie.repairs.services import shown
from coterie.rollouts.models import Rollout
from coterie.rounds.models import Assignment, Round
from coterie.rounds.reasons import blocker_in_words
from coterie.rounds.selectors import INVITED
from coterie.simulation_runs.models import SimulationRun
from coterie.transfer.models import HelpRequest
from coterie_wire.conditions import Reason

M = TypeVar("M", bound=Model)
LATEST = 50
"""How many rows are shown of those that have ended."""

TOUCHES: Mapping[str, tuple[str, ...]] = {
    "audit": ("audit",),
    "fleet": ("fleet", "device", "enrolment_token", "repairs"),
    "registry": ("pair", "repairs"),
    "federations": ("federation", "round", "repairs"),
    "rollouts": ("rollout", "repairs"),
    "agent_rollouts": ("agent_rollout",),
    "analytics": ("question",),
    "fleet_evaluation": ("evaluation",),
    "rounds": ("round", "part", "federation", "repairs"),
    "transfer": ("help",),
    "cloud_training": ("job", "pair", "repairs"),
    "simulation_runs": ("simulations",),
    "repairs": ("repairs",),
}
"""The kinds of documents that a change in an app may affect; each audited write is one in ``audit``, too."""


def read(kinds: Collection[str], watched: Collection[str], now: datetime) -> list[AnyDocument]:
    """All documents of `kinds`; of devices, the watched ones."""
    documents: list[AnyDocument] = []
    for kind in kinds:
        documents += _devices(watched, now) if kind == "device" else READERS[kind](now)
    return documents


def _fleet(now: datetime) -> Iterable[AnyDocument]:
    totals = totals_by_status(Device.objects.all(), now=now)
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    counts = tuple(
        StatusCount(status, code, blocker_in_words(code or status), count) for (status, code), count in ordered
    )
    return [FleetDocument(id="fleet", devices=sum(totals.values()), by_status=counts)]


def _devices(watched: Collection[str], now: datetime) -> Iterable[AnyDocument]:
    return [
        DeviceDocument(
            id=str(device.pk),
            name=device.name,
            tags=tuple(device.tags),
            state=device.state,
            status=status_of(device, now=now),
            # An absent device's sentence counts the seconds; its status says so already.
            reasons=tuple(reason for reason in why_not_ready(device, now=now) if reason.code != "fleet.absent"),
            held_version=device.held_version,
            pinned_version=device.pinned_version,
        )
        for device in Device.objects.filter(pk__in=watched)
    ]


def _federations(_now: datetime) -> Iterable[AnyDocument]:
    return [
        FederationDocument(
            id=str(federation.pk),
            name=federation.name,
            slug=federation.slug,
            state=federation.state,
            pair=str(federation.pair_id),
            device_tag=federation.device_tag,
            plan=federation.plan,
        )
        for federation in Federation.objects.all()
    ]


def _live_and_latest(rows: QuerySet[M], live: Collection[str], *, begun: Sequence[str], ended: str) -> list[M]:
    """Rows in a state of `live`, in the order in which they began; then the latest that ended."""
    over = rows.exclude(state__in=live).order_by(ended, "-pk")[:LATEST]
    return [*rows.filter(state__in=live).order_by(*begun), *over]


def _rounds(_now: datetime) -> Iterable[AnyDocument]:
    rounds = Round.objects.select_related("federation", "merge").annotate(devices=INVITED)
    return [
        RoundDocument(
            id=str(round_.pk),
            federation=str(round_.federation_id),
            federation_slug=round_.federation.slug,
            number=round_.number,
            state=round_.state,
            reason=round_.reason(),
            opens_at=round_.opens_at,
            opened_at=round_.opened_at,
            deadline_at=round_.deadline_at,
            finished_at=round_.finished_at,
            result_version=_result_of(round_),
            devices=getattr(round_, "devices"),  # noqa: B009 - annotated above
            updates=round_.updates_in,
            metrics={name: value for name, value in round_.metrics.items() if isinstance(value, int | float)},
        )
        for round_ in _live_and_latest(rounds, Round.ACTIVE, begun=("pk",), ended="-finished_at")
    ]


def _rollouts(_now: datetime) -> Iterable[AnyDocument]:
    rollouts = Rollout.objects.select_related("federation", "version", "champion")
    return [
        RolloutDocument(
            id=str(rollout.pk),
            federation=str(rollout.federation_id),
            federation_slug=rollout.federation.slug,
            pair=str(rollout.version.pair_id),
            version=str(rollout.version_id),
            version_number=rollout.version.number,
            champion=None if rollout.champion is None else str(rollout.champion_id),
            champion_number=None if rollout.champion is None else rollout.champion.number,
            terms=rollout.terms,
            state=rollout.state,
            reason=rollout.reason(),
            created_at=rollout.created_at,
            begun_at=rollout.begun_at,
            due_at=rollout.due_at,
            ended_at=rollout.ended_at,
            figures=rollout.figures,
        )
        for rollout in _live_and_latest(rollouts, Rollout.ACTIVE, begun=("created_at", "pk"), ended="-ended_at")
    ]


def _agent_rollouts(_now: datetime) -> Iterable[AnyDocument]:
    return [
        AgentRolloutDocument(
            id=str(rollout.pk),
            version=rollout.version,
            tag=rollout.tag,
            state=rollout.state,
            reason=rollout.reason(),
            phase=rollout.phase,
            figures=rollout.figures,
        )
        for rollout in _live_and_latest(
            AgentRollout.objects.all(), AgentRollout.ACTIVE, begun=("created_at", "pk"), ended="-ended_at"
        )
    ]


def _questions(_now: datetime) -> Iterable[AnyDocument]:
    questions = Question.objects.select_related("federation")
    return [
        QuestionDocument(
            id=str(question.pk),
            federation=str(question.federation_id),
            federation_slug=question.federation.slug,
            title=question.title,
            state=question.state,
            reason=question.reason(),
            asked_at=question.asked_at,
            ended_at=question.ended_at,
        )
        for question in _live_and_latest(questions, Question.ACTIVE, begun=("asked_at", "pk"), ended="-ended_at")
    ]


def _parts(_now: datetime) -> Iterable[AnyDocument]:
    carried = Q(round__carries_on=True, state__in=Assignment.LIVE)
    parts = (
        Assignment.objects.filter(Q(round__state__in=Round.ACTIVE) | carried)
        .select_related("device")
        .order_by("offered_at")
    )
    return [
        PartDocument(
            id=str(part.pk),
            round=str(part.round_id),
            device=str(part.device_id),
            device_name=part.device.name,
            state=part.state,
            stage=part.stage,
            steps_done=part.steps_done,
            steps_total=part.steps_total,
            reason=part.reason(),
        )
        for part in parts
    ]


def _evaluations(_now: datetime) -> Iterable[AnyDocument]:
    return [
        EvaluationDocument(
            id=str(evaluation.pk),
            federation=str(evaluation.federation_id),
            version=str(evaluation.version_id),
            state=evaluation.state,
            reason=evaluation.reason(),
            reports=evaluation.figures.get("reports", 0),
        )
        for evaluation in _live_and_latest(
            Evaluation.objects.all(), Evaluation.ACTIVE, begun=("created_at", "pk"), ended="-ended_at"
        )
    ]


def _help(_now: datetime) -> Iterable[AnyDocument]:
    requests = HelpRequest.objects.prefetch_related("transfers")
    return [
        HelpDocument(
            id=str(request.pk),
            federation=str(request.federation_id),
            device=str(request.device_id),
            classes=tuple(request.classes),
            state=request.state,
            reason=request.reason(),
            tried=tuple(
                HelperTried(
                    transfer=str(transfer.pk),
                    helper=str(transfer.helper_id),
                    state=transfer.state,
                    reason=transfer.reason(),
                    size_bytes=transfer.size_bytes,
                    accuracy_before=transfer.accuracy_before,
                    accuracy_after=transfer.accuracy_after,
                )
                for transfer in request.transfers.all()
            ),
        )
        for request in _live_and_latest(requests, HelpRequest.LIVE, begun=("asked_at",), ended="-finished_at")
    ]


def _pairs(_now: datetime) -> Iterable[AnyDocument]:
    return [
        PairDocument(
            id=str(pair.pk),
            name=pair.name,
            slug=pair.slug,
            state=pair.state,
            reason=_reason(pair.reason_code, pair.reason_sentence),
            device_champion=_champion(pair, Role.DEVICE),
            cloud_champion=_champion(pair, Role.CLOUD),
        )
        for pair in ModelPair.objects.prefetch_related("aliases")
    ]


def _jobs(_now: datetime) -> Iterable[AnyDocument]:
    jobs = TrainingJob.objects.select_related("pair")
    return [
        JobDocument(
            id=str(job.pk),
            work=job.kind,
            pair=str(job.pair_id),
            pair_slug=job.pair.slug,
            state=job.state,
            progress=job.progress,
            progress_sentence=job.progress_sentence,
            error=job.reason(),
        )
        for job in _live_and_latest(jobs, TrainingJob.ACTIVE, begun=("created_at",), ended="-finished_at")
    ]


def _enrolment_tokens(_now: datetime) -> Iterable[AnyDocument]:
    return [
        EnrolmentTokenDocument(
            id=str(token.pk),
            label=token.label,
            uses=token.uses,
            uses_allowed=token.uses_allowed,
            expires_at=token.expires_at,
            revoked_at=token.revoked_at,
        )
        for token in EnrolmentToken.objects.all()[:LATEST]
    ]


def _simulations(_now: datetime) -> Iterable[AnyDocument]:
    by_state = SimulationRun.objects.order_by().values("state").annotate(runs=Count("pk"), done=Sum("progress"))
    counted = {row["state"]: (row["runs"], row["done"]) for row in by_state}
    runs = {state: counted.get(state, (0, 0.0))[0] for state in SimulationRun.State.values}
    return [SimulationsDocument(id="simulations", **runs, done=counted.get(SimulationRun.State.RUNNING, (0, 0.0))[1])]


def _repairs(now: datetime) -> Iterable[AnyDocument]:
    return [RepairsDocument(id="repairs", count=len(shown(now=now)))]


def _audit(_now: datetime) -> Iterable[AnyDocument]:
    return [
        AuditDocument(
            id="audit",
            entry=entry.pk,
            action=entry.action,
            subject_kind=entry.subject_kind,
            subject_id=entry.subject_id,
        )
        for entry in Entry.objects.all()[:1]
    ]


READERS: Mapping[str, Callable[[datetime], Iterable[AnyDocument]]] = {
    "fleet": _fleet,
    "federation": _federations,
    "round": _rounds,
    "part": _parts,
    "rollout": _rollouts,
    "agent_rollout": _agent_rollouts,
    "question": _questions,
    "evaluation": _evaluations,
    "help": _help,
    "pair": _pairs,
    "job": _jobs,
    "enrolment_token": _enrolment_tokens,
    "simulations": _simulations,
    "repairs": _repairs,
    "audit": _audit,
}
KINDS = (*READERS, "device")


def _result_of(round_: Round) -> str | None:
    version = round_.merge.result_version_id if round_.merge is not None else None
    return None if version is None else str(version)


def _champion(pair: ModelPair, role: Role) -> str | None:
    wanted = (role, BASE, Alias.Name.CHAMPION)
    return next((str(a.version_id) for a in pair.aliases.all() if (a.role, a.lineage, a.name) == wanted), None)


def _reason(code: str, sentence: str) -> Reason | None:
    return Reason(code, sentence) if code else None
