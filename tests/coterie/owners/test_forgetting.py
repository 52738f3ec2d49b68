"""A forgotten device is in no merge after that, and of it only what the receipt says is left; killed anywhere."""

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from itertools import count
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.conf import settings as platform_settings
from django.db import DatabaseError, transaction
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.alerts.models import Channel, Incident, Notice, Rule
from coterie.analytics.advancing import sweep as sweep_questions
from coterie.analytics.models import Part
from coterie.audit.models import Entry
from coterie.fleet.models import Device, Observation
from coterie.fleet.selectors import DeviceLeft, device_of_credential
from coterie.fleet.services import change_device, revoke_device
from coterie.merging.files import updates_of
from coterie.merging.models import Update
from coterie.merging.sweeping import sweep as sweep_merges
from coterie.owners import sweeping
from coterie.owners.exporting import export_of
from coterie.owners.models import Forgetting
from coterie.owners.selectors import UnknownReceipt, checked_receipt, forgetting_of, news_of
from coterie.owners.services import ReceiptTaken, forget_device, leave_forgotten
from coterie.privacy.services import change_device_budget
from coterie.repairs.models import Mute
from coterie.rounds.advancing import sweep
from coterie.rounds.errors import NothingToMerge
from coterie.rounds.merging_again import merge_again
from coterie.rounds.models import Assignment, Round
from coterie.secure_sums.files import vectors_of
from coterie.secure_sums.models import SecureSum
from coterie.webhooks.models import Delivery, Event
from coterie.webhooks.services import announce, create_webhook
from coterie_learning.codec.int8 import Int8
from coterie_learning.cohort import weights
from coterie_learning.fold import CountedUpdate, fold_in_memory
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.update_files import Contents
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import encode_tensors
from tests.coterie.analytics import answering, test_questions
from tests.coterie.killing import Killed, killed_at
from tests.coterie.rounds.summing import PLAN, together, trained
from tests.coterie.rounds.test_supernodes import Site
from tests.coterie.world import (
    MODEL,
    ScriptedDevice,
    fleet_of,
    in_this_process,
    later,
    make_device,
    make_federation,
    make_pair,
    make_version,
    merge_round,
    parameters,
)

pytestmark = pytest.mark.django_db
NAME = "Annas phone"
DAY_S = timedelta(days=1).total_seconds()


def collecting(wanted: int, *, devices: int) -> list[ScriptedDevice]:
    """A round that wants so many updates and has asked as many devices; the first is the one to be forgotten."""
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=wanted, min_updates=1, over_selection=1.0, deadline_s=10 * DAY_S)
    fleet = fleet_of(devices)
    change_device(device=fleet[0].row, name=NAME)
    for device in fleet[:wanted]:
        device.say(later(0))
    sweep(now=later(0))
    updates_of(Round.objects.get().pk).clear()  # files outlive tests, whose rounds have the same numbers
    return fleet


def deliver(device: ScriptedDevice, at: float, *, seed: int) -> None:
    assignment = device.check_in(later(at)).assignment
    assert assignment is not None
    device.deliver(assignment.assignment, later(at), seed=seed)


def path_of(cohort: int, sha256: str) -> Path:
    return Path(platform_settings.STATE) / updates_of(cohort).place(sha256)


def files_of(round_: Round) -> set[str]:
    folder = Path(platform_settings.STATE) / "updates" / str(round_.pk)
    return {path.name for path in folder.rglob("*") if path.is_file()}


def version_of(*seeds: int) -> str:
    """The hash of the version that these updates make."""
    contents = Contents(MODEL, Int8(), Sgd())
    updates = [contents.open(InMemory(Int8().encode(parameters(seed), seed=seed).payload), ()) for seed in seeds]
    found = weights([20] * len(seeds))
    counted = [
        CountedUpdate(lambda one=one: nullcontext(one), weight) for one, weight in zip(updates, found, strict=True)
    ]
    merged = fold_in_memory(FedAvg(), MODEL.parameters, counted, parameters(0), None)
    return hashlib.sha256(encode_tensors(merged.parameters)).hexdigest()


def merged(at: float) -> Round:
    sweep(now=later(at))
    round_ = Round.objects.get(state="merging")
    merge_round(round_, clock=lambda: later(at), merger=in_this_process)
    assert round_.state == "published", round_.reason_sentence
    return round_


