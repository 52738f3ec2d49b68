"""The steps of a secure sum, which advances when devices have sent what a step needs, or when the step's time ends.

Every change of a sum or its parties is made with the row of the sum locked.
"""

import logging
from collections.abc import Set
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.db import transaction

from coterie.core.durable import Steps
from coterie.core.events import wake_devices
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet.services import quarantine_device
from coterie.privacy.services import spend
from coterie.registry.models import ModelVersion
from coterie.secure_sums.errors import OtherAnswer, OtherIdentity, WrongStep
from coterie.secure_sums.files import VECTORS, vectors_of
from coterie.secure_sums.identity_log import check_identity, log_head, log_length
from coterie.secure_sums.models import Party, SecureSum
from coterie.secure_sums.selectors import layout_of, members_of, revealed, shared, survivors, why
from coterie.storage.arrivals import UploadTarget, WrongHash
from coterie_learning.merge import Cohort
from coterie_learning.privacy import Spend
from coterie_learning.secure_sum.members import check_member, member_list
from coterie_learning.secure_sum.recovery import LyingDealer, check_boxes, recover
from coterie_learning.secure_sum.vector import open_vector
from coterie_wire.bundle import BlobRef
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.messages import UploadState
from coterie_wire.secure_sum import Box, Member, OfferMasked, Share
from coterie_wire.structs import from_json
from coterie_wire.tensor_files import OpenFile

logger = logging.getLogger(__name__)
State = SecureSum.State
STEPS = Steps(
    SecureSum,
    ways={
        State.JOINING: frozenset({State.SHARING, State.FAILED}),
        State.SHARING: frozenset({State.MASKING, State.FAILED}),
        State.MASKING: frozenset({State.REVEALING, State.FAILED}),
        State.REVEALING: frozenset({State.COLLECTED, State.FAILED}),
    },
    app="rounds",
)


def begin_sum(
    *, federation: Federation, cohort: int, number: int, plan: object, base_version: ModelVersion, now: datetime
) -> SecureSum:
    """The sum of a cohort, which is created if there is none yet."""
    sum_, _ = SecureSum.objects.get_or_create(
        cohort=cohort,
        defaults={
            "federation": federation,
            "number": number,
            "plan": plan,
            "base_version": base_version,
            "began_at": now,
        },
    )
    return sum_


def begin_sum_of_answers(*, federation: Federation, question: object, now: datetime) -> SecureSum:
    """Create a sum of devices' counts for `question`."""
    return SecureSum.objects.create(federation=federation, question=question, began_at=now)


@transaction.atomic
def join(*, sum_: SecureSum, device: Device, assignment: UUID, member: Member) -> bool:
    """Add the device to the sum; False if it is a member already.

    Raises WrongStep once the list is closed, OtherIdentity, OtherAnswer, or what `check_member` raises.
    """
    held = _locked(sum_.pk)
    entry = msgspec.json.encode(member).decode()
    party = Party.objects.filter(pk=assignment).first()
    if party is not None:
        if party.member != entry:
            raise OtherAnswer(what="session keys")
        return False
    if held.state != State.JOINING:
        raise WrongStep(wanted="session keys", step=why(held).sentence)
    if member.device != str(device.pk):
        raise OtherIdentity(device=device.name)
    check_member(str(held.pk), member)
    check_identity(device, member.identity)
    Party.objects.create(pk=assignment, sum=held, device=device, member=entry)
    return True


@transaction.atomic
def store_shares(*, party: Party, boxes: tuple[Box, ...], now: datetime) -> None:
    """Store a member's sealed shares; with the last ones the sum advances.

    Raises WrongStep, OtherAnswer or WireError ``secure_sum.wrong_box``.
    """
    sum_ = _locked(party.sum_id)
    party.refresh_from_db()
    content = msgspec.json.encode(boxes).decode()
    if party.boxes:
        if party.boxes != content:
            raise OtherAnswer(what="shares")
        return
    if sum_.state != State.SHARING or party.place is None:
        raise WrongStep(wanted="shares", step=why(sum_).sentence)
    check_boxes(members_of(sum_), party.place, boxes, sum_.terms())
    party.boxes = content
    party.save(update_fields=["boxes"])
    if not sum_.parties.filter(boxes="").exists():
        _advance(sum_, now)


