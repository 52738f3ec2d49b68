"""A round whose updates are summed under masks, from joining to its version, and what ends it before."""

import hashlib
from datetime import datetime

import msgspec
import numpy as np
import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks

from coterie.audit.models import Entry
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet.presence import settle
from coterie.merging.models import Update
from coterie.registry.content import BLOBS
from coterie.rounds import summing, uploads
from coterie.rounds.advancing import advance_federation
from coterie.rounds.errors import AssignmentClosed
from coterie.rounds.models import Assignment, Round
from coterie.rounds.transitions import end_assignment
from coterie.secure_sums.errors import OtherAnswer, OtherIdentity, WrongStep
from coterie.secure_sums.files import VECTORS, vectors_of
from coterie.secure_sums.models import Party, SecureSum
from coterie_learning.secure_sum import masks, party, shamir
from coterie_learning.secure_sum.members import member_list
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.secure_sum import JoinSum, OfferMasked, RevealShares, ShareSecrets
from coterie_wire.tensors import Tensors, decode_tensors
from tests.coterie.rounds.summing import PLAN, SummingDevice, masking, small_update, together, trained
from tests.coterie.world import (
    MODEL,
    in_this_process,
    later,
    make_federation,
    make_pair,
    make_version,
    merge_round,
    parameters,
)

pytestmark = pytest.mark.django_db


def begun(**pace: float) -> Federation:
    pair = make_pair()
    make_version(pair)
    return make_federation(pair, plan=PLAN, **{"target_updates": 4, "min_updates": 3, "over_selection": 1.0, **pace})


def the_sum() -> SecureSum:
    return SecureSum.objects.get()


def published(round_: Round) -> Tensors:
    assert round_.result_version is not None
    with BLOBS.open(round_.result_version.parameters_id) as file:
        return decode_tensors(file.read(), expected=MODEL.version)


def merged(federation: Federation, at: float) -> Round:
    settle(now=later(at))
    advance_federation(federation_id=federation.pk, now=later(at))
    round_ = federation.rounds.get(number=1)
    if round_.state == Round.State.MERGING:
        merge_round(round_, clock=lambda: later(at + 1), merger=in_this_process)
        advance_federation(federation_id=federation.pk, now=later(at + 2))
        round_.refresh_from_db()
    return round_


def test_four_devices_are_summed_and_none_is_read() -> None:
    federation = begun()
    devices = trained(4, later(0))

    assert together(devices, later(1)) == ["join"] * 4
    advance_federation(federation_id=federation.pk, now=later(2))
    assert together(devices, later(3)) == ["share"] * 4
    assert together(devices, later(4)) == ["mask"] * 4
    assert together(devices, later(5)) == ["reveal"] * 4
    assert the_sum().state == SecureSum.State.COLLECTED
    assert together(devices, later(6)) == ["counted"] * 4
    round_ = merged(federation, 7)

    assert round_.state == Round.State.PUBLISHED
    assert round_.metrics["updates"] == 4
    assert round_.metrics["mean_loss_after"] == pytest.approx(1.0)
    assert round_.metrics["mean_accuracy"] == pytest.approx(0.5)
    assert not Update.objects.exists()
    base = parameters(0)
    for name, tensor in published(round_).items():
        mean = np.mean([small_update(seed)[name] for seed in range(4)], axis=0)
        np.testing.assert_allclose(tensor - base[name], mean, atol=1e-3)
    assert {part.state for part in Assignment.objects.all()} == {"delivered"}


