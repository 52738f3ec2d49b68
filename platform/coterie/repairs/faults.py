"""Every kind of fault that the platform finds by itself: a function each, from the database to sentences."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from django.conf import settings
from django.db.models import Count, Max, Q, QuerySet

from coterie.accounts.models import ApiToken
from coterie.cloud.averaging_job import BlobDamaged
from coterie.cloud_training.models import TrainingJob
from coterie.core.acting import current_actor
from coterie.core.away import AWAY, REDIS
from coterie.core.postponing import DISK_FULL, STORAGE_AWAY
from coterie.core.scheduler_heartbeat import NO_WORKER, no_worker
from coterie.federations.models import Federation
from coterie.fleet.copies import is_copied
from coterie.fleet.models import Device
from coterie.fleet.signing_keys import Succession, refusing
from coterie.merging.models import Merge, Update
from coterie.merging.quarantine import NO_OFFENCE
from coterie.merging.reasons import DAMAGED
from coterie.registry.errors import BlobDamaged as BlobLost
from coterie.registry.models import Blob, ModelPair
from coterie.registry.selectors import pairs_that_need, uses_of
from coterie.rollouts.models import Rollout
from coterie.rounds import reasons
from coterie.rounds.islands import weakness
from coterie.rounds.merging_again import why_not_again
from coterie.rounds.models import Assignment, Round, Route
from coterie.rounds.routing import site_of

SILENT_AFTER = timedelta(days=1)
"""A device that has not checked in for so long is worth a look."""
WAITING_AFTER = timedelta(hours=1)
"""A round that waits for devices so long will not open by itself soon."""
RECENT = timedelta(days=1)
ABANDONED_IN_A_ROW = 3
EXPIRES_WITHIN = timedelta(days=7)
DISK_FREE_BYTES = 2 << 30
NAMED = 3
"""Things that a sentence names one by one."""
NOT_JUDGED = ("merging.gave_up", "merging.failed", "child.crashed", "child.out_of_memory", "child.out_of_time")
"""Why rounds are abandoned whose updates nobody has found fault with."""
WHERE_TO_LOOK = {
    "merging.disk_full": "Make room on the disk; the merge then goes on by itself.",
    "merging.storage_away": "See why the object storage does not answer, or refuses what is asked (a wrong clock, "
    "credentials that have ended); the merge then goes on by itself.",
    DISK_FULL: "Make room on the disk; the job then goes on by itself.",
    STORAGE_AWAY: "See why the object storage does not answer, or refuses what is asked (a wrong clock, "
    "credentials that have ended); the job then goes on by itself.",
}
"""By the reason of a merge or a job that waits for something to be there again."""


@dataclass(frozen=True)
class Remedy:
    """What repairs it: a request that a button sends, or a page where a person decides."""

    title: str
    action: str
    """Of `coterie.audit.actions`, for the button's permission; blank: a page, which everybody may open."""
    method: Literal["GET", "POST"]
    path: str
    """Of the REST API; of a page, the list that it shows."""


@dataclass(frozen=True)
class Repair:
    """One fault."""

    key: str
    """The same as long as it is the same fault."""
    code: str
    severity: Literal["error", "warning"]
    sentence: str
    advice: str
    """What to do."""
    subject_kind: str
    subject_id: str
    subject_name: str
    since: datetime | None
    remedies: tuple[Remedy, ...] = field(default=())


def find_faults(*, now: datetime) -> list[Repair]:
    """All faults there are now, errors first."""
    found = [_with_one_full_stop(repair) for find in FINDERS for repair in find(now)]
    return sorted(found, key=lambda repair: (repair.severity, repair.key))


def _with_one_full_stop(repair: Repair) -> Repair:
    """Reasons of errors end with a full stop, others do not."""
    return replace(repair, sentence=f"{repair.sentence[:-2]}.") if repair.sentence.endswith("..") else repair