@transaction.atomic
def offer_vector(*, party: Party, offer: OfferMasked) -> UploadState:
    """Announce a masked vector, or ask how much of it has arrived; each member has one.

    Raises WrongStep, OtherAnswer, or WireError ``update.wrong_shape`` where its size is not that of the sum's vectors.
    """
    sum_ = _locked(party.sum_id)
    party.refresh_from_db()
    if party.delivered_at is not None and party.vector_sha256 == offer.sha256:
        return UploadState(offset=party.vector_bytes, accepted=True)
    if sum_.state != State.MASKING or not party.boxes:
        raise WrongStep(wanted="a masked vector", step=why(sum_).sentence)
    if party.vector_sha256 not in ("", offer.sha256):
        raise OtherAnswer(what="masked vectors")
    expected = _vector_bytes(sum_)
    if offer.size_bytes != expected:
        detail = f"a masked vector of {offer.size_bytes} bytes, where those of the sum have {expected}"
        raise WireError("update.wrong_shape", detail)
    party.vector_sha256, party.vector_bytes = offer.sha256, offer.size_bytes
    party.save(update_fields=["vector_sha256", "vector_bytes"])
    return UploadState(offset=VECTORS.arrived_bytes(party.pk, party.vector_sha256))


def vector_target(party: Party, offset: int) -> UploadTarget:
    """Where to write the vector's bytes from `offset` on. Raises WrongStep or WrongOffset."""
    if party.sum.state != State.MASKING or not party.vector_sha256:
        raise WrongStep(wanted="a masked vector", step=why(party.sum).sentence)
    return VECTORS.target(party.pk, sha256=party.vector_sha256, offset=offset, size_bytes=party.vector_bytes)


def complete_vector(party: Party, now: datetime) -> UploadState:
    """Store a vector that has arrived; with the last one the sum advances. A malformed vector is not stored.

    Raises WrongStep, WrongHash, or WireError ``update.malformed``, ``update.wrong_list`` or ``update.wrong_shape``.
    """
    if party.delivered_at is not None:
        return UploadState(offset=party.vector_bytes, accepted=True)
    arrived = VECTORS.arrived_bytes(party.pk, party.vector_sha256) if party.vector_sha256 else 0
    if not arrived or arrived < party.vector_bytes:
        return UploadState(offset=arrived)
    sum_ = party.sum
    found = members_of(sum_)
    try:
        with VECTORS.verified(party.pk, sha256=party.vector_sha256) as file:
            layout = layout_of(sum_, len(found.members))
            open_vector(OpenFile(file.fileno(), party.vector_bytes), layout, found.digest)
            with transaction.atomic():
                _count(party, now)
                vectors_of(sum_).put_verified(file, BlobRef(party.vector_sha256, party.vector_bytes))
    except FileNotFoundError:
        party.refresh_from_db()
        return UploadState(offset=0, accepted=party.delivered_at is not None)
    except (WrongHash, WireError):
        VECTORS.discard(party.pk)
        raise
    VECTORS.discard(party.pk)
    return UploadState(offset=party.vector_bytes, accepted=True)


@transaction.atomic
def store_revealed(*, party: Party, shares: tuple[Share, ...], now: datetime) -> None:
    """Store the shares that a member reveals; with the last the sum advances. Raises WrongStep or OtherAnswer."""
    sum_ = _locked(party.sum_id)
    party.refresh_from_db()
    content = msgspec.json.encode(shares).decode()
    if party.shares:
        if party.shares != content:
            raise OtherAnswer(what="revealed shares")
        return
    if sum_.state != State.REVEALING or party.delivered_at is None:
        raise WrongStep(wanted="revealed shares", step=why(sum_).sentence)
    party.shares = content
    party.save(update_fields=["shares"])
    if not sum_.parties.filter(delivered_at__isnull=False, shares="").exists():
        _advance(sum_, now)


