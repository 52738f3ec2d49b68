"""A personal model beside the version: it is trained as conditions allow, and never makes the owner's answers worse."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.model import parts
from coterie_agent.peers.personal_training import PersonalTraining
from coterie_agent.report import Report, make_report, status_lines
from coterie_agent.store.journal import Status
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import PersonalTensors
from coterie_learning.device_plan import DevicePlan
from coterie_learning.help.none import NoHelp
from coterie_learning.local import Local
from coterie_learning.local.sgd import Sgd
from coterie_learning.personal import PersonalRules
from coterie_learning.personal.ditto import Ditto
from coterie_learning.personal.fine_tuned import FineTuned
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.helping import StandingPlan
from coterie_wire.messages import Assignment, Directive
from coterie_wire.personal import ReportPersonal
from coterie_wire.tensors import Tensors, encode_tensors
from tests.coterie_agent.bundles import make_bundle
from tests.coterie_agent.peers.world import (
    CENTRES,
    GOOD,
    Device,
    accuracy,
    batch,
    plan,
    refused,
    standing,
    unreachable,
    version,
)
from tests.own_kind import count_as_own_kind

SEVERAL = plan(NoHelp(), local_training_every_s=None, local=Sgd(epochs=1, learning_rate=0.5))
TUNED = msgspec.structs.replace(SEVERAL, personal=FineTuned(epochs=20))
HELD_NEAR = msgspec.structs.replace(SEVERAL, personal=Ditto(mu=0.003, epochs=20))
every_plan = pytest.mark.parametrize("of", [TUNED, HELD_NEAR], ids=["fine_tuned", "ditto"])
SHIFTED = {"weight": GOOD["weight"][[1, 2, 0]], "bias": GOOD["bias"]}
"""What others mean by the three classes: for this device's owner it is always wrong."""
HALF = {"weight": GOOD["weight"] * np.array([[1], [1], [-1]], np.float32), "bias": GOOD["bias"]}


@pytest.fixture
def new_device(home: Home, joined: Store) -> Callable[..., Device]:
    """Makes a device on a version, with three samples of each of ``batches``; ``new_device(SHIFTED, tell=…)``."""

    def make(received: Tensors, *, batches: int = 20, **settings: object) -> Device:
        if batches:
            add(joined, *range(batches))
        return Device(home, joined, version(1, received), settings)

    return make


def add(store: Store, *seeds: int) -> None:
    store.samples.add([row for seed in seeds for row in batch((0, 1, 2), seed=seed)], max_samples=1000)


def receive(device: Device, number: int, parameters: Tensors) -> None:
    """Another version is on the device; the agent goes on."""
    directive = device.situation.now.directive
    companion, situation = device.companion, device.situation
    device.bundle = version(number, parameters)
    Device(device.home, device.store, device.bundle, {})
    device.companion, device.situation = companion, situation
    situation.hold(device.bundle.manifest.version, device.bundle.manifest.model)
    if directive is not None:
        situation.set_directive(directive, at=0.0)


def restart(device: Device, of: DevicePlan) -> None:
    device.start()
    device.direct(of)


def begun(device: Device) -> PersonalTraining:
    """What the agent does between rounds, before its first moment of training."""
    companion, now = device.companion, device.situation.now
    assert now.directive is not None
    companion._store_plan(now.directive)
    companion._member = companion._join(now)
    assert isinstance(companion._member, PersonalTraining)
    return companion._member


def interrupted(member: PersonalTraining, *, after: int) -> None:
    """It trains until it has asked `after` times whether it must stop; then conditions are lost."""
    asked = 0

    def must_stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > after

    member._must_stop = must_stop  # type: ignore[method-assign]
    member.learn(member.situation.now)
    del member._must_stop


@every_plan
def test_the_owner_is_answered_by_a_model_of_their_own(new_device: Callable[..., Device], of: DevicePlan) -> None:
    device = new_device(SHIFTED)
    assert accuracy(device) == 0
    device.direct(of)
    device.live()
    assert accuracy(device) == 1
    (line,) = [line for line in status_lines(report(device)) if "personal model" in line]
    assert "the personal model answers, accuracy 1.000 against 0.000 of the version on" in line