def _failed_jobs(_now: datetime) -> Iterator[Repair]:
    """The latest job of a pair has failed. Simulations are looked at where they were asked for: they change nothing."""
    works = ~Q(jobs__kind=TrainingJob.Kind.SIMULATION)
    latest = ModelPair.objects.annotate(latest=Max("jobs__created_at", filter=works)).values("latest")
    jobs = TrainingJob.objects.filter(state=TrainingJob.State.FAILED, created_at__in=latest).select_related("pair")
    for job in jobs.exclude(kind__in=(TrainingJob.Kind.PREFLIGHT, TrainingJob.Kind.SIMULATION)):
        yield Repair(
            key=f"job_failed:{job.pk}",
            code=job.reason_code,
            severity="error",
            sentence=f"The {job.kind} of {job.pair.name} failed: {job.reason_sentence}",
            advice="Read its log, put right what it names, and try it again.",
            subject_kind="cloud_training.trainingjob",
            subject_id=str(job.pk),
            subject_name=str(job),
            since=job.finished_at,
            remedies=(
                Remedy("Try again", "cloud_training.retry_job", "POST", f"/api/jobs/{job.pk}/retry/"),
                Remedy("See its log", "", "GET", f"/api/jobs/{job.pk}/"),
            ),
        )


def _waiting_jobs(_now: datetime) -> Iterator[Repair]:
    """Jobs that wait for something to be there again."""
    jobs = TrainingJob.objects.filter(state=TrainingJob.State.QUEUED, reason_code__in=(DISK_FULL, STORAGE_AWAY))
    for job in jobs.exclude(kind=TrainingJob.Kind.SIMULATION).select_related("pair"):
        yield Repair(
            key=f"job_waits:{job.pk}",
            code=job.reason_code,
            severity="error",
            sentence=f"The {job.kind} of {job.pair.name} waits: {job.reason_sentence}",
            advice=WHERE_TO_LOOK[job.reason_code],
            subject_kind="cloud_training.trainingjob",
            subject_id=str(job.pk),
            subject_name=str(job),
            since=job.created_at,
            remedies=(Remedy("See its log", "", "GET", f"/api/jobs/{job.pk}/"),),
        )


def _rejected_pairs(_now: datetime) -> Iterator[Repair]:
    """A pair that was submitted did not pass its pre-flight."""
    for pair in ModelPair.objects.filter(state=ModelPair.State.REJECTED, archived_at=None).annotate(
        judged_at=Max("jobs__finished_at")
    ):
        yield Repair(
            key=f"pair_rejected:{pair.pk}",
            code=pair.reason_code,
            severity="warning",
            sentence=f"The pair {pair.name} was rejected: {pair.reason_sentence}",
            advice="Change the model as the sentence says and submit it again.",
            subject_kind="registry.modelpair",
            subject_id=str(pair.pk),
            subject_name=pair.name,
            since=pair.judged_at,
            remedies=(Remedy("See the pair", "", "GET", f"/api/pairs/{pair.pk}/"),),
        )


def _federations_without_model(_now: datetime) -> Iterator[Repair]:
    """A federation runs, and its pair has nothing to begin with."""
    for round_ in _active_rounds().filter(reason_code=reasons.NO_MODEL.code):
        yield Repair(
            key=f"no_model:{round_.federation.pk}",
            code=reasons.NO_MODEL.code,
            severity="error",
            sentence=f"{round_.federation.name} cannot begin: {reasons.NO_MODEL.sentence}.",
            advice="Bootstrap the pair with a data set.",
            subject_kind="federations.federation",
            subject_id=str(round_.federation.pk),
            subject_name=round_.federation.name,
            since=round_.reason_at,
            remedies=(Remedy("Choose one", "", "GET", f"/api/pairs/{round_.federation.pair_id}/"),),
        )


