"""Uploads of updates: offered, received in parts, verified, and counted once."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from coterie.core.errors import CoterieError
from coterie.core.kind_failures import KindFailed, kind_failures
from coterie.fleet.models import Device
from coterie.merging.files import updates_of
from coterie.merging.models import Update
from coterie.privacy.errors import BudgetSpent
from coterie.privacy.reasons import device_out_of_budget
from coterie.privacy.services import spend
from coterie.rounds.assigning import own_assignment, revive
from coterie.rounds.carried_assignments import taking_round
from coterie.rounds.counting import FACTS, count_update
from coterie.rounds.ending import close_if_full
from coterie.rounds.errors import (
    AlreadyDelivered,
    AssignmentClosed,
    Implausible,
    NotOffered,
    UpdateTooLarge,
)
from coterie.rounds.files import UPLOADS
from coterie.rounds.jobs import ADVANCE
from coterie.rounds.models import Assignment, Round, Route, Upload
from coterie.rounds.routing import take_directly
from coterie.rounds.selectors import active_round
from coterie.rounds.suspects import record_suspects
from coterie.rounds.transitions import end_assignment
from coterie.secure_sums.models import Party
from coterie.secure_sums.selectors import party_of
from coterie.secure_sums.services import complete_vector, vector_target
from coterie.storage.arrivals import UploadTarget, WrongHash
from coterie_learning.heads import update_specs
from coterie_learning.local import Local
from coterie_learning.merge import Cohort
from coterie_learning.update_files import Contents
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.messages import OfferUpdate, UploadState
from coterie_wire.tensor_files import OpenFile

TENSOR_OVERHEAD_BYTES = 512
"""At most, for a tensor's name, shape and scales in an encoded update."""
FIXED_OVERHEAD_BYTES = 4096
MAX_SAMPLES_FACTOR = 2
"""How many times the samples a device last reported its update may use: it may have collected more since."""
MAX_LOSS = 1e9
"""No successful training has a loss near it; means over devices stay finite."""


def offer_update(*, device: Device, offer: OfferUpdate, now: datetime) -> UploadState:
    """Announce an update, or ask how much of it has arrived. Offering an accepted update again changes nothing.

    Before it counts, an update may be replaced by another, whose upload starts again. Raises UnknownAssignment,
    NotYourAssignment, AlreadyDelivered, AssignmentClosed, UpdateTooLarge, Implausible, BudgetSpent or WireError
    ``update.wrong_classes``; the last four end it.
    """
    assignment = own_assignment(device=device, assignment_id=offer.assignment)
    if assignment.state == Assignment.State.DELIVERED:
        return _counted(assignment, offer.sha256)
    _check_takes_updates(assignment)
    held = _held_by_supernode(assignment, offer.sha256)
    if held is not None:
        return held
    try:
        update_specs(_model(assignment), assignment.round.parsed_plan().local.scope(), offer.classes)
    except WireError as error:
        _reject(assignment, Reason(error.code, error.detail), now)
        raise
    fault = _fault(assignment, offer) or _unpaid(assignment, offer, now)
    if fault is not None:
        _reject(assignment, fault.reason(), now)
        raise fault
    facts = {name: getattr(offer, name) for name in FACTS}
    with transaction.atomic():
        assignment = _locked(assignment)
        if assignment.state == Assignment.State.DELIVERED:
            return _counted(assignment, offer.sha256)
        _check_takes_updates(assignment)
        revive(assignment=assignment, now=now)
        previous = Upload.objects.filter(assignment=assignment).first()
        if previous is None or previous.sha256 != offer.sha256:
            UPLOADS.discard(assignment.pk)
        Upload.objects.update_or_create(assignment=assignment, defaults={**facts, "offered_at": now})
        if previous is None:
            record_suspects(assignment=assignment, named=offer.suspects, now=now)
    arrived = UPLOADS.arrived_bytes(assignment.pk, offer.sha256)
    if arrived >= offer.size_bytes:
        return complete_upload(device, offer.assignment, now)
    return UploadState(offset=arrived)


def open_upload(device: Device, assignment_id: str, offset: int, now: datetime) -> UploadTarget:  # noqa: ARG001 - a seam
    """Where to write an offered update's bytes from `offset` on.

    Raises UnknownAssignment, NotYourAssignment, AssignmentClosed, NotOffered, WrongOffset or WrongStep.
    """
    party = _own_party(device, assignment_id)
    if party is not None:
        return vector_target(party, offset)
    assignment = own_assignment(device=device, assignment_id=assignment_id)
    _check_takes_updates(assignment)
    upload = Upload.objects.filter(assignment=assignment).first()
    if upload is None:
        raise NotOffered(assignment=assignment_id)
    return UPLOADS.target(assignment.pk, sha256=upload.sha256, offset=offset, size_bytes=upload.size_bytes)