def report(device: Device) -> Report:
    device.companion._publish()
    now = device.situation.now
    device.store.journal.write_status(
        Status(0.0, "socket", None, now.conditions, (), None, None, now.version, now.peers)
    )
    return make_report(device.home, device.store)


@every_plan
def test_where_it_is_no_better_the_version_answers(new_device: Callable[..., Device], of: DevicePlan) -> None:
    """The negative control: what the federation has learned cannot be bettered on the device."""
    sure = {name: tensor * 100 for name, tensor in GOOD.items()}
    device = new_device(sure)
    device.direct(of)
    device.live()
    assert not device.store.peers.is_personal()
    assert accuracy(device) == 1
    assert device.store.peers.tuned().answers is False  # type: ignore[union-attr]
    receive(device, 2, SHIFTED)
    assert accuracy(device) == 0, "without a personal model each version answers at once"
    device.live()
    assert accuracy(device) == 1


def test_with_too_few_samples_nothing_is_trained(new_device: Callable[..., Device]) -> None:
    device = new_device(SHIFTED, batches=3)
    device.direct(TUNED)
    device.live()
    assert device.store.peers.tuned() is None
    add(device.store, 3)
    device.live()
    assert device.store.peers.tuned() is not None


@every_plan
def test_each_version_is_trained_once_and_again_with_more_samples(
    new_device: Callable[..., Device], of: DevicePlan
) -> None:
    device = new_device(SHIFTED)
    device.direct(of)
    device.live()
    first = device.store.peers.tuned()
    add(device.store, 20)
    device.live()
    assert device.store.peers.tuned() == first, "three samples more are not a fifth"
    add(device.store, *range(21, 30))
    device.live()
    second = device.store.peers.tuned()
    assert first is not None and second is not None and second.trained_up_to > first.trained_up_to
    receive(device, 2, HALF)
    assert accuracy(device) == 1, "not even for a moment"
    device.live()
    assert device.store.peers.tuned().version == "v2"  # type: ignore[union-attr]
    assert accuracy(device) == 1


@every_plan
def test_interrupted_and_restarted_it_gives_the_same_bytes(new_device: Callable[..., Device], of: DevicePlan) -> None:
    device = new_device(SHIFTED)
    device.direct(of)
    device.live()
    undisturbed = device.store.peers.personal_tensors()
    device.store.peers.remove_plan()
    device.store.peers.adopt(PersonalTensors("v1", b""))
    stops = 0
    while device.store.peers.tuned() is None:
        restart(device, of)
        interrupted(begun(device), after=7)
        stops += 1
    assert stops > 3
    assert device.store.peers.personal_tensors() == undisturbed
    assert device.store.peers.tuning() is None


@every_plan
def test_a_better_version_answers_before_anything_is_trained_beside_it(
    new_device: Callable[..., Device], of: DevicePlan
) -> None:
    device = new_device(SHIFTED)
    device.direct(of)
    device.live()
    device.store.peers.adopt(PersonalTensors("v1", encode_tensors(HALF)))
    receive(device, 2, GOOD)
    assert accuracy(device) < 1, "until the two are compared"
    member = begun(device)
    assert member.learn(device.situation.now)
    assert (accuracy(device), device.store.peers.is_personal()) == (1, False)
    tuned = device.store.peers.tuned()
    assert tuned is not None and (tuned.version, tuned.compared_with, tuned.answers) == ("v1", "v2", False)
    assert not tuned.reported, "the platform is to know"
    device.store.peers.undo_personal_of({"v2"})
    assert device.store.peers.personal_tensors() == encode_tensors(HALF), "a version that is rolled back takes it back"


@every_plan
def test_a_version_that_does_no_better_is_compared_once(new_device: Callable[..., Device], of: DevicePlan) -> None:
    device = new_device(SHIFTED)
    device.direct(of)
    device.live()
    own, told = device.store.peers.personal_tensors(), device.store.peers.tuned()
    receive(device, 2, HALF)
    member = begun(device)
    assert member.learn(device.situation.now)
    assert not member._has_to_compare(device.situation.now)
    assert device.store.peers.personal_tensors() == own
    tuned = device.store.peers.tuned()
    assert tuned is not None and told is not None and (tuned.compared_with, tuned.reported) == ("v2", told.reported)


