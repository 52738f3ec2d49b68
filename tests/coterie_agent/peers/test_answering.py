"""Which model answers the owner: no transition makes answers worse silently, measured by accuracy."""

from collections.abc import Callable

import numpy as np
import pytest

from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.predicting import load_held_model
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.training.model import read_parameters
from coterie_learning.device_plan import DevicePlan
from coterie_learning.help.none import NoHelp
from coterie_learning.local.distill import Distill
from coterie_learning.local.shared_body import SharedBody
from coterie_wire.helping import StandingPlan
from coterie_wire.messages import Directive
from coterie_wire.tensors import Tensors, encode_tensors
from tests.coterie_agent.bundles import SPEC
from tests.coterie_agent.peers.world import GOOD, Device, accuracy, batch, plan, standing, version

PERSONAL = plan(NoHelp(), local_training_every_s=None, local=Distill(head="all"))
GUARDED = plan(local_training_every_s=None)
BAD = {name: -tensor for name, tensor in GOOD.items()}
HALF = {"weight": GOOD["weight"] * np.array([[1], [1], [-1]], np.float32), "bias": GOOD["bias"]}
"""Has two classes of three right."""
every_plan = pytest.mark.parametrize("of", [PERSONAL, GUARDED], ids=["personal", "guarded"])


@pytest.fixture
def new_device(home: Home, joined: Store) -> Callable[[Tensors], Device]:
    """Makes a device with 60 samples and a personal model, on a version that is always wrong."""

    def make(personal: Tensors) -> Device:
        joined.samples.add([row for seed in range(20) for row in batch((0, 1, 2), seed=seed)], max_samples=1000)
        joined.peers.adopt(PersonalTensors("v1", encode_tensors(personal)))
        return Device(home, joined, version(1, BAD), {})

    return make


def receive(device: Device, number: int, parameters: Tensors) -> None:
    """Another version is on the device; nobody has looked at it yet."""
    directive = device.situation.now.directive
    device.bundle = version(number, parameters)
    Device(device.home, device.store, device.bundle, {})
    device.start()
    if directive is not None:
        device.situation.set_directive(directive, at=0.0)


def live_on(device: Device) -> None:
    device.direct(None)
    device.live()


@every_plan
def test_it_begins_with_the_personal_model(new_device: Callable[[Tensors], Device], of: DevicePlan) -> None:
    device = new_device(GOOD)
    device.direct(of)
    device.live()
    assert accuracy(device) == 1


@every_plan
def test_a_version_that_comes_while_rounds_go_on(new_device: Callable[[Tensors], Device], of: DevicePlan) -> None:
    device = new_device(GOOD)
    device.direct(of)
    device.live()
    receive(device, 2, BAD)
    assert accuracy(device) == 1, "not even for a moment"
    device.live()
    assert accuracy(device) == 1


def test_a_version_renews_the_layers_that_are_shared_and_no_others(new_device: Callable[[Tensors], Device]) -> None:
    own = {"weight": GOOD["weight"], "bias": np.array([3, 2, 1], np.float32)}
    device = new_device(own)
    device.direct(plan(NoHelp(), local_training_every_s=None, local=SharedBody(personal="bias")))
    device.live()
    receive(device, 2, BAD)
    device.live()
    answering = load_held_model(device.store, device.home, threads=1)
    assert answering.is_personal
    stored = read_parameters(device.store.peers.personal_tensors(), SPEC)
    assert stored is not None
    np.testing.assert_array_equal(stored["bias"], own["bias"])
    np.testing.assert_array_equal(stored["weight"], BAD["weight"])


@every_plan
def test_a_pause_changes_nothing(new_device: Callable[[Tensors], Device], of: DevicePlan) -> None:
    """The plan of a paused federation stands; a roll-out may go on in it."""
    device = new_device(GOOD)
    device.direct(of)
    device.live()
    before = device.store.peers.personal()
    receive(device, 2, BAD)
    device.live()
    assert device.store.peers.effective_plan() is not None
    assert accuracy(device) == 1
    assert before is not None


