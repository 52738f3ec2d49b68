"""A fleet is asked, answers in a sum, and is charged; nobody reads less than a sum."""

from collections.abc import Mapping
from datetime import timedelta

import numpy as np
import pytest
from rest_framework.test import APIClient

from coterie.analytics.advancing import advance_question, sweep
from coterie.analytics.errors import BudgetSpent, NotUnderWay, TooFewDevices, WrongNumberOfDevices
from coterie.analytics.models import Part, Question
from coterie.analytics.selectors import quantiles
from coterie.analytics.services import ask_question, cancel_question
from coterie.core.pruning import prune
from coterie.federations.models import Federation
from coterie.privacy.models import Account, Charge
from coterie.privacy.services import change_device_budget, change_federation_budget
from coterie.secure_sums.files import vectors_of
from coterie.secure_sums.models import Party, SecureSum
from coterie_learning.answers import Encoding
from coterie_wire.asking import OfferToAnswer
from coterie_wire.errors import WireError
from tests.coterie.analytics.answering import AnsweringDevice, agreeing, together
from tests.coterie.world import START, later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
CLASSES = {"count": {"kind": "classes", "classes": 3, "most": 20}, "min_devices": 3, "corrupted": 0.0, "step_s": 30}


@pytest.fixture
def federation() -> Federation:
    pair = make_pair()
    make_version(pair)
    return make_federation(pair, target_updates=500, min_updates=400)


def asked(
    federation: Federation,
    content: Mapping[str, object] = CLASSES,
    *,
    epsilon: float | None = None,
    devices: int = 4,
    seconds: float = 0,
) -> Question:
    return ask_question(
        federation=federation,
        title="classes",
        content=content,
        epsilon=epsilon,
        devices=devices,
        within_s=60,
        now=later(seconds),
    )


def now_of(question: Question) -> Question:
    return Question.objects.get(pk=question.pk)


def joined(devices: list[AnsweringDevice]) -> None:
    assert all(device.is_asked(later(1)) for device in devices)
    assert together(devices, later(2)) == ["join"] * len(devices)
    assert sweep(now=later(3)) == 0.0, "it has moments of its own"


def through(devices: list[AnsweringDevice], question: Question) -> Question:
    """From the closed list to the end."""
    for second in (4, 5, 6):
        together(devices, later(second))
        sweep(now=later(second))
    return now_of(question)


def test_without_noise_the_answer_is_exact(federation: Federation) -> None:
    devices = agreeing(4)
    question = asked(federation)
    joined(devices)
    answered = through(devices, question)

    assert answered.state == Question.State.ANSWERED, answered.reason_sentence
    assert answered.counts == np.sum([device.counts for device in devices], axis=0).tolist()
    assert (answered.deviation, answered.devices) == (0.0, 4)
    assert not Charge.objects.exists()
    assert [device.act(later(9)) for device in devices] == ["counted"] * 4


def test_with_noise_each_is_charged_before_anything_is_unmasked(federation: Federation) -> None:
    devices = agreeing(4)
    question = asked(federation, epsilon=1.0)
    joined(devices)
    together(devices, later(4))
    assert not Charge.objects.exists()
    together(devices, later(5))
    assert SecureSum.objects.get().state == SecureSum.State.REVEALING
    assert set(Charge.objects.values_list("release", flat=True)) == {f"sum {question.sum_id}"}
    assert Charge.objects.count() == 4
    together(devices, later(6))
    sweep(now=later(6))

    answered = now_of(question)
    assert answered.state == Question.State.ANSWERED
    truth = np.sum([device.counts for device in devices], axis=0)
    encoding = Encoding(answered.parsed(), 4)
    assert answered.deviation == pytest.approx(encoding.error(4))
    assert answered.counts != truth.tolist()
    assert np.abs(np.array(answered.counts) - truth).max() < 6 * encoding.error(4)
    assert len({account.mu2 for account in Account.objects.all()}) == 1


def test_of_fewer_than_its_minimum_nothing_is_read(federation: Federation) -> None:
    """The negative control: nobody's vector is even sent."""
    devices = agreeing(4)
    question = asked(federation)
    assert devices[0].is_asked(later(1))
    assert devices[0].act(later(2)) == "join"
    sweep(now=later(59))
    assert now_of(question).state == Question.State.OPEN
    sweep(now=later(61))
    ended = now_of(question)
    assert (ended.state, ended.reason_code) == (Question.State.FAILED, "analytics.too_few")
    assert (ended.counts, ended.devices) == ([], None)
    assert devices[0].act(later(62)) == "over"