def test_conditions_and_assignments_come_first(new_device: Callable[..., Device]) -> None:
    device = new_device(SHIFTED)
    device.direct(TUNED)
    device.situation.set_conditions(Conditions(charging="no", network="wifi"), (Reason("charging.off", "on battery"),))
    device.live()
    assert device.store.peers.tuned() is None
    device.situation.set_conditions(Conditions(charging="yes", network="wifi"), ())
    device.live()
    assert accuracy(device) == 1


def test_a_training_is_finished_though_versions_come_faster(new_device: Callable[..., Device]) -> None:
    device = new_device(SHIFTED)
    device.direct(TUNED)
    member = begun(device)
    interrupted(member, after=5)
    receive(device, 2, HALF)
    assert device.companion._join(device.situation.now) is member, "it goes on with what it has in hand"
    while device.store.peers.tuned() is None:
        member.learn(device.situation.now)
    found = device.store.peers.tuned()
    assert found is not None and (found.version, found.compared_with) == ("v1", "v2")
    device.live()
    assert device.store.peers.tuned().version == "v2", "and then the newest is trained"  # type: ignore[union-attr]
    assert accuracy(device) == 1


def test_a_training_whose_samples_were_dropped_gives_way_to_one_from_the_version_held_by_then(
    new_device: Callable[..., Device], caplog: pytest.LogCaptureFixture
) -> None:
    device = new_device(SHIFTED)
    device.direct(TUNED)
    interrupted(begun(device), after=2)
    receive(device, 2, SHIFTED)
    BlobCache(device.home.blobs).keep_only(parts(device.bundle.manifest))
    device.store.samples.add(batch((0, 1, 2), seed=99), max_samples=30)
    device.companion.step()
    assert device.store.peers.tuned() is None, "nothing is trained from a version that was replaced"
    device.live()
    assert device.store.peers.tuned().version == "v2"  # type: ignore[union-attr]
    assert accuracy(device) == 1
    assert caplog.messages == []


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_blob_that_is_missing_is_downloaded_again_unless_another_version_came(
    new_device: Callable[..., Device], *, is_replaced: bool
) -> None:
    device = new_device(SHIFTED)
    device.direct(TUNED)
    member = begun(device)
    BlobCache(device.home.blobs).keep_only(())
    if is_replaced:
        now = device.situation.now
        receive(device, 2, SHIFTED)
        device.companion._failed(AgentError("bundle.missing", "a blob is not on the device"), now)
        device.live()
        assert device.companion._member is not member and accuracy(device) == 1
    else:
        device.live()
        assert device.situation.now.version is None


def test_where_the_code_of_a_kind_fails_the_device_learns_no_more_under_that_plan_and_the_agent_goes_on(
    new_device: Callable[..., Device], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: FineTuned, local: Local) -> PersonalRules:
        raise ZeroDivisionError("a part of nothing")

    device = new_device(SHIFTED)
    device.direct(TUNED)
    with monkeypatch.context() as patch:
        count_as_own_kind(patch, __name__)
        patch.setattr(FineTuned, "rules", broken)
        device.live()
    (told,) = caplog.messages
    assert told.startswith("this device cannot learn with its peers: acme-kinds 1.0 failed in ")
    assert told.endswith("ZeroDivisionError: a part of nothing [kinds.failed]")
    device.live()
    assert len(caplog.messages) == 1, "it is not tried again"
    device.direct(HELD_NEAR)
    device.live()
    assert accuracy(device) == 1


@every_plan
def test_the_end_of_the_federation(new_device: Callable[..., Device], of: DevicePlan) -> None:
    device = new_device(SHIFTED)
    device.direct(of)
    device.live()
    device.direct(None)
    device.live()
    assert accuracy(device) == 1
    receive(device, 2, SHIFTED)
    assert accuracy(device) == 1, "not even for a moment"
    device.live()
    assert accuracy(device) == 1


def test_the_end_of_a_federation_whose_version_answers(new_device: Callable[..., Device]) -> None:
    device = new_device({name: tensor * 100 for name, tensor in GOOD.items()})
    device.direct(TUNED)
    device.live()
    device.direct(None)
    receive(device, 2, HALF)
    device.live()
    assert device.store.peers.personal() is None
    assert device.store.peers.outcomes() == (), "nothing was replaced"
    assert accuracy(device) == pytest.approx(2 / 3)