def _starving_rounds(now: datetime) -> Iterator[Repair]:
    """A round waits for devices, and has for long."""
    waiting = _active_rounds().filter(reason_code=reasons.NEEDS_DEVICES, opens_at__lt=now - WAITING_AFTER)
    for round_ in waiting:
        federation = round_.federation
        yield Repair(
            key=f"needs_devices:{federation.pk}:{round_.number}",
            code=reasons.NEEDS_DEVICES,
            severity="warning",
            sentence=f"Round {round_.number} of {federation.name} has waited for over an hour: "
            f"{round_.reason_sentence}.",
            advice="Bring devices back, ask less of them in the plan's requirements, or let the pace begin with fewer.",
            subject_kind="rounds.round",
            subject_id=str(round_.pk),
            subject_name=str(round_),
            since=round_.opens_at,
            remedies=(Remedy("See the devices", "", "GET", f"/api/devices/?tag={federation.device_tag}&ready=false"),),
        )


def _sites_without_supernode(_now: datetime) -> Iterator[Repair]:
    """Devices of an open round that are to meet at their sites, and find nobody there."""
    for round_ in _rounds_with_supernodes():
        federation = round_.federation
        alone = Route.objects.filter(assignment__round=round_, reason_code=reasons.NO_SUPERNODE)
        sites = list(alone.order_by("reason_sentence").values_list("reason_sentence", flat=True).distinct())
        if count := alone.count():
            yield Repair(
                key=f"no_supernode:{federation.pk}",
                code=reasons.NO_SUPERNODE,
                severity="warning",
                sentence=f"In {federation.name} {_named(sites)}; so the updates of {count} leave by themselves.",
                advice="Let a device of the site that has power serve its neighbours ([relay] in its agent.toml), or "
                "run `coterie-agent relay` on a host there.",
                subject_kind="federations.federation",
                subject_id=str(federation.pk),
                subject_name=federation.name,
                since=round_.opened_at,
                remedies=(Remedy("See the rounds", "", "GET", f"/api/rounds/?federation={federation.pk}&state=open"),),
            )


def _islands_that_would_not_hold(now: datetime) -> Iterator[Repair]:
    """Sites with supernodes that could not agree on who takes waiting updates if they were cut off."""
    for round_ in _rounds_with_supernodes():
        federation, prefix = round_.federation, round_.parsed_plan().topology.site_tag()
        leading = Device.objects.filter(routes__assignment__round=round_).distinct()
        sites = sorted({site for device in leading if (site := site_of(device, prefix)) is not None})
        weak = [reason for site in sites if (reason := weakness(round_, site, now=now)) is not None]
        if weak:
            yield Repair(
                key=f"island:{federation.pk}",
                code=weak[0].code,
                severity="warning",
                sentence=f"In {federation.name} {_named([reason.sentence for reason in weak])}; so while the platform "
                "is away, updates there wait on their devices.",
                advice="Bring these supernodes back, or let other devices of the site serve their neighbours ([relay] "
                "in agent.toml).",
                subject_kind="federations.federation",
                subject_id=str(federation.pk),
                subject_name=federation.name,
                since=round_.opened_at,
                remedies=(Remedy("See the devices", "", "GET", f"/api/devices/?tag={federation.device_tag}"),),
            )


def _failing_federations(_now: datetime) -> Iterator[Repair]:
    """The latest rounds of a federation all came to nothing."""
    for federation in Federation.objects.filter(state=Federation.State.RUNNING):
        ended = list(federation.rounds.filter(finished_at__isnull=False).order_by("-number")[:ABANDONED_IN_A_ROW])
        if len(ended) < ABANDONED_IN_A_ROW or any(round_.state != Round.State.ABANDONED for round_ in ended):
            continue
        yield Repair(
            key=f"rounds_abandoned:{federation.pk}",
            code=ended[0].reason_code,
            severity="error",
            sentence=f"The last {ABANDONED_IN_A_ROW} rounds of {federation.name} were abandoned, the latest because: "
            f"{ended[0].reason_sentence}.",
            advice="Pause it while you look into the rounds, and change the plan where they say why.",
            subject_kind="federations.federation",
            subject_id=str(federation.pk),
            subject_name=federation.name,
            since=ended[-1].finished_at,
            remedies=(
                Remedy("Pause", "federations.pause_federation", "POST", f"/api/federations/{federation.pk}/pause/"),
                Remedy("See the rounds", "", "GET", f"/api/rounds/?federation={federation.pk}&state=abandoned"),
            ),
        )


