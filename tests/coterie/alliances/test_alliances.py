"""Alliances: both owners agree, letters arrive once and in order, and each way in which it ends."""

from datetime import timedelta

import msgspec
import pytest
from rest_framework.test import APIClient

from coterie.alliances.advancing import sweep
from coterie.alliances.errors import AllianceHasEnded, NotHalves, OneDevice, OtherKey, UnknownAlliance
from coterie.alliances.models import Letter, Party
from coterie.alliances.relaying import MOST_WAITING, join_alliance
from coterie.alliances.services import begin_alliance, cancel_alliance
from coterie.fleet.models import Device
from coterie.registry.models import Role
from coterie.rounds.retention import versions_in_use
from coterie_wire.alliances import MOST_AT_ONCE, AllianceFigures, JoinAlliance
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from tests.coterie.alliances.world import KEYS, LOWER, UPPER, Two, half, halves
from tests.coterie.world import START, make_device, make_pair, make_version

pytestmark = pytest.mark.django_db


def working() -> Two:
    two = Two()
    two.join("columns")
    two.join("labels")
    return two


def test_it_works_once_both_owners_have_agreed_each_to_the_others_key() -> None:
    two = Two()
    assert two.look().reason_sentence == "the owner of bank and of insurer has yet to agree: coterie-agent ally"
    joined = two.join("columns")
    assert (joined.role, msgspec.json.decode(joined.terms)["epochs"]) == ("columns", 3)
    assert two.look().reason_sentence == "the owner of insurer has yet to agree: coterie-agent ally"
    assert two.exchange("columns", b"early").state == "waiting"
    assert not Letter.objects.exists()
    two.join("labels")
    two.join("columns")  # again, as after a restart
    assert (two.look().state, two.alliance.begun_at) == ("working", START)
    assert {party.version_id for party in Party.objects.all()} <= versions_in_use()


def test_keys_that_owners_have_not_exchanged_are_refused() -> None:
    """A platform, or anybody, between the two would have to show keys of its own."""
    two = Two()
    two.join("columns", partner=b"x" * 32)
    with pytest.raises(OtherKey):
        two.join("labels")
    with pytest.raises(OtherKey):
        two.join("columns")
    assert two.look().state == "waiting"


def test_letters_arrive_once_in_order_and_are_dropped_when_they_were_taken() -> None:
    two = working()
    news = two.exchange("columns", b"0", b"1", b"2")
    assert (news.wanted, news.taken) == (3, 0)
    assert two.exchange("columns", b"1 again", b"2", b"3", first=1).wanted == 4
    assert two.exchange("columns", b"5", first=5).wanted == 4
    letters = [b"0", b"1", b"2", b"3"]
    assert list(two.exchange("labels").letters) == letters[:MOST_AT_ONCE]
    assert list(two.exchange("labels", received=3).letters) == letters[3:]
    assert [bytes(one.content) for one in Letter.objects.all()] == [b"3"]
    assert two.exchange("columns", first=4).taken == 3


def test_a_platform_that_went_back_to_a_backup_wants_what_was_not_taken() -> None:
    two = working()
    two.exchange("columns", b"0", b"1")
    two.exchange("labels", received=2)
    two.exchange("columns", b"2", first=2)
    Letter.objects.all().delete()
    Party.objects.update(sent=0, taken=0)
    assert two.exchange("labels", received=2).letters == ()
    assert two.exchange("columns", first=9).wanted == 2
    assert two.exchange("columns", b"2", first=2).wanted == 3
    assert two.exchange("labels", received=2).letters == (b"2",)


def test_no_more_letters_wait_than_there_is_room_for() -> None:
    two = working()
    for number in range(MOST_WAITING + 3):
        news = two.exchange("columns", b"x", first=number)
    assert news.wanted == MOST_WAITING
    two.exchange("labels", received=10)
    assert two.exchange("columns", b"x", first=MOST_WAITING).wanted == MOST_WAITING + 1


def test_it_finishes_when_both_have_and_tells_what_the_party_with_labels_found() -> None:
    two = working()
    figures = AllianceFigures(common=300, epoch=3, loss=0.5, accuracy=0.75, alone=0.5)
    two.exchange("columns", b"kept", figures=AllianceFigures(common=300, epoch=2))
    assert two.exchange("labels", figures=figures, ended="finished").state == "working"
    assert two.exchange("columns", ended="finished").state == "finished"
    ended = two.look()
    assert (ended.common, ended.epoch, ended.loss, ended.accuracy, ended.alone) == (300, 3, 0.5, 0.75, 0.5)
    assert ended.reason_sentence == "accuracy 75.00% on people held out; 300 people are known to both"
    assert not Letter.objects.exists()
    assert two.join("labels").role == "labels"


