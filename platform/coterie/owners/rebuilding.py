"""Running a rebuild: merges are repeated without the device, and the resulting version is put to use.

One worker at a time does it; the result of each repeated merge is stored. Where merges cannot be repeated, rounds
restart from an earlier version.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Event
from uuid import UUID, uuid4

import msgspec
from django.db import transaction
from django.db.models import Q

from coterie.child.errors import Cancelled
from coterie.core.durable import Steps, reason_columns
from coterie.core.errors import CoterieError
from coterie.core.file_removal import removal
from coterie.core.lease import Heartbeat, extend_lease, free, take_lease
from coterie.core.postponing import is_due, pause_after
from coterie.core.resting import LONGEST_S
from coterie.core.scratch import scratch_directory
from coterie.federations.models import Federation
from coterie.merging.averaging import Beginning, Merger, merge_here_or_in_child
from coterie.merging.models import Merge
from coterie.merging.repeating import UpdateLost, repeat
from coterie.owners import reasons
from coterie.owners.jobs import REBUILD
from coterie.owners.lineages import Repeatable, history_of, holding_versions, without_device
from coterie.owners.models import Forgetting, Rebuild
from coterie.registry.collecting import retire
from coterie.registry.errors import BlobDamaged
from coterie.registry.models import Blob, ModelPair, ModelVersion, Role
from coterie.registry.selectors import ancestry, champion
from coterie.registry.services import hold_version, publish_version, withdraw_version
from coterie.rollouts.selectors import active_rollout
from coterie.rounds.ending import close
from coterie.rounds.models import Round
from coterie.rounds.retention import versions_at_work
from coterie.webhooks.models import Event as Told
from coterie.webhooks.services import announce
from coterie_learning.forgetting import Forgetting as Promise
from coterie_learning.plan import FORGETTING, stored_plan
from coterie_wire.conditions import Reason

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
State = Rebuild.State

STEPS = Steps(
    Rebuild,
    ways={
        State.ASKED: frozenset({State.REPEATING, State.RETIRING}),
        State.REPEATING: frozenset({State.ASKED, State.RETIRING}),
        State.RETIRING: frozenset({State.DONE}),
        State.DONE: frozenset(),
    },
    app="federations",
)


def request_rebuilds(forgetting: Forgetting, merges: Sequence[Merge], *, now: datetime) -> None:
    """Create a rebuild for each federation whose plan promises it, and whose `merges` counted updates of the device."""
    by_federation: dict[Federation, list[Merge]] = {}
    for merge in merges:
        by_federation.setdefault(merge.federation, []).append(merge)
    for federation, held in by_federation.items():
        promise = _promise_of(federation, held)
        if promise.rebuilds:
            Rebuild.objects.create(
                forgetting=forgetting,
                federation=federation,
                promise=msgspec.to_builtins(promise),
                held=sorted(merge.pk for merge in held),
                asked_at=now,
                **reason_columns(reasons.REBUILD_ASKED),
            )


def _promise_of(federation: Federation, held: Sequence[Merge]) -> Promise:
    """The promise of the current plan, or else of the last plan under which the device took part."""
    plans = [merge.plan for merge in sorted(held, key=lambda merge: merge.number)]
    promises = [stored_plan(plan).forgetting for plan in (*plans, federation.plan)]
    return next((one for one in reversed(promises) if one.rebuilds), promises[-1])


def queue_rebuilds(*, now: datetime) -> float:
    """Queue each rebuild that no worker holds. Returns seconds until one may become due."""
    unfinished = Rebuild.objects.exclude(state=State.DONE)
    if not unfinished.exists():
        return LONGEST_S
    for key in unfinished.filter(free(now), is_due(now)).values_list("pk", flat=True):
        REBUILD.send(rebuild=str(key))
    return 0.0


def run_rebuild(*, key: UUID, clock: Clock, merger: Merger = merge_here_or_in_child) -> None:
    """Advance a rebuild as far as it goes now. When a worker dies, another continues once the lease ends."""
    lease = uuid4()
    unfinished = Rebuild.objects.filter(pk=key).exclude(state=State.DONE)
    if not take_lease(unfinished, lease=lease, now=clock()):
        return
    rebuild = Rebuild.objects.select_related("federation__pair", "base").get(pk=key)
    with Heartbeat(lambda: extend_lease(unfinished, lease=lease, now=clock())) as heartbeat:
        try:
            _advance(rebuild, lease, heartbeat.lost, clock, merger)
        except Cancelled:
            logger.info("%s has been taken over by another worker", rebuild)
            return
        except Exception as error:
            _postpone(rebuild, lease, error, now=clock())
            if not isinstance(error, CoterieError | OSError):
                raise
        else:
            unfinished.filter(lease_token=lease).update(lease_until=None, attempts=0, postponed_until=None)


def _advance(rebuild: Rebuild, lease: UUID, lost: Event, clock: Clock, merger: Merger) -> None:
    if rebuild.state in Rebuild.BEFORE_USE and _is_behind(rebuild):
        STEPS.explain(rebuild, reasons.BEHIND_ANOTHER)
        return
    if rebuild.state == State.ASKED:
        _begin(rebuild, now=clock())
    while rebuild.state == State.REPEATING:
        if lost.is_set():
            raise Cancelled
        if not _repeat_next(rebuild, lease, lost, clock, merger):
            return
    if rebuild.state == State.RETIRING:
        _retire(rebuild, now=clock())


def _is_behind(rebuild: Rebuild) -> bool:
    before = Rebuild.objects.filter(federation=rebuild.federation_id, state__in=Rebuild.BEFORE_USE).exclude(
        pk=rebuild.pk
    )
    return before.filter(Q(asked_at__lt=rebuild.asked_at) | Q(asked_at=rebuild.asked_at, pk__lt=rebuild.pk)).exists()


def _to_repeat(rebuild: Rebuild) -> Repeatable | None:
    version = champion(rebuild.federation.pair_id, Role.DEVICE, rebuild.federation.lineage())
    return None if version is None else without_device(history_of(version), rebuild)


def _begin(rebuild: Rebuild, *, now: datetime) -> None:
    """Find out what is to be repeated; where that cannot be, rounds begin again from before the device."""
    found = _to_repeat(rebuild)
    if found is None:
        STEPS.take(rebuild, State.RETIRING, reason=reasons.NOT_IN_USE)
        return
    promise = FORGETTING.parse(rebuild.promise)
    if promise.kept_days() is None:
        _restart(rebuild, found, None, now=now)
        return
    problem = _why_not_repeated(found, promise)
    if problem is not None:
        _restart(rebuild, found, problem, now=now)
        return
    assert found.merges is not None, "else it cannot be repeated"
    siblings = Rebuild.objects.filter(federation=rebuild.federation_id).values_list("pk", flat=True)
    STEPS.take(
        rebuild,
        State.REPEATING,
        reason=reasons.repeating(0, len(found.merges)),
        base=found.bases[0],
        merges=[],
        to_repeat=len(found.merges),
        parameters=None,
        server_state=None,
        residual=None,
        metrics={},
        without=[str(key) for key in siblings],
    )


def _why_not_repeated(found: Repeatable, promise: Promise) -> Reason | None:
    if found.merges is None:
        return reasons.NOT_REPEATABLE
    if found.bases[0].parameters.removed_at is not None:
        return reasons.NOT_KEPT
    for merge in Merge.objects.filter(pk__in=found.merges).select_related("round"):
        reason = promise.misfit(stored_plan(merge.plan), None, None)
        if reason is not None:
            return reason
        if merge.round.tidied_at is not None:
            return reasons.NOT_KEPT
    return None


def _repeat_next(rebuild: Rebuild, lease: UUID, lost: Event, clock: Clock, merger: Merger) -> bool:
    """Repeat one merge, or put the result to use; False: it has to wait."""
    found = _to_repeat(rebuild)
    done = tuple(rebuild.merges)
    if found is None or found.bases[0] != rebuild.base or found.merges is None or found.merges[: len(done)] != done:
        STEPS.take(rebuild, State.ASKED, reason=reasons.REBUILD_ASKED)  # somebody has another version used meanwhile
        return False
    if len(found.merges) == len(done):
        return _use(rebuild, _reached(rebuild), now=clock())
    merge = Merge.objects.select_related("federation__held_out", "federation__cloud_data", "base_version__pair").get(
        pk=found.merges[len(done)]
    )
    try:
        with scratch_directory("rebuild") as directory:
            repeated = repeat(merge, _reached(rebuild), directory, lost, now=clock(), merger=merger)
    except (UpdateLost, BlobDamaged) as error:
        return _restart(rebuild, found, error.reason(), now=clock())
    changes: dict[str, object] = {"merges": [*done, merge.pk], "to_repeat": len(found.merges)}
    if repeated is not None:
        result = repeated.result
        changes |= {"parameters_id": result.parameters, "server_state_id": result.server_state}
        changes |= {"residual_id": result.residual, "metrics": dict(repeated.metrics)}
    held = Rebuild.objects.filter(pk=rebuild.pk, lease_token=lease, state=State.REPEATING)
    reason = reasons.repeating(len(done) + 1, len(found.merges))
    if not held.update(**changes, **reason_columns(reason), attempts=1):
        raise Cancelled
    rebuild.refresh_from_db()
    return True


def _reached(rebuild: Rebuild) -> Beginning:
    """The result of the merges repeated so far."""
    assert rebuild.base is not None, "what repeats has its base"
    if rebuild.parameters_id is None:
        return Beginning.of_version(rebuild.base)
    return Beginning(rebuild.parameters_id, rebuild.server_state_id, rebuild.residual_id, rebuild.metrics)


def _restart(rebuild: Rebuild, found: Repeatable, problem: Reason | None, *, now: datetime) -> bool:
    """Restart rounds from the newest stored version from before the device; False: it has to wait."""
    base = next((one for one in found.bases if one.parameters.removed_at is None), None)
    if base is None:
        STEPS.explain(rebuild, reasons.NO_BASE)
        return False
    siblings = Rebuild.objects.filter(federation=rebuild.federation_id).values_list("pk", flat=True)
    rebuild.base, rebuild.merges, rebuild.to_repeat, rebuild.metrics = base, [], 0, base.metrics
    rebuild.without = [str(key) for key in siblings]
    if problem is not None:
        rebuild.restart_code, rebuild.restart_sentence = problem.code, problem.sentence[:400]
    return _use(rebuild, Beginning.of_version(base), now=now)


def _use(rebuild: Rebuild, reached: Beginning, *, now: datetime) -> bool:
    """Put a version without the device to use, unless another was put to use meanwhile; False: it has to wait."""
    with transaction.atomic():
        federation = Federation.objects.select_for_update(of=("self",), no_key=True).get(pk=rebuild.federation_id)
        round_ = federation.rounds.select_for_update(of=("self",), no_key=True).filter(state__in=Round.ACTIVE).first()
        ModelPair.objects.select_for_update(no_key=True).get(pk=federation.pair_id)
        held = Rebuild.objects.select_for_update(of=("self",), no_key=True).get(pk=rebuild.pk)
        if held.state != rebuild.state or held.lease_token != rebuild.lease_token:
            raise Cancelled
        if active_rollout(federation) is not None:
            STEPS.explain(held, reasons.ROLLOUT)
            return False
        found = _to_repeat(rebuild)
        if found is None or (rebuild.to_repeat and found.merges != tuple(rebuild.merges)):
            return True  # checked again
        version = _publish(rebuild, reached, now)
        if round_ is not None and round_.state == Round.State.OPEN:
            close(round_=round_, now=now)  # its updates fit no more, and its merge will say so
        announce(
            Told.LINEAGE_REBUILT,
            {"federation": federation.slug, "version": str(version.pk), "version_number": version.number}
            | {"merges": len(rebuild.merges)},
            about=federation,
            now=now,
        )
        return STEPS.take(
            rebuild,
            State.RETIRING,
            reason=reasons.RETIRING,
            result_version=version,
            base=rebuild.base,
            merges=rebuild.merges,
            to_repeat=rebuild.to_repeat,
            metrics=rebuild.metrics,
            without=rebuild.without,
            restart_code=rebuild.restart_code,
            restart_sentence=rebuild.restart_sentence,
        )


def _publish(rebuild: Rebuild, reached: Beginning, now: datetime) -> ModelVersion:
    base = rebuild.base
    assert base is not None, "what is rebuilt has its base"
    hold_version(base)
    left = champion(base.pair_id, Role.DEVICE, base.lineage)
    assert left is not None, "there is a version in use, which holds the device"
    version = publish_version(
        pair_id=base.pair_id,
        role=Role.DEVICE,
        origin=ModelVersion.Origin.REBUILD,
        parent=base,
        parameters=_blob(reached.parameters),
        server_state=None if reached.server_state is None else _blob(reached.server_state),
        metrics=rebuild.metrics,
        lineage=base.lineage,
        now=now,
    )
    for former in set(ancestry(left)) - set(ancestry(version)):
        if former.lineage == version.lineage:
            withdraw_version(version=former, now=now)
    return version


def _blob(sha256: str) -> Blob:
    return Blob.objects.get(pk=sha256)


def _retire(rebuild: Rebuild, *, now: datetime) -> None:
    """Remove the parameters of the versions that contain the device, once they are not in use any more."""
    lineage = rebuild.federation.lineage()
    holding = holding_versions(rebuild)
    versions = {version.pk for version in holding if version.lineage == lineage}
    with removal() as allowed:
        if not allowed:
            return
        collected = retire(versions=versions, in_use=versions_at_work, now=now)
    rebuild.retired_bytes += collected.size_bytes
    rebuild.retired = ModelVersion.objects.filter(pk__in=versions, parameters__removed_at__isnull=False).count()
    rebuild.elsewhere = len(holding) - len(versions)
    rebuild.save(update_fields=["retired_bytes", "retired", "elsewhere"])
    used = versions & versions_at_work()
    if used:
        STEPS.explain(rebuild, reasons.still_used(len(used)))
        return
    reason = None if rebuild.result_version_id is not None else reasons.NOT_IN_USE
    STEPS.take(rebuild, State.DONE, reason=reason, finished_at=now, parameters=None, server_state=None, residual=None)
    logger.info("%s is done", rebuild)


def _postpone(rebuild: Rebuild, lease: UUID, error: Exception, *, now: datetime) -> None:
    """Delay the next attempt, twice as long each time; a promised rebuild is never given up."""
    held = Rebuild.objects.filter(pk=rebuild.pk, lease_token=lease)
    attempts = held.values_list("attempts", flat=True).first()
    if attempts is None:
        return
    pause = pause_after(attempts - 1)
    problem = f"{error} [{error.code}]" if isinstance(error, CoterieError) else f"{type(error).__name__}: {error}"
    logger.warning("%s failed, attempt %d: %s", rebuild, attempts, problem)
    reason = reasons.rebuild_failed(problem, pause.total_seconds())
    held.update(**reason_columns(reason), lease_until=None, postponed_until=now + pause)