def _paused_by_themselves(_now: datetime) -> Iterator[Repair]:
    """A federation keeps its candidates back, and does not go on by itself."""
    for federation in Federation.objects.filter(state=Federation.State.PAUSED).exclude(reason_code=""):
        yield Repair(
            key=f"kept_back:{federation.pk}",
            code=federation.reason_code,
            severity="error",
            sentence=f"{federation.name} holds no rounds: {federation.reason_sentence}.",
            advice="Change its terms or its plan as the sentence says, then start it again.",
            subject_kind="federations.federation",
            subject_id=str(federation.pk),
            subject_name=federation.name,
            since=None,
            remedies=(
                Remedy("Start", "federations.start_federation", "POST", f"/api/federations/{federation.pk}/start/"),
                Remedy("See it", "", "GET", f"/api/federations/{federation.pk}/"),
            ),
        )


def _rolled_back(_now: datetime) -> Iterator[Repair]:
    """The latest version that a federation rolled out was taken back."""
    going_on = Federation.objects.filter(state__in=(Federation.State.RUNNING, Federation.State.PAUSED))
    for federation in going_on:
        rollout = federation.rollouts.select_related("version__pair").first()
        if rollout is None or rollout.state != Rollout.State.ROLLED_BACK:
            continue
        yield Repair(
            key=f"rolled_back:{rollout.pk}",
            code=rollout.reason_code,
            severity="warning",
            sentence=f"Version {rollout.version.number} of {rollout.version.pair.name} was rolled back: "
            f"{rollout.reason_sentence}.",
            advice="Look into the reports of the canary group and the round that made it, and mute this when you have.",
            subject_kind="rollouts.rollout",
            subject_id=str(rollout.pk),
            subject_name=str(rollout),
            since=rollout.ended_at,
            remedies=(
                Remedy(
                    "See the version",
                    "",
                    "GET",
                    f"/api/pairs/{rollout.version.pair_id}/?version={rollout.version_id}",
                ),
            ),
        )


def _failing_merges(_now: datetime) -> Iterator[Repair]:
    """Merges that wait, or that workers fail at again and again."""
    running = Merge.objects.filter(state=Merge.State.RUNNING).select_related("federation", "round")
    for merge in running.filter(Q(attempts__gt=1) | Q(postponements__gt=0)):
        waits = merge.postponed_until is not None
        yield Repair(
            key=f"merge_fails:{merge.pk}",
            code=merge.reason_code if waits else "repairs.merge_fails",
            severity="error",
            sentence=f"The merge of round {merge.number} of {merge.federation.name} waits: {merge.reason_sentence}."
            if waits
            else f"Workers die or fail over the merge of round {merge.number} of {merge.federation.name}; "
            f"this is attempt {merge.attempts}.",
            advice=WHERE_TO_LOOK.get(
                merge.reason_code if waits else "",
                "Look into the workers' log, above all for memory. After five attempts the round is abandoned.",
            ),
            subject_kind="rounds.round",
            subject_id=str(merge.round.pk),
            subject_name=str(merge.round),
            since=merge.asked_at,
        )