def complete_upload(device: Device, assignment_id: str, now: datetime) -> UploadState:
    """Verify the upload and accept the update; its file is on disk, and its row is committed, when this returns.

    An invalid update ends its assignment. For a secure sum the upload is a masked vector.

    Raises UnknownAssignment, NotYourAssignment, AssignmentClosed, NotOffered, AlreadyDelivered, WrongStep, WrongHash,
    KindFailed or WireError ``update.malformed``, ``update.wrong_codec``, ``update.wrong_shape``, ``update.wrong_list``,
    ``update.not_finite`` or ``update.out_of_range``.
    """
    party = _own_party(device, assignment_id)
    if party is not None:
        return complete_vector(party, now)
    assignment = own_assignment(device=device, assignment_id=assignment_id)
    if assignment.state == Assignment.State.DELIVERED:
        return _counted(assignment)
    _check_takes_updates(assignment)
    upload = Upload.objects.filter(assignment=assignment).first()
    if upload is None or UPLOADS.arrived_bytes(assignment.pk, upload.sha256) < upload.size_bytes:
        return _incomplete(assignment, upload)
    try:
        with kind_failures():
            norm = _store_verified(upload, assignment)
    except FileNotFoundError:
        return _incomplete(assignment, upload)
    except (WrongHash, KindFailed, WireError) as error:
        _reject(assignment, Reason(error.code, str(error)[:400]), now)
        raise
    return _count(assignment, upload, norm, now)


def _own_party(device: Device, name: str) -> Party | None:
    """The device's part in a secure sum, of updates or of answers; None: it has none of that name."""
    try:
        party = party_of(UUID(name))
    except ValueError:
        return None
    return party if party is not None and party.device_id == device.pk else None


@transaction.atomic
def _count(assignment: Assignment, upload: Upload, norm: float, now: datetime) -> UploadState:
    """Count the verified update, unless the round has closed or another request was quicker."""
    assignment = _locked(assignment)
    if assignment.state == Assignment.State.DELIVERED:
        return _counted(assignment, upload.sha256)
    _check_takes_updates(assignment)
    if not take_directly(assignment=assignment, now=now):
        raise AlreadyDelivered(assignment=str(assignment.pk))
    taken_by = taking_round(assignment)
    count_update(assignment=assignment, upload=upload, taken_by=taken_by, norm=norm, now=now)
    if taken_by is not None:
        taken_by.updates_in += 1  # its row is locked
        taken_by.save(update_fields=["updates_in"])
        close_if_full(round_=taken_by, now=now)
        if taken_by.carries_on:  # another device may begin
            ADVANCE.send(federation=str(taken_by.federation_id))
    return UploadState(offset=upload.size_bytes, accepted=True)


def _held_by_supernode(assignment: Assignment, sha256: str) -> UploadState | None:
    """The answer if a supernode holds the update; None: none holds one. Raises AlreadyDelivered if it holds another."""
    route = Route.objects.filter(pk=assignment.pk, held_at__isnull=False).first()
    if route is None:
        return None
    upload = Upload.objects.get(pk=assignment.pk)
    if upload.sha256 != sha256:
        raise AlreadyDelivered(assignment=str(assignment.pk))
    return UploadState(offset=upload.size_bytes, held=route.epoch)


def _locked(assignment: Assignment) -> Assignment:
    """The assignment as it is now, with the row locked of the round that takes its update.

    No round is closed, no assignment carried over and no update counted meanwhile.
    """
    assignments = Assignment.objects.select_related("round__federation")
    if assignment.round.carries_on:
        active_round(assignment.round.federation, lock=True)
        assignments = assignments.select_for_update(of=("self",), no_key=True)  # there may be no round now
    else:
        Round.objects.select_for_update(no_key=True).get(pk=assignment.round_id)
    return assignments.get(pk=assignment.pk)


def _incomplete(assignment: Assignment, upload: Upload | None) -> UploadState:
    """How much has arrived, unless another request has just counted the update, which removes its row and its parts."""
    if Update.objects.filter(pk=assignment.pk).exists():
        return _counted(assignment, None if upload is None else upload.sha256)
    if upload is None:
        raise NotOffered(assignment=str(assignment.pk))
    return UploadState(offset=UPLOADS.arrived_bytes(assignment.pk, upload.sha256))