def everything() -> str:
    """All that the database holds, as text."""
    found = []
    for model in apps.get_models():
        found += [f"{model._meta.label}: {row}" for row in model._base_manager.values()]
    return "\n".join(found)


def test_an_update_that_waits_is_never_merged_and_nothing_of_it_is_left() -> None:
    fleet = collecting(2, devices=3)
    deliver(fleet[0], 1, seed=1)
    round_ = Round.objects.get(state="open")
    assert (round_.updates_in, len(files_of(round_))) == (1, 1)
    assert NAME in everything()

    forgetting = forget_device(device=fleet[0].row, now=later(2))
    round_.refresh_from_db()
    assert (round_.updates_in, forgetting.taken_out, Update.objects.count()) == (0, 1, 0)
    with pytest.raises(DeviceLeft):
        device_of_credential("device-0")
    sweeping.sweep(now=later(3))
    forgetting.refresh_from_db()
    assert (forgetting.state, files_of(round_)) == ("done", set())
    assert forgetting.holds == []

    deliver(fleet[1], 4, seed=2)
    deliver(fleet[2], 5, seed=3)
    done = merged(6)
    assert (done.metrics["updates"], str(done.result_version.parameters_id)) == (2, version_of(2, 3))
    assert NAME not in everything()
    known = export_of(fleet[0].row, now=later(9)).sections
    assert {name for name, rows in known.items() if rows} == {"device", "assignments", "audit"}
    fleet[0].row.refresh_from_db()
    assert (fleet[0].row.name, fleet[0].row.metadata) == (f"forgotten {str(fleet[0].row.pk)[:8]}", {})


def test_a_running_merge_is_waited_for_and_its_version_is_named() -> None:
    fleet = collecting(2, devices=2)
    for seed, device in enumerate(fleet):
        deliver(device, 1, seed=seed)
    sweep(now=later(2))
    round_ = Round.objects.get(state="merging")
    forgetting = forget_device(device=fleet[0].row, now=later(3))
    assert sweeping.sweep(now=later(3)) == 0.0, "files go when they may"
    forgetting.refresh_from_db()
    assert (forgetting.state, forgetting.reason_code) == ("asked", "owners.in_a_sum")
    assert "round 1 of digits" in news_of(forgetting).sentence

    merge_round(round_, clock=lambda: later(4), merger=in_this_process)
    assert str(round_.result_version.parameters_id) == version_of(0, 1)
    sweeping.sweep(now=later(5))
    news = news_of(forgetting_of(forgetting.pk))
    assert news.done and (news.removed["updates"], news.taken_out) == (1, 0)
    (held,) = news.holds
    assert (held.federation, held.version, held.in_sum) == ("digits", 2, False)
    assert len(files_of(round_)) == 1, "the other device's"
    assert Update.objects.get().device == fleet[1].row


def test_the_same_content_of_another_device_stays() -> None:
    fleet = collecting(3, devices=3)
    deliver(fleet[0], 1, seed=1)
    deliver(fleet[1], 1, seed=1)
    round_ = Round.objects.get(state="open")
    assert len(files_of(round_)) == 1
    forget_device(device=fleet[0].row, now=later(2))
    sweeping.sweep(now=later(3))
    assert Forgetting.objects.get().state == "done"
    assert len(files_of(round_)) == 1
    deliver(fleet[2], 4, seed=2)
    assert str(merged(10 * DAY_S).result_version.parameters_id) == version_of(1, 2)


def test_the_same_content_that_is_being_sent_is_waited_for() -> None:
    fleet = collecting(2, devices=2)
    deliver(fleet[0], 1, seed=1)
    assignment = fleet[1].check_in(later(1)).assignment
    assert assignment is not None
    payload = fleet[1].payload(1)
    fleet[1].offer(assignment.assignment, payload, later(2))
    forget_device(device=fleet[0].row, now=later(3))
    sweeping.sweep(now=later(3))
    assert Forgetting.objects.get().state == "removing"
    fleet[1].send(assignment.assignment, payload, 0, later(4))
    sweeping.sweep(now=later(5))
    round_ = Round.objects.get(state="open")
    assert (Forgetting.objects.get().state, len(files_of(round_))) == ("done", 1)