@pytest.mark.long
def test_who_reveals_wrong_shares_is_outvoted_and_put_into_quarantine() -> None:
    federation = begun()
    devices = trained(4, later(0))
    *honest, liar = devices
    together(devices, later(1))
    advance_federation(federation_id=federation.pk, now=later(2))
    together(devices, later(3))
    together(devices, later(4))
    assert liar.state is not None
    liar.state, shares = party.reveal(liar.state, liar.ask(later(5)).survivors, masking().terms)
    lies = tuple(msgspec.structs.replace(one, share=bytes([0, *[7] * 32])) for one in shares)
    summing.reveal_shares(device=liar.device.row, message=RevealShares(liar.assignment, lies), now=later(5))
    assert together(honest, later(5)) == ["reveal"] * 3

    assert merged(federation, 7).state == Round.State.PUBLISHED
    assert alone_in_quarantine(liar).startswith("it revealed or dealt wrong shares in secure sum of")


@pytest.mark.long
def test_who_deals_shares_of_another_secret_than_it_published_ends_one_sum_and_no_second() -> None:
    federation = begun()
    devices = trained(4, later(0))
    *honest, liar = devices
    together(devices, later(1))
    advance_federation(federation_id=federation.pk, now=later(2))
    together(honest, later(3))
    deal_another_secret(liar, later(3))
    together(devices, later(4))
    assert together(devices, later(5)) == ["reveal"] * 4

    round_ = merged(federation, 7)
    assert (round_.state, round_.reason_code) == (Round.State.ABANDONED, "secure_sum.wrong_share")
    assert alone_in_quarantine(liar).startswith("it dealt shares of another secret than it had published")
    assert liar.device.check_in(later(60)).assignment is None


def deal_another_secret(liar: SummingDevice, now: datetime) -> None:
    """Do as the protocol says, but seal shares of zeros instead of its seed."""
    news = liar.ask(now)
    assert liar.state is not None
    found = member_list(news.session, news.members, news.log_head)
    liar.state = party.share(liar.state, found, masking().terms)
    others = [box.to for box in liar.state.sent]
    threshold = masking().terms.graph(len(found.members)).threshold
    shares = shamir.split(bytes(32), threshold=threshold, points=[other + 1 for other in others])
    boxes = tuple(
        msgspec.structs.replace(
            box,
            content=masks.seal(
                2 * shares[box.to + 1],
                secret=liar.state.channel_key,
                to=found.members[box.to].channel,
                digest=found.digest,
            ),
        )
        for box in liar.state.sent
    )
    summing.share_secrets(device=liar.device.row, message=ShareSecrets(liar.assignment, boxes), now=now)


def alone_in_quarantine(liar: SummingDevice) -> str:
    """Why; the audit log says so, once, and of nobody else."""
    (device,) = Device.objects.exclude(quarantine="")
    (entry,) = Entry.objects.filter(action="fleet.quarantine_device")
    assert str(device.pk) == entry.subject_id == str(liar.device.row.pk)
    return device.quarantine


def test_the_round_says_what_it_waits_for() -> None:
    federation = begun()
    devices = trained(4, later(0))
    together(devices[:2], later(1))
    assert devices[0].ask(later(1)).reason == Reason(
        "secure_sum.joining", "2 devices wait for others to be summed with"
    )
    together(devices[2:], later(1))
    advance_federation(federation_id=federation.pk, now=later(2))
    together(devices[:3], later(3))
    advance_federation(federation_id=federation.pk, now=later(4))
    round_ = Round.objects.get(number=1)
    assert (round_.state, round_.reason_code) == ("closing", "secure_sum.sharing")
    assert round_.reason_sentence == "3 of 4 devices have shared what recovers the sum without them"
    directive = devices[0].device.check_in(later(5))
    assert directive.assignment is not None and directive.assignment.assignment == devices[0].assignment