def _mergeable_rounds(_now: datetime) -> Iterator[Repair]:
    """The latest round was abandoned although its updates are there, and could be merged."""
    latest = Round.objects.filter(merge__isnull=False).order_by("federation", "-number")
    for federation_id in latest.values_list("federation", flat=True).distinct().order_by():
        round_ = latest.filter(federation=federation_id).select_related("federation", "merge__base_version").first()
        assert round_ is not None, "it was found a moment ago"
        if round_.reason_code not in NOT_JUDGED or why_not_again(round_) is not None:
            continue
        yield Repair(
            key=f"merge_again:{round_.pk}",
            code=round_.reason_code,
            severity="warning",
            sentence=f"Round {round_.number} of {round_.federation.name} was abandoned although its updates are there: "
            f"{round_.reason_sentence}.",
            advice="Put right what the sentence says and merge them again.",
            subject_kind="rounds.round",
            subject_id=str(round_.pk),
            subject_name=str(round_),
            since=round_.finished_at,
            remedies=(Remedy("Merge again", "rounds.merge_again", "POST", f"/api/rounds/{round_.pk}/merge-again/"),),
        )


def _rejected_updates(now: datetime) -> Iterator[Repair]:
    """Devices send what cannot be counted."""
    rejected = Assignment.objects.filter(state=Assignment.State.REJECTED, changed_at__gte=now - RECENT)
    for row in rejected.order_by().values("reason_code").annotate(devices=Count("device", distinct=True)):
        example = rejected.filter(reason_code=row["reason_code"]).order_by("-changed_at").select_related("device")[0]
        yield Repair(
            key=f"updates_rejected:{row['reason_code']}",
            code=row["reason_code"],
            severity="warning",
            sentence=f"{_devices(row['devices'])} sent updates within a day that were rejected, last {example.device}: "
            f"{example.reason_sentence}.",
            advice="Update the agents there, or revoke devices that you do not trust.",
            subject_kind="fleet.device",
            subject_id=str(example.device_id),
            subject_name=str(example.device),
            since=example.changed_at,
            remedies=(Remedy("See them", "", "GET", "/api/assignments/?state=rejected&sort=-changed_at"),),
        )


def _distrusted_devices(now: datetime) -> Iterator[Repair]:
    """Merges left out what a device sent: it would have decided them."""
    faulty = Update.objects.filter(merge__finished_at__gte=now - RECENT).exclude(fault_code__in=NO_OFFENCE)
    rows = faulty.filter(device__state=Device.State.ENROLLED, device__paused_at=None).order_by("received_at")
    for device in Device.objects.filter(pk__in=rows.values("device")):
        updates = rows.filter(device=device).select_related("merge__federation")
        last = updates.last()
        assert last is not None and last.merge is not None, "it was found a moment ago"
        yield Repair(
            key=f"device_distrusted:{device.pk}",
            code=last.fault_code,
            severity="warning",
            sentence=f"Merges left out {updates.count()} of {device}'s updates within a day, the last in round "
            f"{last.merge.number} of {last.merge.federation.name}: {last.fault_sentence}.",
            advice="Pause it until you know why: rounds then ask it no more. Its data or its owner may be at fault.",
            subject_kind="fleet.device",
            subject_id=str(device.pk),
            subject_name=str(device),
            since=last.received_at,
            remedies=(
                Remedy("Pause it", "fleet.pause_device", "POST", f"/api/devices/{device.pk}/pause/"),
                Remedy("See the device", "", "GET", f"/api/devices/{device.pk}/"),
            ),
        )


def _quarantined_devices(_now: datetime) -> Iterator[Repair]:
    """Devices that the platform asks no more."""
    for device in Device.objects.filter(state=Device.State.ENROLLED).exclude(quarantine=""):
        yield Repair(
            key=f"device_quarantined:{device.pk}",
            code="fleet.quarantined",
            severity="warning",
            sentence=f"{device} is in quarantine: {device.quarantine}.",
            advice="Find out what it sends and why. Release it if its data are sound by now, or remove it for good.",
            subject_kind="fleet.device",
            subject_id=str(device.pk),
            subject_name=str(device),
            since=device.paused_at,
            remedies=(
                Remedy("Release it", "fleet.resume_device", "POST", f"/api/devices/{device.pk}/resume/"),
                Remedy("Remove it", "fleet.revoke_device", "POST", f"/api/devices/{device.pk}/revoke/"),
                Remedy("See the device", "", "GET", f"/api/devices/{device.pk}/"),
            ),
        )