@transaction.atomic
def advance(*, cohort: int, now: datetime) -> SecureSum | None:
    """Advance the sum of a cohort that takes no more devices, where it is due; None: no device has joined."""
    sum_ = SecureSum.objects.filter(cohort=cohort).first()
    return None if sum_ is None else advance_sum(key=sum_.pk, now=now)


@transaction.atomic
def advance_sum(*, key: UUID, now: datetime) -> SecureSum:
    """Advance a sum that takes no more devices, where it is due."""
    sum_ = _locked(key)
    if sum_.state == State.JOINING or (sum_.closes_at is not None and sum_.closes_at <= now):
        _advance(sum_, now)
    elif sum_.state in STEPS.ways:
        STEPS.explain(sum_, why(sum_))
    return sum_


@transaction.atomic
def fail(*, cohort: int, reason: Reason, now: datetime) -> None:
    """End the sum of a cohort as failed, where there is one that has not ended; its contents are discarded."""
    sum_ = SecureSum.objects.filter(cohort=cohort, state__in=STEPS.ways).first()
    if sum_ is not None:
        fail_sum(key=sum_.pk, reason=reason, now=now)


@transaction.atomic
def fail_sum(*, key: UUID, reason: Reason, now: datetime) -> None:
    """End a sum as failed, unless it has ended; its contents are discarded."""
    sum_ = _locked(key)
    if sum_.state in STEPS.ways:
        _fail(sum_, reason, now)


def discard_contents(sum_: SecureSum) -> None:
    """Remove what its members sent: boxes, shares and vectors."""
    Party.objects.filter(sum=sum_).update(boxes="", shares="")
    vectors_of(sum_).clear()


def _advance(sum_: SecureSum, now: datetime) -> None:
    """Take the next step with the members that have answered, if they are enough; else fail."""
    try:
        match SecureSum.State(sum_.state):
            case State.JOINING:
                _close_list(sum_, now)
            case State.SHARING:
                _require(sum_, len(shared(sum_)))
                _step(sum_, State.MASKING, now)
            case State.MASKING:
                _charge(sum_, now)
                _require(sum_, len(survivors(sum_)))
                _discard_late(sum_)
                _step(sum_, State.REVEALING, now)
            case State.REVEALING:
                found = members_of(sum_)
                recovered = recover(
                    found,
                    sum_.terms(),
                    shared=shared(sum_),
                    survivors=survivors(sum_),
                    revealed=revealed(sum_),
                )
                _quarantine(sum_, recovered.liars, "revealed or dealt wrong shares", now)
                STEPS.take(sum_, State.COLLECTED, reason=why(sum_), closes_at=None, ended_at=now)
                _wake(sum_)
    except LyingDealer as error:
        _quarantine(sum_, {error.place}, "dealt shares of another secret than it had published", now)
        _fail(sum_, Reason(error.code, error.detail), now)
    except WireError as error:
        _fail(sum_, Reason(error.code, error.detail), now)


def _quarantine(sum_: SecureSum, places: Set[int], what: str, now: datetime) -> None:
    """Put members that provably lied into quarantine, however many there are: no honest device could look like it."""
    for party in sum_.parties.filter(place__in=places).select_related("device").order_by("place"):
        why = f"it {what} in {sum_}"
        logger.warning("%s is put into quarantine: %s", party.device, why)
        quarantine_device(device=party.device, why=why, now=now)


def _close_list(sum_: SecureSum, now: datetime) -> None:
    parties = {party.member: party for party in sum_.parties.all()}
    members = {entry: from_json(entry.encode(), Member) for entry in parties}
    sum_.terms().graph(len(members))
    layout_of(sum_, len(members))
    length = log_length()
    found = member_list(str(sum_.pk), list(members.values()), log_head(length))
    places = {member.device: place for place, member in enumerate(found.members)}
    for entry, party in parties.items():
        party.place = places[members[entry].device]
    Party.objects.bulk_update(parties.values(), ["place"], batch_size=500)
    _step(sum_, State.SHARING, now, list_sha256=found.digest.hex(), log_length=length)