def test_survivors_below_the_minimum_end_it_and_their_vectors_go(federation: Federation) -> None:
    devices = agreeing(4)
    question = asked(federation, {**CLASSES, "min_devices": 4})
    joined(devices)
    together(devices, later(4))
    together(devices[:3], later(5))
    sweep(now=later(60))
    ended = now_of(question)
    assert (ended.state, ended.reason_code) == (Question.State.FAILED, "secure_sum.too_few")
    party = Party.objects.exclude(vector_sha256="").first()
    assert party is not None
    with pytest.raises(FileNotFoundError):
        vectors_of(ended.sum).open(party.vector_sha256)


def test_a_device_that_is_lost_is_not_counted_and_the_others_are(federation: Federation) -> None:
    devices = agreeing(4)
    question = asked(federation, {**CLASSES, "dropped": 0.3})
    joined(devices)
    together(devices, later(4))
    left = devices[1:]
    together(left, later(5))
    sweep(now=later(60))
    together(left, later(61))
    sweep(now=later(62))
    answered = now_of(question)
    assert answered.state == Question.State.ANSWERED, answered.reason_sentence
    assert (answered.devices, answered.counts) == (3, np.sum([one.counts for one in left], axis=0).tolist())


@pytest.mark.long
def test_what_was_sent_is_removed_with_the_answer(federation: Federation) -> None:
    devices = agreeing(3)
    question = asked(federation, devices=3)
    joined(devices)
    answered = through(devices, question)
    assert answered.state == Question.State.ANSWERED
    for party in Party.objects.all():
        assert (party.boxes, party.shares) == ("", "")
        with pytest.raises(FileNotFoundError):
            vectors_of(answered.sum).open(party.vector_sha256)
    advance_question(key=question.pk, now=later(99))
    assert now_of(question) == answered


@pytest.mark.parametrize(
    "offer",
    [
        None,
        OfferToAnswer(subjects=("hardware",), without_noise=True, min_devices=3),
        OfferToAnswer(subjects=("classes",), without_noise=False, min_devices=3),
        OfferToAnswer(subjects=("classes",), without_noise=True, min_devices=4),
    ],
    ids=["old agent", "other subject", "noise wanted", "more devices wanted"],
)
def test_nobody_is_asked_whose_owner_did_not_agree(federation: Federation, offer: OfferToAnswer | None) -> None:
    others = agreeing(3, offer)
    with pytest.raises(TooFewDevices) as refused:
        asked(federation)
    assert refused.value.fields == {"able": 0, "members": 3, "needed": 3}
    agreed = agreeing(3, first=3)
    question = asked(federation, devices=3)
    assert not any(device.is_asked(later(1)) for device in others)
    joined(agreed)
    assert through(agreed, question).devices == 3


def test_a_device_of_another_federation_is_not_asked(federation: Federation) -> None:
    Federation.objects.filter(pk=federation.pk).update(device_tag="kiosk")
    federation.refresh_from_db()
    outsider, *insiders = agreeing(4)
    for device in insiders:
        device.row.tags = ["kiosk"]
        device.row.save()
    asked(federation)
    assert not outsider.is_asked(later(1))
    assert insiders[0].is_asked(later(1))


def test_a_budget_that_is_spent_stops_questions(federation: Federation) -> None:
    devices = agreeing(3)
    change_federation_budget(federation=federation, epsilon=1.0, delta=1e-6, now=START)
    question = asked(federation, epsilon=0.9, devices=3)
    joined(devices)
    assert through(devices, question).state == Question.State.ANSWERED
    with pytest.raises(BudgetSpent) as refused:
        asked(federation, epsilon=0.9, devices=3, seconds=100)
    assert refused.value.fields == {"paying": 0, "needed": 3}
    assert Question.objects.count() == 1


def test_a_device_without_budget_is_not_asked(federation: Federation) -> None:
    devices = agreeing(4)
    change_device_budget(device=devices[0].row, epsilon=0.1, delta=1e-6, now=START)
    asked(federation, epsilon=1.0)
    assert [device.is_asked(later(1)) for device in devices] == [False, True, True, True]


def test_a_device_that_has_spent_its_budget_meanwhile_is_left_out(federation: Federation) -> None:
    devices = agreeing(4)
    question = asked(federation, epsilon=1.0)
    joined(devices)
    change_device_budget(device=devices[0].row, epsilon=0.1, delta=1e-6, now=later(3))
    answered = through(devices, question)
    assert (answered.state, answered.devices) == (Question.State.ANSWERED, 3)
    assert set(Charge.objects.values_list("device_id", flat=True)) == {device.row.pk for device in devices[1:]}