@pytest.mark.parametrize("lost_before", ["share", "mask", "reveal"])
def test_the_sum_goes_on_without_a_device_that_is_lost(lost_before: str) -> None:
    federation = begun()
    devices = trained(4, later(0))
    lost = devices[3]
    steps, at = ["share", "mask", "reveal"], 1.0
    together(devices, later(at))
    for step in steps:
        at += 1
        advance_federation(federation_id=federation.pk, now=later(at))
        answering = devices if steps.index(step) < steps.index(lost_before) else devices[:3]
        assert set(together(answering, later(at))) == {step}
        if step == lost_before:
            at += 31
            advance_federation(federation_id=federation.pk, now=later(at))

    counted = 4 if lost_before == "reveal" else 3
    round_ = merged(federation, at)
    assert round_.state == Round.State.PUBLISHED
    assert round_.metrics["updates"] == counted
    assert lost.ask(later(at)).to_do == ("counted" if lost_before == "reveal" else "over")
    base = parameters(0)
    for name, tensor in published(round_).items():
        mean = np.mean([small_update(seed)[name] for seed in range(counted)], axis=0)
        np.testing.assert_allclose(tensor - base[name], mean, atol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("step", ["share", "mask", "reveal"])
def test_too_few_end_the_round_and_leave_nothing(step: str) -> None:
    federation = begun()
    devices = trained(4, later(0))
    together(devices, later(1))
    at = 2.0
    for name in ("share", "mask", "reveal"):
        advance_federation(federation_id=federation.pk, now=later(at))
        if name == step:
            together(devices[:1], later(at))
            break
        together(devices, later(at))
        at += 1
    advance_federation(federation_id=federation.pk, now=later(at + 31))

    round_ = federation.rounds.get(number=1)
    assert round_.state == Round.State.ABANDONED
    assert round_.reason_code in {"secure_sum.too_few", "secure_sum.too_few_shares"}
    assert the_sum().state == SecureSum.State.FAILED
    assert {part.state for part in Assignment.objects.filter(round=round_)} == {"released"}
    assert set(Party.objects.values_list("boxes", "shares")) == {("", "")}
    for vector in Party.objects.exclude(vector_sha256=""):
        with pytest.raises(FileNotFoundError):
            vectors_of(the_sum()).open(vector.vector_sha256)
    assert devices[0].ask(later(at + 32)).to_do == "over"


def test_too_few_join_before_the_deadline() -> None:
    federation = begun(deadline_s=60)
    devices = trained(4, later(0))
    together(devices[:2], later(1))
    advance_federation(federation_id=federation.pk, now=later(61))
    advance_federation(federation_id=federation.pk, now=later(62))
    round_ = federation.rounds.get(number=1)
    assert (round_.state, round_.reason_code) == ("abandoned", "rounds.too_few_updates")
    assert devices[0].ask(later(63)).to_do == devices[3].ask(later(63)).to_do == "over"


def test_a_message_that_comes_twice_changes_nothing() -> None:
    federation = begun()
    devices = trained(4, later(0))
    first = devices[0]
    together(devices, later(1))
    assert first.state is not None
    advance_federation(federation_id=federation.pk, now=later(2))
    together(devices, later(3))
    again = ShareSecrets(first.assignment, first.state.sent)
    summing.share_secrets(device=first.device.row, message=again, now=later(4))
    with pytest.raises(OtherAnswer):
        other = ShareSecrets(first.assignment, first.state.sent[::-1])
        summing.share_secrets(device=first.device.row, message=other, now=later(4))
    news = first.ask(later(4))
    assert first.mask(news, later(4))
    vector = Party.objects.get(pk=first.assignment)
    offer = OfferMasked(first.assignment, vector.vector_sha256, vector.vector_bytes)
    assert summing.offer_masked(device=first.device.row, message=offer).accepted
    assert uploads.complete_upload(first.device.row, first.assignment, later(5)).accepted


def test_what_comes_at_the_wrong_time_is_refused() -> None:
    begun()
    devices = trained(4, later(0))
    first = devices[0]
    together(devices[:1], later(1))
    with pytest.raises(WrongStep):
        summing.share_secrets(device=first.device.row, message=ShareSecrets(first.assignment, ()), now=later(2))
    with pytest.raises(WrongStep):
        offer = OfferMasked(first.assignment, "ab" * 32, 10)
        summing.offer_masked(device=first.device.row, message=offer)
    with pytest.raises(WrongStep):
        summing.reveal_shares(device=first.device.row, message=RevealShares(first.assignment, ()), now=later(2))
    with pytest.raises(AssignmentClosed):
        message = ShareSecrets(devices[1].assignment, ())
        summing.share_secrets(device=devices[1].device.row, message=message, now=later(2))


def test_keys_of_another_device_are_refused() -> None:
    begun()
    first, second, *_ = trained(4, later(0))
    session = first.ask(later(1)).session
    foreign = party.join(session, str(second.device.row.pk), first.identity).member
    with pytest.raises(OtherIdentity):
        summing.join_sum(device=first.device.row, message=JoinSum(first.assignment, foreign), now=later(1))
    elsewhere = party.join("elsewhere", str(first.device.row.pk), first.identity).member
    with pytest.raises(WireError, match="not signed"):
        summing.join_sum(device=first.device.row, message=JoinSum(first.assignment, elsewhere), now=later(1))


@pytest.mark.long
def test_a_device_keeps_its_identity() -> None:
    federation = begun()
    devices = trained(4, later(0))
    together(devices, later(1))
    advance_federation(federation_id=federation.pk, now=later(2))
    advance_federation(federation_id=federation.pk, now=later(40))
    assert federation.rounds.get(number=1).state == Round.State.ABANDONED
    advance_federation(federation_id=federation.pk, now=later(41))
    first = devices[0]
    for device in devices[::-1]:
        device.device.check_in(later(42))
    assignment = first.device.check_in(later(43)).assignment
    assert assignment is not None
    again = SummingDevice(first.device, seed=9, assignment=assignment.assignment, round=2)
    with pytest.raises(OtherIdentity):
        again.act(later(44))
    again.identity = first.identity
    assert again.act(later(45)) == "join"


def test_a_spoilt_vector_is_sent_again_and_one_of_another_size_refused() -> None:
    federation = begun()
    devices = trained(4, later(0))
    together(devices, later(1))
    advance_federation(federation_id=federation.pk, now=later(2))
    together(devices, later(3))
    first = devices[0]
    news = first.ask(later(4))
    content = first.masked(news)
    with pytest.raises(WireError, match="bytes"):
        offer = OfferMasked(first.assignment, "ab" * 32, len(content) + 1)
        summing.offer_masked(device=first.device.row, message=offer)


def test_a_device_that_an_operator_takes_out_is_told() -> None:
    begun()
    first, *_ = trained(4, later(0))
    first.act(later(1))
    part = Assignment.objects.get(pk=first.assignment)
    end_assignment(part, Assignment.State.RELEASED, reason=Reason("rounds.held_back", "paused"), now=later(2))
    news = first.ask(later(3))
    assert (news.to_do, news.reason) == ("over", Reason("rounds.held_back", "paused"))


def test_vectors_on_their_way_are_discarded_unread_when_they_are_late(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    federation = begun()
    devices = trained(4, later(0))
    together(devices, later(1))
    advance_federation(federation_id=federation.pk, now=later(2))
    together(devices, later(3))
    together(devices[:3], later(4))
    late = devices[3]
    content = late.masked(late.ask(later(4)))
    offer = OfferMasked(late.assignment, hashlib.sha256(content).hexdigest(), len(content))
    summing.offer_masked(device=late.device.row, message=offer)
    target = uploads.open_upload(late.device.row, late.assignment, 0, later(4))
    target.write(0, content[:10])
    assert VECTORS.arrived_bytes(Party.objects.get(pk=late.assignment).pk, offer.sha256) == 10
    with django_capture_on_commit_callbacks(execute=True):
        advance_federation(federation_id=federation.pk, now=later(40))
    assert the_sum().state == SecureSum.State.REVEALING
    assert VECTORS.arrived_bytes(Party.objects.get(pk=late.assignment).pk, offer.sha256) == 0
    with pytest.raises(WrongStep):
        uploads.open_upload(late.device.row, late.assignment, 0, later(41))