def test_each_epoch_that_was_told_of_is_kept_once(api: APIClient) -> None:
    two = working()
    for epoch, loss in ((1, 0.9), (1, 0.9), (3, 0.5)):
        two.exchange("labels", figures=AllianceFigures(common=300, epoch=epoch, loss=loss, accuracy=0.75, alone=0.5))
        two.exchange("columns", figures=AllianceFigures(common=300, epoch=epoch))
    shown = api.get(f"/api/alliances/{two.alliance.pk}/").json()
    assert shown["history"] == [
        {"epoch": 1, "loss": 0.9, "accuracy": 0.75},
        {"epoch": 3, "loss": 0.5, "accuracy": 0.75},
    ]
    assert (shown["alone"], shown["terms"]["epochs"], shown["terms"]["noise"]) == (0.5, 3, 2.0)


@pytest.mark.parametrize("agreed", [True, False])
def test_a_party_that_cannot_go_on_says_why(agreed: bool) -> None:
    two = working() if agreed else Two()
    two.join("columns")
    reason = Reason("vertical.too_few", "20 people are known to both parties, and 200 are needed")
    assert two.exchange("columns", ended="failed", reason=reason).state == "failed"
    assert two.look().reason_sentence == f"bank: {reason.sentence}"


def test_the_sweep_says_who_is_away_and_ends_it_where_a_device_has_left() -> None:
    two = working()
    assert sweep(now=START) == 0.0, "it has moments of its own"
    assert two.look().reason_code == "alliances.aligning"
    two.exchange("labels", figures=AllianceFigures(common=300, epoch=1), now=START + timedelta(seconds=60))
    sweep(now=START + timedelta(seconds=60))
    assert two.look().reason_sentence == "bank has said nothing for 30 seconds, and both are needed"
    two.exchange("columns", now=START + timedelta(seconds=61))
    sweep(now=START + timedelta(seconds=61))
    assert two.look().reason_sentence == "1 of 3 epochs, on people whom both know, who are 300"
    Device.objects.filter(name="bank").update(state=Device.State.REVOKED)
    sweep(now=START + timedelta(seconds=62))
    assert (two.look().state, two.alliance.reason_code) == ("failed", "alliances.party_left")


def test_it_can_be_cancelled_once() -> None:
    two = working()
    cancel_alliance(alliance=two.alliance, now=START)
    assert two.exchange("labels").state == "cancelled"
    with pytest.raises(AllianceHasEnded):
        cancel_alliance(alliance=two.alliance, now=START)


@pytest.mark.parametrize("key", ["nonsense", "00000000-0000-0000-0000-000000000000"])
def test_only_its_devices_reach_it(key: str) -> None:
    message = JoinAlliance(alliance=key, key=KEYS["columns"], partner=KEYS["labels"], people=1, columns=1)
    with pytest.raises(UnknownAlliance):
        join_alliance(device=make_device("other"), message=message, now=START)


def test_what_is_no_network_in_two_halves_is_refused() -> None:
    lower, upper = halves()
    bank, insurer = make_device("bank"), make_device("insurer")

    def begin(**changes: object) -> None:
        given = {
            "columns_device": bank,
            "columns_version": lower,
            "labels_device": insurer,
            "labels_version": upper,
            "terms": {},
        }
        begin_alliance(name="two", now=START, **{**given, **changes})  # type: ignore[arg-type]

    with pytest.raises(OneDevice):
        begin(labels_device=bank)
    with pytest.raises(WireError, match="epochs"):
        begin(terms={"epochs": 0})
    other_batch = half("batch", msgspec.structs.replace(UPPER, batch_size=UPPER.batch_size + 1), "cross_entropy")
    drawn = half("drawn", msgspec.structs.replace(LOWER, seeded=True), "given_gradient")
    cloud = make_version(make_pair("cloud"), role=Role.CLOUD)
    for changes, problem in (
        ({"columns_version": upper}, "given gradient"),
        ({"labels_version": lower}, "names no cut"),
        ({"columns_version": cloud}, "cloud model"),
        ({"labels_version": other_batch}, "batches"),
        ({"columns_version": drawn}, "dropout"),
    ):
        with pytest.raises(NotHalves, match=problem):
            begin(**changes)