@every_plan
def test_a_roll_back_gives_what_was_before(new_device: Callable[..., Device], of: DevicePlan) -> None:
    device = new_device(SHIFTED)
    device.direct(of)
    device.live()
    receive(device, 2, SHIFTED)
    device.live()
    device.store.peers.adopt(PersonalTensors("v2", encode_tensors({n: -t for n, t in GOOD.items()})))
    assert accuracy(device) == 0
    assert device.store.peers.undo_personal_of({"v2"})
    assert accuracy(device) == 1
    receive(device, 1, SHIFTED)
    device.direct(of, withdrawn=("v2",))
    device.live()
    assert accuracy(device) == 1


@every_plan
def test_in_another_federation_the_model_from_elsewhere_goes_on_until_it_is_worse(
    new_device: Callable[..., Device], of: DevicePlan
) -> None:
    device = new_device(SHIFTED)
    device.direct(of)
    device.live()
    told = standing(of)
    there = StandingPlan(told.digest.replace(told.digest[0], "0"), "elsewhere", told.plan)
    receive(device, 7, HALF)
    device.situation.set_directive(Directive(check_in_s=15, stands=True, standing=there), at=0.0)
    assert accuracy(device) == 1
    device.live()
    assert accuracy(device) == 1
    assert device.store.peers.personal().base != ""  # type: ignore[union-attr]


def test_a_plan_whose_devices_help_each_other_may_follow(new_device: Callable[..., Device]) -> None:
    device = new_device(SHIFTED)
    device.direct(TUNED)
    device.live()
    device.direct(plan())
    device.live(steps=200)
    assert accuracy(device) == 1


def test_the_platform_is_told_once_what_the_owner_allows(new_device: Callable[..., Device]) -> None:
    device = new_device(SHIFTED)
    device.link.fault = unreachable()
    device.direct(TUNED)
    device.live()
    assert not device.link.named(ReportPersonal)
    device.companion._quiet_until = 0.0
    device.live()
    device.live()
    held_out = device.store.peers.tuned().samples  # type: ignore[union-attr]
    assert device.link.named(ReportPersonal) == [ReportPersonal("digits", "v1", True, held_out, 0.0, 1.0)]
    restart(device, TUNED)
    device.live()
    assert len(device.link.named(ReportPersonal)) == 1


def test_a_platform_that_refuses_is_not_asked_again(new_device: Callable[..., Device]) -> None:
    device = new_device(SHIFTED)
    device.link.fault = refused("transfer.not_a_member", 403)
    device.direct(TUNED)
    device.live()
    assert device.store.peers.tuned().reported  # type: ignore[union-attr]
    assert accuracy(device) == 1


@pytest.mark.parametrize(("tell", "told"), [("rounded", 1), ("classes", 0), ("nothing", 0)])
def test_an_owner_may_tell_less(new_device: Callable[..., Device], tell: str, told: int) -> None:
    device = new_device(SHIFTED, tell=tell)
    device.direct(TUNED)
    device.live()
    found = device.link.named(ReportPersonal)
    assert len(found) == told
    for one in found:
        assert one.samples & (one.samples - 1) == 0, "a power of two"
    assert accuracy(device) == 1


def test_a_step_size_at_which_it_diverges_leaves_the_version(new_device: Callable[..., Device]) -> None:
    wild = msgspec.structs.replace(SEVERAL, personal=FineTuned(learning_rate=100.0))
    device = new_device({"weight": CENTRES * 1e30, "bias": np.full(3, 1e30, np.float32)})
    before = accuracy(device)
    device.direct(wild)
    device.live()
    assert accuracy(device) >= before


def test_nothing_is_told_while_the_device_works_for_a_plan_that_hides_figures(
    new_device: Callable[..., Device],
) -> None:
    device = new_device(SHIFTED)
    assignment = Assignment("a1", "digits", 1, msgspec.Raw(b"{}"), make_bundle().signed, 11, 60.0)
    device.store.work.accept(assignment, is_masked=True)
    device.store.work.finish("accepted", "", now=1)
    device.direct(TUNED)
    device.live()
    assert device.store.peers.tuned().reported  # type: ignore[union-attr]
    assert not device.link.named(ReportPersonal)