def test_what_was_abandoned_is_merged_again_without_it() -> None:
    fleet = collecting(2, devices=2)
    for seed, device in enumerate(fleet):
        deliver(device, 1, seed=seed)
    sweep(now=later(2))
    round_ = Round.objects.get(state="merging")

    def broken(*_: object) -> object:
        raise ZeroDivisionError

    for attempt in range(5):
        with pytest.raises(ZeroDivisionError):
            merge_round(round_, clock=lambda at=100.0 * (attempt + 1): later(at), merger=broken)
    sweep_merges(now=later(900))
    sweep(now=later(901))
    round_.refresh_from_db()
    assert round_.state == "abandoned", round_.reason_sentence
    forget_device(device=fleet[0].row, now=later(902))
    sweeping.sweep(now=later(903))
    assert Forgetting.objects.get().state == "done"
    merge_again(round_=round_, now=later(904))
    merge_round(round_, clock=lambda: later(905), merger=in_this_process)
    assert (round_.state, str(round_.result_version.parameters_id)) == ("published", version_of(1))


def test_where_all_were_forgotten_nothing_is_merged_again() -> None:
    fleet = collecting(1, devices=1)
    deliver(fleet[0], 1, seed=1)
    sweep(now=later(2))
    round_ = Round.objects.get(state="merging")
    round_.merge.state, round_.merge.finished_at = "abandoned", later(3)
    round_.merge.save()
    sweep(now=later(4))
    forget_device(device=fleet[0].row, now=later(5))
    sweeping.sweep(now=later(6))
    with pytest.raises(NothingToMerge, match="its devices were forgotten"):
        merge_again(round_=round_, now=later(7))


def test_in_a_sum_of_answers_it_is_removed_when_the_question_ends() -> None:
    pair = make_pair()
    make_version(pair)
    devices = answering.agreeing(4)
    question = test_questions.asked(make_federation(pair))
    test_questions.joined(devices)
    for second in (4, 5):
        answering.together(devices, later(second))
    forgetting = forget_device(device=devices[0].row, now=later(5))
    sweeping.sweep(now=later(5))
    assert forgetting_of(forgetting.pk).reason_code == "owners.in_an_answer"
    answering.together(devices[1:], later(6))
    sweep_questions(now=later(60))
    assert test_questions.now_of(question).state == "answered"
    sweeping.sweep(now=later(61))
    assert news_of(forgetting_of(forgetting.pk)).done
    assert not Part.objects.filter(device=devices[0].row).exists()


def test_in_a_secure_sum_it_is_removed_when_the_round_ends() -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, plan=PLAN, target_updates=4, min_updates=3, over_selection=1.0)
    devices = trained(4, later(0))
    together(devices, later(1))
    sweep(now=later(2))
    for at in (3, 4):
        together(devices, later(at))
    mine = devices[0].device.row
    forgetting = forget_device(device=mine, now=later(4))
    sweeping.sweep(now=later(4))
    assert forgetting_of(forgetting.pk).reason_code == "owners.in_a_sum"
    together(devices[1:], later(5))
    sweep(now=later(40))
    together(devices[1:], later(41))
    sweep(now=later(42))
    round_ = federation.rounds.get(number=1)
    assert round_.state == "merging", round_.reason_sentence
    merge_round(round_, clock=lambda: later(43), merger=in_this_process)
    assert (round_.state, round_.metrics["updates"]) == ("published", 4), "its vector was in the sum"
    sweeping.sweep(now=later(44))
    news = news_of(forgetting_of(forgetting.pk))
    assert news.done and [(held.version, held.in_sum) for held in news.holds] == [(2, True)]
    assert files_of(round_) == set()
    sum_ = SecureSum.objects.get(cohort=round_.pk)
    for sha256 in sum_.parties.values_list("vector_sha256", flat=True):
        with pytest.raises(FileNotFoundError):
            vectors_of(sum_).open(sha256)
    round_.refresh_from_db()
    assert round_.tidied_at == later(44)