@transaction.atomic
def _reject(assignment: Assignment, reason: Reason, now: datetime) -> None:
    if end_assignment(assignment, Assignment.State.REJECTED, reason=reason, now=now):
        Upload.objects.filter(assignment=assignment).delete()
        transaction.on_commit(lambda: UPLOADS.discard(assignment.pk))


def _counted(assignment: Assignment, sha256: str | None = None) -> UploadState:
    """The answer about an accepted update. Raises AlreadyDelivered if it is not `sha256`."""
    update = Update.objects.get(pk=assignment.pk)
    if sha256 is not None and update.sha256 != sha256:
        raise AlreadyDelivered(assignment=str(assignment.pk))
    return UploadState(offset=update.size_bytes, accepted=True)


def _check_takes_updates(assignment: Assignment) -> None:
    if assignment.state not in Assignment.UNENDED:
        state = assignment.reason_sentence or assignment.state
        raise AssignmentClosed(assignment=str(assignment.pk), state=state)
    if not assignment.has_time():
        raise AssignmentClosed(assignment=str(assignment.pk), state=f"its round is {assignment.round.state}")


def _unpaid(assignment: Assignment, offer: OfferUpdate, now: datetime) -> CoterieError | None:
    """Charge the device's privacy budget for the update before any of it is sent; an error if the budget is spent.

    An update that replaces another is another release: part of the first may have been sent.
    """
    privacy, device, federation = assignment.round.parsed_plan().privacy, assignment.device, assignment.round.federation
    cost = privacy.spend(Cohort(1, 1))
    if privacy.releases != "updates" or cost is None:
        return None
    release = f"update {assignment.pk} {offer.sha256[:16]}"
    if spend(release=release, federation=federation, spent=cost, devices=[device.pk], now=now):
        return None
    return BudgetSpent(device=device.name, sentence=device_out_of_budget().sentence)


def _fault(assignment: Assignment, offer: OfferUpdate) -> CoterieError | None:
    """What is wrong with an offer, judged by its figures alone."""
    model = _model(assignment)
    limit_bytes = largest_update_bytes(model, assignment.round.parsed_plan().local)
    if not offer.size_bytes:
        return Implausible(problem="it has no bytes")
    if offer.size_bytes > limit_bytes:
        return UpdateTooLarge(size_bytes=offer.size_bytes, limit_bytes=limit_bytes)
    if offer.steps_done > offer.steps_total:
        return Implausible(problem=f"{offer.steps_done} steps done of {offer.steps_total}")
    if offer.samples > offer.steps_total * model.batch_size:
        return Implausible(problem=f"{offer.samples} samples in {offer.steps_total} steps of {model.batch_size}")
    if max(abs(offer.loss_before), abs(offer.loss_after)) > MAX_LOSS:
        return Implausible(problem=f"a loss of {offer.loss_before:g} before and {offer.loss_after:g} after training")
    reported = assignment.device.reported_metadata().samples
    if reported and offer.samples > MAX_SAMPLES_FACTOR * reported:
        return Implausible(problem=f"{offer.samples} samples where the device reported {reported}")
    return None


def largest_update_bytes(model: ModelSpec, local: Local) -> int:
    """An upper bound: no codec makes an update larger than its float32 numbers plus the metadata of each tensor."""
    return local.files() * (
        FIXED_OVERHEAD_BYTES
        + sum(_float32_bytes(tensor.shape) + TENSOR_OVERHEAD_BYTES + len(tensor.name) for tensor in model.version)
    )


def _float32_bytes(shape: tuple[int, ...]) -> int:
    size = 4
    for extent in shape:
        size *= extent
    return size


def _store_verified(upload: Upload, assignment: Assignment) -> float:
    """Store the upload if it is a valid update under the plan; it is read as a stream, in bounded memory.

    Returns its norm.
    """
    plan = assignment.round.parsed_plan()
    contents = Contents(_model(assignment), plan.codec, plan.local)
    with UPLOADS.verified(assignment.pk, sha256=upload.sha256) as file:
        extent = contents.open(OpenFile(file.fileno(), upload.size_bytes), upload.classes).extent()
        updates_of(assignment.round_id).put_verified(file, BlobRef(upload.sha256, upload.size_bytes))
    return extent.norm


def _model(assignment: Assignment) -> ModelSpec:
    return assignment.base_version.pair.model_spec()
