"""A lineage without a forgotten device is the one that the same other updates would have made, killed anywhere."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from threading import Event as Flag
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.cloud.averaging_job import MergeArguments, MergeResult
from coterie.federations.services import change_plan
from coterie.merging.files import updates_of
from coterie.owners import rebuilding, sweeping
from coterie.owners.lineages import holding_versions
from coterie.owners.models import Forgetting, Rebuild
from coterie.owners.operator_api import ForgettingSerializer
from coterie.owners.selectors import news_of
from coterie.owners.services import forget_device
from coterie.registry.content import BLOBS
from coterie.registry.models import Blob, ModelVersion, Role, Withdrawal
from coterie.registry.selectors import champion
from coterie.registry.services import copy_champion, publish_version, roll_back, use_uploaded_weights
from coterie.rollouts.services import cancel_rollout, start_rollout
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Round
from coterie.rounds.steering import pin_device
from coterie.rounds.tidying import RETENTION, tidy
from coterie.webhooks.models import Delivery, Event
from coterie.webhooks.services import create_webhook
from coterie_learning.codec import Codec
from coterie_learning.codec.int8 import Int8
from coterie_wire.owning import Rebuilt
from tests.coterie.killing import Killed, killed_at
from tests.coterie.world import (
    ScriptedDevice,
    in_this_process,
    keep,
    later,
    make_device,
    make_federation,
    make_pair,
    make_version,
    merge_round,
    parameters,
)

pytestmark = pytest.mark.django_db
REPLAY = {"forgetting": {"kind": "replay", "days": 30}}
RESTART = {"forgetting": {"kind": "restart"}, "codec": {"kind": "float32"}}
CANARY = {"kind": "canary", "share": 0.5}
ROUND_S = 100.0
DAY_S = 86_400.0
ROUNDS = (("a", "b"), ("a", "b", "gone"), ("a", "b"), ("b", "gone"), ("a", "b"))
"""Who delivers in each; its versions are 2 to 6."""


@dataclass
class Sender(ScriptedDevice):
    """Sends as the plan says."""

    codec: Codec = field(default_factory=Int8)

    def payload(self, seed: int) -> bytes:
        return self.codec.encode(parameters(seed), seed=seed).payload


class World:
    """A federation of three devices, each of which delivers the same in whatever world it is asked."""

    def __init__(self, plan: Mapping[str, object], *, name: str = "digits") -> None:
        self.pair = make_pair(name)
        make_version(self.pair)
        pace = {"target_updates": 9, "min_updates": 1, "over_selection": 1.0, "deadline_s": 50.0}
        self.federation = make_federation(self.pair, plan=plan, name=name, device_tag=name, **pace)
        self.fleet: dict[str, Sender] = {}

    def device(self, name: str) -> Sender:
        if name not in self.fleet:
            row = make_device(f"{self.pair.slug}-{name}", tags=(self.pair.slug,))
            self.fleet[name] = Sender(row, codec=self.federation.parsed_plan().codec)
        return self.fleet[name]

    def hold(self, number: int, names: tuple[str, ...]) -> ModelVersion:
        """Round `number`, in which these devices deliver."""
        at = number * ROUND_S
        for name in names:
            self.device(name).say(later(at))
        sweep(now=later(at))
        round_ = Round.objects.get(federation=self.federation, number=number)
        updates_of(round_.pk).clear()  # files outlive tests, whose rounds have the same numbers
        for name in names:
            assignment = self.device(name).check_in(later(at + 1)).assignment
            assert assignment is not None
            seed = int(hashlib.sha256(f"{number} {name}".encode()).hexdigest()[:6], 16)
            self.device(name).deliver(assignment.assignment, later(at + 2), seed=seed)
        sweep(now=later(at + 60))
        round_.refresh_from_db()
        merge_round(round_, clock=lambda: later(at + 61), merger=in_this_process)
        assert round_.state == "published", round_.reason_sentence
        version = round_.result_version
        assert version is not None
        return version

    def forget(self, name: str, at: float) -> Forgetting:
        forgetting = forget_device(device=self.device(name).row, now=later(at))
        sweeping.sweep(now=later(at + 1))
        forgetting.refresh_from_db()
        return forgetting

    def in_use(self) -> ModelVersion:
        found = champion(self.pair.pk, Role.DEVICE, self.federation.lineage())
        assert found is not None
        return found


def held(plan: Mapping[str, object], rounds: tuple[tuple[str, ...], ...] = ROUNDS) -> World:
    world = World(plan)
    for number, names in enumerate(rounds, 1):
        world.hold(number, names)
    return world


def work(at: float = 1000.0) -> Rebuild:
    """What workers and sweeps do until nothing more happens."""
    (rebuild,) = Rebuild.objects.all()
    rebuilding.run_rebuild(key=rebuild.pk, clock=lambda: later(at), merger=in_this_process)
    sweeping.sweep(now=later(at + 1))
    rebuild.refresh_from_db()
    return rebuild


@cache
def made_of(*rounds: tuple[str, ...], plan: str = "{}") -> str:
    """The parameters of the last version of a federation in whose rounds these alone had delivered."""
    other = World(json.loads(plan), name="other")
    for number, names in enumerate(rounds, 1):
        version = other.hold(number, names)
    return version.parameters_id


WITHOUT = (("a", "b"), ("a", "b"), ("a", "b"), ("b",), ("a", "b"))


def test_merges_are_repeated_without_it_bit_for_bit(settings) -> None:
    settings.WEBHOOK_HOSTS = ("127.0.0.1",)
    world = held(REPLAY)
    before = world.in_use()
    create_webhook(name="chat", url="http://127.0.0.1:9/", events=[Event.LINEAGE_REBUILT], now=later(0))
    forgetting = world.forget("gone", 900)
    assert (forgetting.state, forgetting.reason_code) == ("removing", "owners.rebuilding")
    assert not news_of(forgetting).done
    rebuild = work()
    forgetting.refresh_from_db()
    assert (rebuild.state, rebuild.to_repeat, forgetting.state) == ("done", 4, "done"), rebuild.reason_sentence

    version = world.in_use()
    assert (version, version.number, version.origin) == (rebuild.result_version, 7, "rebuild")
    assert version.parent is not None and version.parent.number == 2, "the last without it"
    assert version.parameters_id != before.parameters_id
    assert version.parameters_id == made_of(*WITHOUT)
    assert rebuild.finished_at is not None and forgetting.finished_at is not None
    assert news_of(forgetting).rebuilt == (
        Rebuilt(
            federation="digits",
            done=True,
            sentence="version 7 holds no update of the device: 4 merges repeated without it; what others had learned "
            "from earlier versions is in their updates still; 4 versions that held it removed",
            version=7,
            repeated=4,
            retired=4,
            done_at=rebuild.finished_at.isoformat(),
        ),
    )
    assert news_of(forgetting).done_at == forgetting.finished_at.isoformat()
    (shown,) = ForgettingSerializer(news_of(forgetting)).data["rebuilt"]
    assert shown["done_at"] == rebuild.finished_at.isoformat()
    (told,) = Delivery.objects.all()
    assert str(world.device("gone").row.pk) not in str(told.body)
    assert (told.event, '"version_number": 7' in json.dumps(told.body)) == ("lineage.rebuilt", True)


@pytest.mark.parametrize(
    "kinds",
    [
        {"merge": {"kind": "fed_avg_m"}},
        pytest.param({"merge": {"kind": "median"}, "codec": {"kind": "float32"}}, marks=pytest.mark.long),
        pytest.param({"down": {"kind": "difference"}}, marks=pytest.mark.long),
    ],
    ids=["momentum", "median", "differences"],
)
def test_what_a_merge_goes_on_from_is_repeated_too(kinds: Mapping[str, object]) -> None:
    rounds = (("a", "b", "c"), ("a", "b", "c", "gone"), ("a", "b", "c", "d"))
    world = held({**REPLAY, **kinds}, rounds)
    world.forget("gone", 900)
    assert work().state == "done"
    assert world.in_use().parameters_id == made_of(rounds[0], rounds[0], rounds[2], plan=json.dumps(kinds))


def test_versions_that_hold_it_lose_their_parameters_and_no_others_do() -> None:
    world = held(REPLAY)
    world.forget("gone", 900)
    work()
    gone = {one.number: one.parameters.removed_at is not None for one in ModelVersion.objects.filter(pair=world.pair)}
    assert gone == {1: False, 2: False, 3: True, 4: True, 5: True, 6: True, 7: False}
    for version in ModelVersion.objects.filter(pair=world.pair).select_related("parameters"):
        if gone[version.number]:
            with pytest.raises(FileNotFoundError):
                BLOBS.open(version.parameters_id)
        else:
            BLOBS.open(version.parameters_id).close()
    withdrawn = Withdrawal.objects.values_list("version__number", flat=True)
    assert sorted(withdrawn) == [3, 4, 5, 6], "devices drop personal models that were trained from them"


@pytest.mark.long
def test_rounds_go_on_from_the_version_without_it() -> None:
    world = held(REPLAY)
    world.forget("gone", 900)
    rebuild = work()
    after = world.hold(6, ("a", "b"))
    assert after.parent == rebuild.result_version
    assert holding_versions(rebuild) == list(
        ModelVersion.objects.filter(pair=world.pair, number__in=(3, 4, 5, 6)).order_by("created_at")
    )


@pytest.mark.long
def test_another_device_is_then_taken_out_of_what_was_repeated() -> None:
    world = held(REPLAY, (("a", "b"), ("a", "b", "gone", "late"), ("a", "late"), ("b", "gone"), ("a", "b")))
    world.forget("gone", 900)
    work()
    world.forget("late", 1100)
    first, second = Rebuild.objects.order_by("asked_at")
    rebuilding.run_rebuild(key=second.pk, clock=lambda: later(1200), merger=in_this_process)
    second.refresh_from_db()
    assert (second.state, second.to_repeat, len(second.merges)) == ("done", 4, 4), second.reason_sentence
    assert world.in_use().parameters_id == made_of(("a", "b"), ("a", "b"), ("a",), ("b",), ("a", "b"))
    first.refresh_from_db()
    assert first.result_version.parameters.removed_at is not None


def test_two_that_are_forgotten_at_once_are_taken_out_by_one_rebuild() -> None:
    world = held(REPLAY, (("a", "b"), ("a", "gone", "late"), ("a", "late")))
    world.forget("gone", 900)
    world.forget("late", 901)
    first, second = Rebuild.objects.order_by("asked_at")
    rebuilding.run_rebuild(key=second.pk, clock=lambda: later(1000), merger=in_this_process)
    second.refresh_from_db()
    assert (second.state, second.reason_code) == ("asked", "owners.behind_another")
    for rebuild in (first, second):
        rebuilding.run_rebuild(key=rebuild.pk, clock=lambda: later(1001), merger=in_this_process)
        rebuild.refresh_from_db()
        assert rebuild.state == "done", rebuild.reason_sentence
    assert (second.result_version, second.reason_code) == (None, "owners.not_in_use")
    assert world.in_use() == first.result_version


def test_a_round_with_nothing_left_of_it_is_passed_over() -> None:
    world = held(REPLAY, (("a", "b"), ("a", "b"), ("gone",)))
    world.forget("gone", 900)
    rebuild = work()
    before = ModelVersion.objects.get(pair=world.pair, number=3)
    assert (len(rebuild.merges), world.in_use().parameters_id) == (1, before.parameters_id)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_killed_at_every_statement_it_comes_to_the_same() -> None:
    world = held(REPLAY, (("a", "b"), ("a", "b", "gone"), ("a", "b")))
    world.forget("gone", 900)
    (rebuild,) = Rebuild.objects.all()
    for statement in count():
        try:
            with killed_at(statement):
                rebuilding.run_rebuild(key=rebuild.pk, clock=lambda: later(1000), merger=in_this_process)
            break
        except Killed:
            Rebuild.objects.filter(pk=rebuild.pk).update(lease_until=None)
    assert statement > 10
    rebuild.refresh_from_db()
    assert rebuild.state == "done", rebuild.reason_sentence
    assert ModelVersion.objects.filter(pair=world.pair, origin="rebuild").count() == 1
    assert world.in_use().parameters_id == made_of(("a", "b"), ("a", "b"), ("a", "b"))


def test_a_killed_worker_loses_no_merge_that_was_repeated() -> None:
    world = held(REPLAY)
    world.forget("gone", 900)
    (rebuild,) = Rebuild.objects.all()
    calls = []

    def dies_at_the_third(arguments: MergeArguments, cancel: Flag) -> MergeResult:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return in_this_process(arguments, cancel)

    with pytest.raises(KeyboardInterrupt):
        rebuilding.run_rebuild(key=rebuild.pk, clock=lambda: later(1000), merger=dies_at_the_third)
    rebuild.refresh_from_db()
    assert (rebuild.state, len(rebuild.merges)) == ("repeating", 2)
    assert rebuild.reason_sentence == "2 of 4 merges are repeated without the device"
    rebuilding.run_rebuild(key=rebuild.pk, clock=lambda: later(1002), merger=in_this_process)
    rebuild.refresh_from_db()
    assert rebuild.state == "repeating", "the dead worker's lease lasts"
    work(1100)
    assert world.in_use().parameters_id == made_of(*WITHOUT)


def test_a_failure_is_told_and_tried_again() -> None:
    world = held(REPLAY)
    world.forget("gone", 900)
    (rebuild,) = Rebuild.objects.all()

    def broken(*_: object) -> MergeResult:
        raise OSError("no space left")

    rebuilding.run_rebuild(key=rebuild.pk, clock=lambda: later(1000), merger=broken)
    rebuild.refresh_from_db()
    assert (rebuild.state, rebuild.reason_code) == ("repeating", "owners.rebuild_failed")
    assert (rebuild.postponed_until, rebuild.lease_until) == (later(1005), None)
    assert "no space left" in news_of(world.forget("gone", 1001)).sentence
    assert work(1100).state == "done"


@pytest.mark.long
def test_what_is_published_meanwhile_is_repeated_too() -> None:
    world = held(REPLAY, (("a", "b"), ("a", "gone")))
    world.forget("gone", 250)
    (rebuild,) = Rebuild.objects.all()

    def as_another_round_ends(arguments: MergeArguments, cancel: Flag) -> MergeResult:
        if world.in_use().number == 3:
            world.hold(3, ("a", "b"))
        return in_this_process(arguments, cancel)

    rebuilding.run_rebuild(key=rebuild.pk, clock=lambda: later(400), merger=as_another_round_ends)
    rebuild.refresh_from_db()
    assert (rebuild.state, len(rebuild.merges)) == ("done", 2)
    assert world.in_use().parameters_id == made_of(("a", "b"), ("a",), ("a", "b"))


@pytest.mark.long
def test_a_round_that_is_open_ends_and_its_updates_are_merged_into_nothing() -> None:
    world = held(REPLAY)
    for name in ("a", "b"):
        world.device(name).say(later(600))
    sweep(now=later(600))
    round_ = Round.objects.get(number=6)
    assignment = world.device("a").check_in(later(601)).assignment
    assert assignment is not None
    world.device("a").deliver(assignment.assignment, later(602), seed=3)
    world.forget("gone", 603)
    rebuild = work(604)
    assert (rebuild.state, rebuild.reason_code) == ("retiring", "owners.still_used")
    sweep(now=later(605))
    merge_round(round_, clock=lambda: later(606), merger=in_this_process)
    assert (round_.state, round_.reason_code) == ("abandoned", "merging.base_moved")
    assert work(610).state == "done"


def test_restarted_the_version_before_it_is_used_again() -> None:
    world = held(RESTART, ROUNDS[:3])
    before = ModelVersion.objects.get(pair=world.pair, number=2)
    world.forget("gone", 900)
    rebuild = work()
    assert (rebuild.state, rebuild.merges, rebuild.to_repeat) == ("done", [], 0)
    version = world.in_use()
    assert (version.origin, version.parent, version.parameters_id) == ("rebuild", before, before.parameters_id)
    (said,) = news_of(Forgetting.objects.get()).rebuilt
    assert said.sentence == (
        "version 5 holds nothing of the device: rounds begin again from before its first update; "
        "2 versions that held it removed"
    )


@pytest.mark.long
def test_updates_that_are_lost_have_it_restarted_and_say_so() -> None:
    world = held(REPLAY)
    world.forget("gone", 900)
    updates_of(Round.objects.get(number=3).pk).clear()
    rebuild = work()
    assert (rebuild.state, rebuild.restart_code) == ("done", "merging.update_lost")
    assert world.in_use().parameters_id == ModelVersion.objects.get(pair=world.pair, number=2).parameters_id
    assert "since merges could not be repeated" in news_of(Forgetting.objects.get()).rebuilt[0].sentence


@pytest.mark.long
def test_updates_are_kept_as_long_as_promised_and_then_it_is_restarted() -> None:
    world = held(REPLAY)
    tidy(now=later(RETENTION.total_seconds() + 2000))
    assert not Round.objects.exclude(tidied_at=None).exists()
    tidy(now=later(30 * DAY_S + 2000))
    assert Round.objects.filter(tidied_at=None).exclude(state="planned").count() == 0
    world.forget("gone", 31 * DAY_S)
    rebuild = work(31 * DAY_S + 100)
    assert (rebuild.state, rebuild.restart_code) == ("done", "owners.not_kept")


def test_without_a_promise_nothing_is_kept_longer_or_rebuilt() -> None:
    world = held({})
    forgetting = world.forget("gone", 900)
    assert (forgetting.state, Rebuild.objects.count()) == ("done", 0)
    assert news_of(forgetting).rebuilt == ()
    tidy(now=later(RETENTION.total_seconds() + 2000))
    assert Round.objects.filter(tidied_at=None).exclude(state="planned").count() == 0


@pytest.mark.long
def test_a_promise_that_was_taken_back_since_is_kept() -> None:
    world = held(REPLAY)
    change_plan(federation=world.federation, plan={"pace": world.federation.plan["pace"]})
    world.forget("gone", 900)
    assert work().state == "done"
    assert world.in_use().origin == "rebuild"


@pytest.mark.long
def test_what_is_not_in_use_any_more_is_only_removed() -> None:
    world = held(REPLAY)
    version = ModelVersion.objects.get(pair=world.pair, number=2)
    roll_back(pair=world.pair, role=Role.DEVICE, to=version.pk, now=later(890))
    world.forget("gone", 900)
    rebuild = work()
    assert (rebuild.state, rebuild.result_version, rebuild.retired) == ("done", None, 4)
    assert world.in_use() == version
    assert "the version in use holds nothing of the device" in news_of(Forgetting.objects.get()).rebuilt[0].sentence


@pytest.mark.long
def test_other_weights_put_to_use_meanwhile_end_the_search() -> None:
    world = held(REPLAY)
    world.forget("gone", 900)
    (rebuild,) = Rebuild.objects.all()

    def as_weights_come(arguments: MergeArguments, cancel: Flag) -> MergeResult:
        use_uploaded_weights(pair=world.pair, role=Role.DEVICE, now=later(1000))
        return in_this_process(arguments, cancel)

    rebuilding.run_rebuild(key=rebuild.pk, clock=lambda: later(1000), merger=as_weights_come)
    assert work(1010).reason_code == "owners.not_in_use"


@pytest.mark.long
def test_a_pinned_device_keeps_its_version_until_it_is_free() -> None:
    world = held(REPLAY)
    pinned = ModelVersion.objects.get(pair=world.pair, number=4)
    pin_device(device=world.device("a").row, version=pinned, now=later(880))
    world.forget("gone", 900)
    rebuild = work()
    assert (rebuild.state, rebuild.reason_code, rebuild.retired) == ("retiring", "owners.still_used", 3)
    pin_device(device=world.device("a").row, version=None, now=later(1050))
    assert (work(1100).state, Blob.objects.get(pk=pinned.parameters_id).removed_at) == ("done", later(1100))


def test_nobody_holds_it_twice() -> None:
    world = held(REPLAY)
    world.forget("gone", 900)
    (rebuild,) = Rebuild.objects.all()
    Rebuild.objects.update(lease_token=uuid4(), lease_until=later(1003))
    rebuilding.run_rebuild(key=rebuild.pk, clock=lambda: later(1000), merger=in_this_process)
    rebuild.refresh_from_db()
    assert rebuild.state == "asked"


def test_operators_see_how_far_it_is_and_not_whose_it_is() -> None:
    world = held(REPLAY, (("a", "b"), ("a", "gone")))
    world.forget("gone", 900)
    client = APIClient()
    client.force_authenticate(create_operator(username="ada", role="viewer").operator)
    asked = f"/api/rebuilds/?federation={world.federation.pk}"
    (told,) = client.get(asked).json()["results"]
    assert (told["state"], told["sentence"]) == ("asked", "what has to be made again is found next")
    rebuild = work()
    answer = client.get(asked)
    (told,) = answer.json()["results"]
    assert (told["state"], told["result_number"], told["repeated"], told["retired"]) == ("done", 4, 1, 1)
    assert told["sentence"].startswith("version 4 holds no update of the device: 1 merge repeated")
    for secret in (rebuild.forgetting_id, rebuild.forgetting.device_id, rebuild.forgetting.device.name):
        assert str(secret) not in answer.content.decode()


@pytest.mark.long
def test_a_rollout_is_waited_for() -> None:
    world = held(REPLAY)
    started = start_rollout(version=ModelVersion.objects.get(pair=world.pair, number=4), terms=CANARY, now=later(890))
    world.forget("gone", 900)
    rebuild = work()
    assert (rebuild.state, rebuild.reason_code) == ("repeating", "owners.rollout")
    cancel_rollout(rollout=started, now=later(1010))
    assert work(1020).state == "done"


@pytest.mark.long
def test_versions_of_other_federations_that_went_on_from_one_are_counted_and_stay() -> None:
    world = held(REPLAY)
    copy = copy_champion(pair_id=world.pair.pk, role=Role.DEVICE, source="", target="trial/base", now=later(890))
    world.forget("gone", 900)
    rebuild = work()
    assert (rebuild.state, rebuild.elsewhere, rebuild.retired) == ("done", 1, 3), "the newest has the copy's parameters"
    assert copy is not None and Blob.objects.get(pk=copy.parameters_id).removed_at is None
    assert "1 version of other federations stay" in news_of(Forgetting.objects.get()).rebuilt[0].sentence


def test_without_a_version_from_before_it_waits_until_others_are_there() -> None:
    world = held(REPLAY, (("a", "gone"), ("a", "b")))
    Round.objects.update(tidied_at=later(800))
    Blob.objects.filter(pk=ModelVersion.objects.get(pair=world.pair, number=1).parameters_id).update(
        removed_at=later(800)
    )
    world.forget("gone", 900)
    assert (work().state, work(1010).reason_code) == ("asked", "owners.no_base")
    use_uploaded_weights(pair=world.pair, role=Role.DEVICE, now=later(1015))
    assert work(1020).reason_code == "owners.not_in_use"


@pytest.mark.long
def test_what_was_made_otherwise_meanwhile_has_it_restarted() -> None:
    world = held(REPLAY)
    publish_version(
        pair_id=world.pair.pk,
        role=Role.DEVICE,
        origin=ModelVersion.Origin.DISTILLATION,
        parent=world.in_use(),
        parameters=keep(b"distilled"),
        metrics={},
        now=later(890),
    )
    world.forget("gone", 900)
    rebuild = work()
    assert (rebuild.state, rebuild.restart_code, rebuild.retired) == ("done", "owners.not_repeatable", 5)


def test_a_federation_with_versions_of_its_own_is_rebuilt_in_its_lineage() -> None:
    world = World(REPLAY)
    world.federation.own_versions = True
    world.federation.save()
    copy_champion(pair_id=world.pair.pk, role=Role.DEVICE, source="", target="digits/base", now=later(0))
    for number, names in enumerate(ROUNDS[:3], 1):
        world.hold(number, names)
    world.forget("gone", 900)
    rebuild = work()
    assert (rebuild.state, world.in_use().lineage, world.in_use().origin) == ("done", "digits/base", "rebuild")
    assert world.in_use().parameters_id == made_of(*WITHOUT[:3])