def test_a_supernodes_sum_is_formed_anew_without_it_while_that_is_open(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.collect()
    gone = site.members[0].row
    before = site.order(3)
    forget_device(device=gone, now=later(4))
    sweeping.sweep(now=later(4))
    order = site.order(5)
    assert (len(before.shares), len(order.shares)) == (3, 2)
    assert site.send(order.fold, site.desk.sum(order), 6).accepted
    site.published(7)
    assert not Update.objects.filter(device=gone).exists()
    sweeping.sweep(now=later(8))
    news = news_of(Forgetting.objects.get())
    assert (news.done, news.holds) == (True, ())


def test_in_a_supernodes_sum_that_is_merged_it_is_named_and_the_rounds_files_go(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.collect()
    order = site.order(3)
    assert site.send(order.fold, site.desk.sum(order), 4).accepted
    site.advance(5)
    site.advance(5)
    forget_device(device=site.members[0].row, now=later(5))
    sweeping.sweep(now=later(5))
    assert Forgetting.objects.get().reason_code == "owners.in_a_sum"
    site.published(6)
    sweeping.sweep(now=later(7))
    news = news_of(Forgetting.objects.get())
    assert [(held.version, held.in_sum) for held in news.holds] == [(2, True)]
    assert (news.done, files_of(site.round)) == (True, set())


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("phase", ["waiting", "merging"])
def test_killed_anywhere_everything_ends_forgotten_and_the_sum_is_right(phase: str) -> None:
    fleet = collecting(3, devices=4)
    for seed, device in enumerate(fleet[: 3 if phase == "merging" else 2]):
        deliver(device, 1, seed=seed)
    if phase == "merging":
        sweep(now=later(1))
    receipt, kills = uuid4(), 0

    def until_done(act: Callable[[], object]) -> int:
        for statement in count():
            try:
                with killed_at(statement):
                    act()
            except Killed:
                continue
            return statement
        raise AssertionError

    kills += until_done(lambda: leave_forgotten(device=Device.objects.get(name=NAME), receipt=receipt, now=later(2)))
    kills += until_done(lambda: sweeping.sweep(now=later(3)))
    if phase == "merging":
        merge_round(Round.objects.get(), clock=lambda: later(4), merger=in_this_process)
    else:
        deliver(fleet[2], 4, seed=2)
        deliver(fleet[3], 4, seed=3)
        merged(5)
    kills += until_done(lambda: sweeping.sweep(now=later(6)))
    round_ = Round.objects.get(state="published")
    seeds = (0, 1, 2) if phase == "merging" else (1, 2, 3)
    assert str(round_.result_version.parameters_id) == version_of(*seeds)
    news = news_of(forgetting_of(receipt))
    assert (news.done, len(news.holds)) == (True, 1 if phase == "merging" else 0)
    assert len(files_of(round_)) == (2 if phase == "merging" else 3)
    assert kills > 40


def test_a_kill_between_a_files_end_and_its_row_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = collecting(2, devices=2)
    deliver(fleet[0], 1, seed=1)
    forget_device(device=fleet[0].row, now=later(2))
    remove = sweeping.files.remove

    def killed(leftover: sweeping.Leftover) -> bool:
        remove(leftover)
        raise Killed

    monkeypatch.setattr(sweeping.files, "remove", killed)
    with pytest.raises(Killed):
        sweeping.sweep(now=later(3))
    monkeypatch.setattr(sweeping.files, "remove", remove)
    sweeping.sweep(now=later(4))
    assert Forgetting.objects.get().state == "done"


def test_no_file_goes_beside_a_backup(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = collecting(2, devices=2)
    deliver(fleet[0], 1, seed=1)
    forget_device(device=fleet[0].row, now=later(2))
    monkeypatch.setattr(sweeping, "removal", lambda: nullcontext(False))
    sweeping.sweep(now=later(3))
    round_ = Round.objects.get(state="open")
    assert (Forgetting.objects.get().state, len(files_of(round_))) == ("removing", 1)


def test_forgetting_twice_is_forgetting_once() -> None:
    device, other, receipt = make_device(NAME), make_device("hall"), uuid4()
    first = leave_forgotten(device=device, receipt=receipt, now=later(1))
    assert leave_forgotten(device=device, receipt=receipt, now=later(2)).asked_at == first.asked_at
    assert forget_device(device=device, now=later(3)).pk == receipt
    with pytest.raises(ReceiptTaken):
        leave_forgotten(device=other, receipt=receipt, now=later(4))
    other.refresh_from_db()
    assert other.name == "hall"
    with pytest.raises(UnknownReceipt):
        forgetting_of(uuid4())
    with pytest.raises(UnknownReceipt):
        checked_receipt("mine")


def test_a_revoked_device_is_forgotten_too() -> None:
    device = make_device(NAME)
    revoke_device(device=device, now=later(1))
    forget_device(device=device, now=later(2))
    device.refresh_from_db()
    assert (device.state, NAME in everything()) == ("revoked", False)


def test_names_go_from_the_log_and_nothing_else_can_be_changed_there() -> None:
    device, other = make_device("hall"), make_device("kitchen")
    for one in (device, other):
        change_device(device=one, name=f"{NAME} {one.name}", notes="his number is 555")
        change_device_budget(device=one, epsilon=4.0, delta=1e-6, now=later(0))
        change_device_budget(device=one, epsilon=5.0, delta=1e-6, now=later(1))
    change_device(device=other, name="kitchen", notes="")
    entries = list(Entry.objects.order_by("pk").values_list("pk", "action", "actor_name", "at"))
    forget_device(device=device, now=later(2))
    assert f"{NAME} hall" not in everything()
    kept = Entry.objects.filter(pk__in=[key for key, *_ in entries]).order_by("pk")
    assert list(kept.values_list("pk", "action", "actor_name", "at")) == entries
    (renamed,) = Entry.objects.filter(subject_id=str(device.pk), action="fleet.change_device")
    assert renamed.subject_name.startswith("forgotten ") and "555" not in str(renamed.after)
    for change in (
        lambda: Entry.objects.filter(subject_id=str(device.pk)).update(actor_name="nobody"),
        lambda: Entry.objects.filter(subject_id=str(device.pk)).update(subject_name="hall"),
        lambda: Entry.objects.filter(subject_id=str(other.pk)).update(subject_name="forgotten 12345678"),
    ):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()


def test_no_sentence_of_a_fault_names_it_any_more() -> None:
    device, other = make_device("hall"), make_device("hall-2")
    sentence = "2 devices sent updates that were rejected, last hall: hall-2 did too."
    told = {"severity": "warning", "sentence": sentence}
    mute = Mute.objects.create(key="updates_rejected:x", sentence=sentence, muted_at=later(0))
    channel = Channel.objects.create(name="on call", kind="webhook", created_at=later(0))
    rule = Rule.objects.create(name="faults", kind="repair", created_at=later(0))
    incident = Incident.objects.create(rule=rule, key="updates_rejected:x", began_at=later(0), **told)
    notice = Notice.objects.create(incident=incident, channel=channel, change="firing", created_at=later(0), **told)
    forget_device(device=device, now=later(1))
    device.refresh_from_db()
    for row in (mute, incident, notice):
        row.refresh_from_db()
        assert row.sentence == sentence.replace("last hall:", f"last {device.name}:")
    assert other.name in notice.sentence


def test_webhooks_are_told_no_more_of_it() -> None:
    create_webhook(name="mail", url="https://8.8.8.8/hook", events=[Event.DEVICE_DRIFTED], now=later(0))
    device, other = make_device(NAME), make_device("hall")
    for one in (device, other):
        announce(Event.DEVICE_DRIFTED, {"device": str(one.pk), "device_name": one.name}, about=one, now=later(0))
    forget_device(device=device, now=later(1))
    assert [delivery.body["device_name"] for delivery in Delivery.objects.all()] == ["hall"]


def test_the_api_forgets_and_shows_the_receipt() -> None:
    device = make_device(NAME)
    Observation.objects.create(device=device, at=later(0), conditions={}, blockers=[])
    api = APIClient()
    api.force_authenticate(create_operator(username="ada", role="operator").operator)
    address = f"/api/devices/{device.pk}"
    assert api.get(f"{address}/forgetting/").json() == {"forgetting": None}
    answer = api.post(f"{address}/forget/").json()
    assert (answer["done"], answer["done_at"], answer["device"]) == (False, None, str(device.pk))
    assert api.post(f"{address}/forget/").json()["receipt"] == answer["receipt"]
    assert Entry.objects.filter(action="owners.forget_device").count() == 1
    sweeping.sweep(now=later(1))
    shown = api.get(f"{address}/forgetting/").json()["forgetting"]
    assert (shown["done"], shown["done_at"], shown["holds"]) == (True, later(1).isoformat(), [])
    assert UUID(shown["receipt"]) == Forgetting.objects.get().pk


def test_assignments_stay_under_the_pseudonym() -> None:
    fleet = collecting(2, devices=2)
    deliver(fleet[0], 1, seed=1)
    forget_device(device=fleet[0].row, now=later(2))
    part = Assignment.objects.get(device=fleet[0].row)
    assert (part.state, part.update, part.reason_code) == ("rejected", None, "owners.forgotten")
    assert str(part).startswith("forgotten ")