def _copied_devices(now: datetime) -> Iterator[Repair]:
    """Devices as which two agents run: each undoes what the other does in a round."""
    for device in Device.objects.filter(is_copied(now)):
        yield Repair(
            key=f"device_copied:{device.pk}",
            code="repairs.device_copied",
            severity="warning",
            sentence=f"Two agents run as {device}: its directory was copied to another machine, or its credential.",
            advice="Stop one of them, remove its directory and have it join with an enrolment token. If you know of no "
            "copy, somebody has taken the credential: remove the device, and have it join again.",
            subject_kind="fleet.device",
            subject_id=str(device.pk),
            subject_name=str(device),
            since=None,
            remedies=(
                Remedy("Remove it", "fleet.revoke_device", "POST", f"/api/devices/{device.pk}/revoke/"),
                Remedy("See the device", "", "GET", f"/api/devices/{device.pk}/"),
            ),
        )


def _damaged_blobs(_now: datetime) -> Iterator[Repair]:
    """Stored files that were found damaged, and that no copy has replaced."""
    for blob in Blob.objects.filter(damaged_at__isnull=False, removed_at=None).order_by("damaged_at"):
        uses = uses_of(blob.pk)
        if not uses and current_actor().project is not None:
            continue  # another project's
        more = f" and {len(uses) - NAMED} more" if len(uses) > NAMED else ""
        yield Repair(
            key=f"blob_damaged:{blob.pk}",
            code=BlobLost.code,
            severity="error",
            sentence=f"The stored file {blob} is lost or damaged, so that it is not used: "
            f"{', '.join(uses[:NAMED]) or 'nothing'}{more} would need it.",
            advice="Name the directory of a backup that has it in COTERIE_COPIES, or put the file back, and repair it; "
            "it is read again every ten minutes in any case. Else use another version, or upload it again.",
            subject_kind="registry.blob",
            subject_id=blob.pk,
            subject_name=str(blob),
            since=blob.damaged_at,
            remedies=(
                Remedy("Repair it", "registry.repair_blob", "POST", f"/api/blobs/{blob.pk}/repair/"),
                *(
                    Remedy(f"See the versions of {pair.name}", "", "GET", f"/api/pairs/{pair.pk}/")
                    for pair in pairs_that_need(blob.pk)[:NAMED]
                ),
            ),
        )


def _damaged_updates(now: datetime) -> Iterator[Repair]:
    """Updates that the disk changed before they were merged."""
    damaged = Update.objects.filter(fault_code=DAMAGED.code, merge=None, verified_at__gte=now - RECENT)
    last = damaged.select_related("federation", "device").order_by("verified_at").last()
    if last is not None:
        count = damaged.count()
        found = "One stored update was" if count == 1 else f"{count} stored updates were"
        yield Repair(
            key="updates_damaged",
            code=DAMAGED.code,
            severity="error",
            sentence=f"{found} found damaged or lost before the merge, the last of {last.device} for "
            f"{last.federation.name}; rounds go on without them.",
            advice="Look into the disk's health. Where a directory of COTERIE_COPIES has them, updates are replaced.",
            subject_kind="federations.federation",
            subject_id=str(last.federation_id),
            subject_name=str(last.federation),
            since=last.verified_at,
        )