def test_who_declines_is_not_asked_again_and_the_reason_is_kept(federation: Federation) -> None:
    devices = agreeing(4)
    question = asked(federation)
    assert devices[0].is_asked(later(1))
    devices[0].decline(later(1))
    assert not devices[0].is_asked(later(2))
    assert Part.objects.get(device=devices[0].row).declined_code == "privacy.device_budget"
    assert devices[0].act(later(3)) == "over"
    assert now_of(question).state == Question.State.OPEN


def test_the_last_that_is_wanted_closes_the_list(federation: Federation) -> None:
    devices = agreeing(5)
    question = asked(federation, devices=3)
    assert all(device.is_asked(later(1)) for device in devices)
    together(devices[:3], later(2))
    sweep(now=later(2))
    assert [device.act(later(3)) for device in devices[3:]] == ["over", "over"]
    assert through(devices[:3], question).devices == 3


@pytest.mark.parametrize("seconds", [1, 4, 5])
def test_a_question_can_be_cancelled_at_any_step(federation: Federation, seconds: int) -> None:
    devices = agreeing(4)
    question = asked(federation)
    joined(devices)
    for second in range(4, seconds + 1):
        together(devices, later(second))
    cancel_question(question=question, now=later(6))
    assert question.state == Question.State.CANCELLED
    assert [device.act(later(7)) for device in devices] == ["over"] * 4
    sweep(now=later(8))
    assert now_of(question).counts == []
    with pytest.raises(NotUnderWay):
        cancel_question(question=question, now=later(9))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"count": {"kind": "classes", "classes": 0}}, "question.invalid"),
        ({**CLASSES, "noise_multiplier": "much"}, "question.invalid"),
        ({**CLASSES, "corrupted": 0.45, "min_devices": 3}, "secure_sum.too_few"),
    ],
)
def test_a_question_that_cannot_be_kept_is_refused(
    federation: Federation, content: Mapping[str, object], code: str
) -> None:
    agreeing(4)
    with pytest.raises(WireError) as refused:
        asked(federation, {**content, "unknown": 1} if code == "question.invalid" else content, epsilon=1.0, devices=40)
    assert refused.value.code == code
    assert not Question.objects.exists()


def test_a_question_for_too_few_or_too_many_is_refused(federation: Federation) -> None:
    agreeing(4)
    for devices in (2, 2501):
        with pytest.raises(WrongNumberOfDevices):
            asked(federation, devices=devices)


def test_an_answer_survives_a_worker_that_dies_before_it_is_written(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum is charged and unmasked once more, with the same numbers: noise was the devices'."""
    devices = agreeing(4)
    question = asked(federation, epsilon=1.0)
    joined(devices)
    together(devices, later(4))
    together(devices, later(5))
    together(devices, later(6))

    class Died(Exception):
        pass

    def die(_sum: SecureSum) -> None:
        raise Died

    with monkeypatch.context() as patched, pytest.raises(Died):
        patched.setattr("coterie.analytics.advancing.discard_contents", die)
        sweep(now=later(7))
    assert now_of(question).state == Question.State.SUMMING
    sweep(now=later(8))
    answered = now_of(question)
    assert answered.state == Question.State.ANSWERED
    assert Charge.objects.count() == 4


def test_quantiles_come_with_a_histogram(federation: Federation) -> None:
    devices = agreeing(3, OfferToAnswer(subjects=("samples",), without_noise=True, min_devices=3))
    content = {**CLASSES, "count": {"kind": "histogram", "of": "samples", "edges": [0.0, 10.0, 20.0]}}
    question = asked(federation, content, devices=3)
    for number, device in enumerate(devices):
        device.counts = np.eye(5, dtype=np.int64)[1 if number else 2]
    joined(devices)
    answered = through(devices, question)
    assert answered.counts == [0, 2, 1, 0, 0]
    assert quantiles(answered)["0.5"] == 7.5
    assert quantiles(now_of(asked(federation, content, devices=3, seconds=99))) == {}


def test_who_was_asked_goes_a_year_later_and_how_many_were_stays(federation: Federation, api: APIClient) -> None:
    devices = agreeing(4)
    question = asked(federation, devices=3)
    assert all(device.is_asked(later(1)) for device in devices)
    devices[3].decline(later(1))
    assert together(devices[:3], later(2)) == ["join"] * 3
    sweep(now=later(3))
    prune(now=later(4))
    assert Part.objects.count() == 4
    through(devices[:3], question)
    before = api.get(f"/api/analytics/{question.pk}/").json()
    assert before["asked"] == 4 and [one["devices"] for one in before["declined"]] == [1]
    for _ in range(2):
        prune(now=START + timedelta(days=366))
        assert not Part.objects.exists()
        assert api.get(f"/api/analytics/{question.pk}/").json() == before
    assert Party.objects.count() == 3, "receipts rest on them"