def _require(sum_: SecureSum, found: int) -> None:
    """Raises WireError ``secure_sum.too_few``."""
    fewest = sum_.terms().fewest
    if found < fewest:
        raise WireError("secure_sum.too_few", f"{found} devices are left, and the plan promises each {fewest}")


def _charge(sum_: SecureSum, now: datetime) -> None:
    """Charge the survivors' privacy budgets, where the sum has a cost, before any share that unmasks it is requested.

    A member whose budget another federation has spent meanwhile is left out of the sum.
    """
    alive = sum_.parties.filter(delivered_at__isnull=False)
    devices = list(alive.values_list("device_id", flat=True))
    cost = _cost(sum_, len(devices))
    if cost is not None:
        paid = spend(release=f"sum {sum_.pk}", federation=sum_.federation, spent=cost, devices=devices, now=now)
        alive.exclude(device__in=paid).update(delivered_at=None, out_of_budget=True)


def _cost(sum_: SecureSum, devices: int) -> Spend | None:
    """The privacy cost for each of `devices` members; None: there is none, or the merge charges it."""
    parsed_question = sum_.parsed_question()
    if parsed_question is not None:
        return parsed_question.spend()
    privacy = sum_.parsed_plan().privacy
    return privacy.spend(Cohort(devices, devices)) if privacy.releases == "masked_sums" else None


def _step(sum_: SecureSum, to: State, now: datetime, **changes: object) -> None:
    closes_at = now + timedelta(seconds=sum_.step_s())
    STEPS.take(sum_, to, reason=None, closes_at=closes_at, **changes)
    STEPS.explain(sum_, why(sum_))
    _wake(sum_)


def _fail(sum_: SecureSum, reason: Reason, now: datetime) -> None:
    if STEPS.take(sum_, State.FAILED, reason=reason, closes_at=None, ended_at=now):
        discard_contents(sum_)
        _discard_late(sum_)
        _wake(sum_)


def _discard_late(sum_: SecureSum) -> None:
    """Delete, unread, late vectors that are in no sum: once their masks are revealed, they could be unmasked."""
    late = list(sum_.parties.filter(delivered_at=None).values_list("pk", flat=True))
    counted = set(sum_.parties.filter(delivered_at__isnull=False).values_list("vector_sha256", flat=True))
    whole = set(sum_.parties.filter(out_of_budget=True).values_list("vector_sha256", flat=True)) - counted

    def discard() -> None:
        for key in late:
            VECTORS.discard(key)
        for sha256 in whole:
            vectors_of(sum_).delete(sha256)

    transaction.on_commit(discard)


def _count(party: Party, now: datetime) -> None:
    sum_ = _locked(party.sum_id)
    party.refresh_from_db(fields=["delivered_at"])
    if party.delivered_at is not None:
        return
    if sum_.state != State.MASKING:
        raise WrongStep(wanted="a masked vector", step=why(sum_).sentence)
    party.delivered_at = now
    party.save(update_fields=["delivered_at"])
    if not sum_.parties.exclude(boxes="").filter(delivered_at=None).exists():
        _advance(sum_, now)


def _vector_bytes(sum_: SecureSum) -> int:
    found = members_of(sum_)
    return layout_of(sum_, len(found.members)).file_bytes(bytes(32))


def _locked(key: UUID) -> SecureSum:
    """The sum, with its row locked."""
    sums = SecureSum.objects.select_related("base_version__pair", "federation")
    return sums.select_for_update(of=("self",), no_key=True).get(pk=key)


def _wake(sum_: SecureSum) -> None:
    wake_devices([str(device) for device in sum_.parties.values_list("device_id", flat=True)])