def _damaged_files(now: datetime) -> Iterator[Repair]:
    """Merges found files that are no longer what was stored: of updates, which cost these, or of a version."""
    merges = Merge.objects.filter(finished_at__gte=now - RECENT).select_related("federation", "round")
    updates = Update.objects.filter(merge__in=merges, fault_code=DAMAGED.code)
    for code, found in (
        (BlobDamaged.code, merges.filter(reason_code__in=(BlobDamaged.code, BlobLost.code))),
        (DAMAGED.code, merges.filter(pk__in=updates.values("merge"))),
    ):
        merge = found.order_by("finished_at").last()
        if merge is None:
            continue
        lost = "; it was abandoned" if code == BlobDamaged.code else ", which left damaged updates out"
        yield Repair(
            key=f"files_damaged:{code}",
            code=code,
            severity="error",
            sentence="Files on the disk are no longer what was stored, as was last found by the merge of round "
            f"{merge.number} of {merge.federation.name}{lost}.",
            advice="Look into the disk's health. Restore the files, or roll back to a version whose files are sound.",
            subject_kind="rounds.round",
            subject_id=str(merge.round.pk),
            subject_name=str(merge.round),
            since=merge.finished_at,
            remedies=(Remedy("See the pair's versions", "", "GET", f"/api/pairs/{merge.federation.pair_id}/"),),
        )


def _unconfined_jobs(_now: datetime) -> Iterator[Repair]:
    """The latest job looked at somebody's program without all that should confine it."""
    job = TrainingJob.objects.filter(started_at__isnull=False).select_related("pair").order_by("-started_at").first()
    if job is not None and job.unconfined:
        yield Repair(
            key="jobs_unconfined",
            code="repairs.jobs_unconfined",
            severity="warning",
            sentence=f"Jobs run without {job.unconfined}, the last a {job}: the system does not allow it.",
            advice="Let the platform's user make user namespaces (in a container: a seccomp profile that allows "
            "unshare) and use Landlock (Linux 5.13 or newer), or submit only programs of people whom you trust.",
            subject_kind="cloud_training.trainingjob",
            subject_id=str(job.pk),
            subject_name=str(job),
            since=job.started_at,
            remedies=(Remedy("See its log", "", "GET", f"/api/jobs/{job.pk}/"),),
        )


def _silent_devices(now: datetime) -> Iterator[Repair]:
    """Devices that have not checked in for long."""
    silent = Device.objects.filter(state=Device.State.ENROLLED, last_seen_at__lt=now - SILENT_AFTER)
    count, latest = silent.count(), silent.order_by("-last_seen_at").first()
    if latest is not None:
        yield Repair(
            key="devices_silent",
            code="repairs.devices_silent",
            severity="warning",
            sentence=f"{_devices(count)} not checked in for over a day; the last to fall silent is {latest}."
            if count == 1
            else f"{count} devices have not checked in for over a day; the last to fall silent is {latest}.",
            advice="Look whether they have power and network. Revoke those that are gone for good.",
            subject_kind="fleet.device",
            subject_id=str(latest.pk),
            subject_name=str(latest),
            since=latest.last_seen_at,
            remedies=(Remedy("See them", "", "GET", "/api/devices/?status=absent&sort=last_seen_at"),),
        )


def _foreign_keys(_now: datetime) -> Iterator[Repair]:
    """Devices that trust another signing key than the platform's take no version from it."""
    others, replaced = refusing(), Succession().former_keys()
    count, latest = others.count(), others.order_by("-enrolled_at").first()
    if latest is not None:
        joined = "One device joined" if count == 1 else f"{count} devices joined"
        yield Repair(
            key="signing_key_changed",
            code="repairs.signing_key_changed",
            severity="error",
            sentence=f"{joined} while the platform had another signing key, the last {latest}: what the platform signs "
            "now is refused there.",
            advice="Put the former key back (the file signing-key of the state directory, or COTERIE_SIGNING_KEY), or "
            "have these devices leave and join again."
            if others.exclude(trusted_key__in=replaced).exists()
            else "Have these devices leave and join again: their agents are too old to take over the next key.",
            subject_kind="fleet.device",
            subject_id=str(latest.pk),
            subject_name=str(latest),
            since=None,
            remedies=(Remedy("See devices", "", "GET", "/api/devices/?sort=-enrolled_at"),),
        )