@every_plan
def test_the_end_of_the_federation(new_device: Callable[[Tensors], Device], of: DevicePlan) -> None:
    device = new_device(GOOD)
    device.direct(of)
    device.live()
    live_on(device)
    assert accuracy(device) == 1
    receive(device, 2, BAD)
    assert accuracy(device) == 1, "not even for a moment"
    device.live()
    assert accuracy(device) == 1
    own = device.store.peers.personal()
    assert own is not None and own.base == "v2", "it is settled, and not asked again"
    receive(device, 3, HALF)
    device.live()
    assert accuracy(device) == 1


@every_plan
def test_the_end_of_the_federation_with_a_better_version(
    new_device: Callable[[Tensors], Device], of: DevicePlan
) -> None:
    device = new_device(HALF)
    device.direct(of)
    device.live()
    live_on(device)
    assert accuracy(device) == pytest.approx(2 / 3)
    receive(device, 2, GOOD)
    device.live()
    assert accuracy(device) == 1
    (told,) = [found for found in device.store.peers.outcomes() if found.outcome == "replaced"]
    assert "accuracy 1.000 against 0.667 of the personal model, 60 samples" in told.sentence


def test_without_samples_to_compare_on_the_personal_model_stays(home: Home, joined: Store) -> None:
    joined.peers.adopt(PersonalTensors("v1", encode_tensors(GOOD)))
    device = Device(home, joined, version(1, BAD), {})
    live_on(device)
    receive(device, 2, BAD)
    live_on(device)
    assert accuracy(device) == 1


@every_plan
def test_a_roll_back_gives_what_was_before(new_device: Callable[[Tensors], Device], of: DevicePlan) -> None:
    device = new_device(GOOD)
    device.direct(of)
    device.live()
    receive(device, 2, BAD)
    device.live()
    device.store.peers.adopt(PersonalTensors("v2", encode_tensors(BAD)))  # learned with the version
    assert accuracy(device) == 0
    assert device.store.peers.undo_personal_of({"v2"})
    device.direct(of, withdrawn=("v2",))
    device.live()
    assert accuracy(device) == 1


@every_plan
@pytest.mark.parametrize("through_the_end", [True, False])
def test_another_federation(new_device: Callable[[Tensors], Device], of: DevicePlan, *, through_the_end: bool) -> None:
    """There the personal model has to prove itself: it goes on unless the version does better."""
    device = new_device(GOOD)
    device.direct(of)
    device.live()
    if through_the_end:
        live_on(device)
    told = standing(of)
    there = StandingPlan(told.digest.replace(told.digest[0], "0"), "elsewhere", told.plan)
    receive(device, 7, HALF)
    device.situation.set_directive(Directive(check_in_s=15, stands=True, standing=there), at=0.0)
    assert accuracy(device) == 1
    device.live()
    assert accuracy(device) == 1
    again = StandingPlan(told.digest.replace(told.digest[0], "1"), "third", told.plan)
    device.store.peers.adopt(PersonalTensors("v7", encode_tensors(BAD)))
    receive(device, 8, HALF)
    device.situation.set_directive(Directive(check_in_s=15, stands=True, standing=again), at=0.0)
    device.live()
    assert accuracy(device) == pytest.approx(2 / 3), "the version does better"


def test_a_model_of_another_shape_does_not_answer_for_this_one(new_device: Callable[[Tensors], Device]) -> None:
    device = new_device({"weight": np.zeros((2, 4), np.float32), "bias": np.zeros(2, np.float32)})
    receive(device, 2, HALF)
    assert accuracy(device) == pytest.approx(2 / 3)
    live_on(device)
    (told,) = device.store.peers.outcomes()
    assert told.outcome == "replaced"
    assert device.store.peers.personal() is None


def test_after_leaving_no_model_answers(new_device: Callable[[Tensors], Device]) -> None:
    device = new_device(GOOD)
    device.store.identity.delete()
    with pytest.raises(AgentError) as caught:
        accuracy(device)
    assert caught.value.code == "agent.no_model"
    assert device.store.peers.personal() is None
    assert device.store.samples.count() == 60