def _expiring_tokens(now: datetime) -> Iterator[Repair]:
    """Programs will soon be refused."""
    soon = ApiToken.objects.filter(
        revoked_at=None, expires_at__gt=now, expires_at__lt=now + EXPIRES_WITHIN, last_used_at__gte=now - EXPIRES_WITHIN
    )
    actor = current_actor()
    if actor.project is not None:
        whole = Q(project=None) if actor.installation_role() is not None else Q(pk=None)
        soon = soon.filter(Q(project=actor.project) | whole)
    for token in soon.select_related("operator"):
        yield Repair(
            key=f"token_expires:{token.pk}",
            code="repairs.token_expires",
            severity="warning",
            sentence=f"The API token {token}, which is in use, expires on {token.expires_at:%F}.",
            advice="Make another one for the program that uses it.",
            subject_kind="accounts.apitoken",
            subject_id=str(token.pk),
            subject_name=str(token),
            since=None,
        )


def _full_disk(_now: datetime) -> Iterator[Repair]:
    """Models and updates will soon have no place."""
    if current_actor().installation_role() is None:
        return
    free_bytes = shutil.disk_usage(settings.STATE).free
    if free_bytes < DISK_FREE_BYTES:
        yield Repair(
            key="disk_almost_full",
            code="repairs.disk_almost_full",
            severity="error",
            sentence=f"The disk of the state directory has {free_bytes >> 20} MiB left.",
            advice="Make room: uploads fail when it is full.",
            subject_kind="",
            subject_id="",
            subject_name=str(settings.STATE),
            since=None,
        )


def _servers_away(_now: datetime) -> Iterator[Repair]:
    """The platform does without a server that it should have."""
    if current_actor().installation_role() is None:
        return
    for server, sentence in AWAY.sentences().items():
        yield Repair(
            key=f"server_away:{server}",
            code="repairs.server_away",
            severity="error",
            sentence=f"{sentence}.",
            advice="Bring it back; the platform notices by itself.",
            subject_kind="",
            subject_id="",
            subject_name=server,
            since=None,
        )


def _no_worker(now: datetime) -> Iterator[Repair]:
    """Whatever is to be done waits."""
    if settings.EMBEDDED or current_actor().installation_role() is None:
        return
    if no_worker(now) and REDIS not in AWAY:
        yield Repair(
            key="no_worker",
            code="repairs.no_worker",
            severity="error",
            sentence=f"Rounds, jobs and alerts wait: {NO_WORKER}",
            advice="Start one, or restart those that are stuck; what waits is taken up.",
            subject_kind="",
            subject_id="",
            subject_name="workers",
            since=None,
        )


FINDERS: tuple[Callable[[datetime], Iterator[Repair]], ...] = (
    _failed_jobs,
    _waiting_jobs,
    _rejected_pairs,
    _federations_without_model,
    _starving_rounds,
    _sites_without_supernode,
    _islands_that_would_not_hold,
    _failing_federations,
    _paused_by_themselves,
    _rolled_back,
    _failing_merges,
    _mergeable_rounds,
    _rejected_updates,
    _distrusted_devices,
    _quarantined_devices,
    _copied_devices,
    _damaged_blobs,
    _damaged_updates,
    _damaged_files,
    _unconfined_jobs,
    _silent_devices,
    _foreign_keys,
    _expiring_tokens,
    _full_disk,
    _servers_away,
    _no_worker,
)


def _active_rounds() -> QuerySet[Round]:
    return Round.objects.filter(state__in=Round.ACTIVE).select_related("federation__pair")


def _rounds_with_supernodes() -> list[Round]:
    opened = _active_rounds().filter(state=Round.State.OPEN)
    return [round_ for round_ in opened if round_.parsed_plan().topology.fan_in() is not None]


def _named(found: Sequence[str]) -> str:
    more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return "; ".join(found[:NAMED]) + more


def _devices(count: int) -> str:
    return "One device has" if count == 1 else f"{count} devices"
