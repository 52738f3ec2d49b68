"""SCAFFOLD: its degenerate cases, its controls by hand, and where it loses."""

import numpy as np
import pytest

from coterie_learning.client.order import split, steps_per_epoch
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.device_state import NO_STATE, State, States
from coterie_learning.local import DELTA, Broadcast, Trained
from coterie_learning.local._linear import WEIGHT, anchor_of
from coterie_learning.local.scaffold import Scaffold
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.scaffold import Scaffold as ScaffoldMerge
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import SPEC, parameters
from tests.coterie_learning.client.holding import COUNT, given, hold
from tests.coterie_learning.local.quadratics import Quadratic, held
from tests.coterie_learning.merge.folding import folded

EPOCH = steps_per_epoch(len(split(range(1, COUNT + 1)).train), SPEC.batch_size)
SCAFFOLD = Scaffold(steps=EPOCH, learning_rate=0.25)
UNLIKE = [Quadratic(0.0, 1.0, 20), Quadratic(1.0, 0.1, 20)]
OPTIMUM = 0.1 / 1.1


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def sent(payload: bytes) -> Tensors:
    return Float32Codec().decode(payload, expected=SPEC.parameters)


def test_without_a_control_it_is_sgd_bit_for_bit() -> None:
    assert hold(given(SCAFFOLD)).update.payload == hold(given(Sgd(learning_rate=0.25))).update.payload


def test_a_fleet_of_one_learns_as_sgd_does() -> None:
    tensors, plain, states, server = parameters(), parameters(), {}, None
    for number in range(1, 4):
        control = server.tensors if server is not None else {}
        one = hold(given(SCAFFOLD, states, received=tensors, server=control, number=number, exact=True))
        other = hold(given(Sgd(learning_rate=0.25), received=plain, exact=True))
        states = one.update.states
        found = folded(ScaffoldMerge(), tensors, [sent(one.update.payload)], state=server)
        tensors, server = found.parameters, found.state
        plain = {name: tensor + sent(other.update.payload)[name] for name, tensor in plain.items()}
    for name, tensor in plain.items():
        np.testing.assert_allclose(tensors[name], tensor, atol=1e-6)


def test_what_the_graph_adds_to_the_gradient_is_the_correction_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    received, slope, now = (rng.standard_normal(10_000).astype(np.float32) for _ in range(3))
    slope *= np.float32(10) ** rng.integers(-8, 2, len(slope)).astype(np.float32)
    added = np.float32(WEIGHT) * (now - anchor_of({"w": received}, {"w": slope})["w"])
    np.testing.assert_array_equal(added, slope)


def test_the_control_of_three_parameters_by_hand() -> None:
    local = Scaffold(steps=4, learning_rate=0.5)
    broadcast = Broadcast(of(1, 1, 1), {"control": of(0.5, 0.25, 0)}, round=7)
    state = State(of(0.25, 0.5, -1), {"round": 6})
    # C_k - C = -0.25, 0.25, -1, and c - c_k = (C - C_k)/(4·0.5) is added to the gradient.
    anchor = local.begin(broadcast, state)["anchor"]["w"]
    np.testing.assert_array_equal(np.float32(WEIGHT) * (of(1, 1, 1)["w"] - anchor), [0.125, -0.125, 0.5])
    ended = local.end(broadcast, Trained(of(2, 1, 0.5), 4), state)
    np.testing.assert_array_equal(ended.parts[DELTA]["w"], [1, 0, -0.5])
    after = local.remember(ended, lambda: {DELTA: of(1, 0, -0.5)})
    np.testing.assert_array_equal(after.tensors["w"], [-1.25, 0.25, -0.5])
    assert after.values == {"round": 7}


def test_the_fleets_control_is_the_mean_of_the_devices() -> None:
    """Of four devices two take part, and one has no time for all steps; another's update comes too late."""
    local, merge = SCAFFOLD, ScaffoldMerge()
    tensors, server = parameters(), None
    states: list[States] = [{} for _ in range(4)]
    for number, cohort in enumerate([(0, 1), (1, 2), (0, 3), (1, 3)], start=1):
        control = server.tensors if server is not None else {}
        done = {
            device: hold(
                given(local, states[device], received=tensors, server=control, number=number, exact=True),
                steps=2 if device == 3 else None,
            )
            for device in cohort
        }
        if number == 2:
            del done[2]  # it learns that it came too late, and keeps its state
        for device, result in done.items():
            states[device] = result.update.states
        found = folded(merge, tensors, [sent(one.update.payload) for one in done.values()], state=server, fleet=4)
        tensors, server = found.parameters, found.state
    assert server is not None and states[2] == {}
    for name, tensor in server.tensors["control"].items():
        mean = np.mean([state["local"].tensors[name] for state in states if state], axis=0) * 3 / 4
        np.testing.assert_allclose(tensor, mean, atol=1e-6)


def test_partial_work_counts_at_its_pace() -> None:
    ended = Scaffold(steps=8).end(Broadcast(of(1, 1)), Trained(of(1.5, 0), 2), NO_STATE)
    np.testing.assert_array_equal(ended.parts[DELTA]["w"], [2, -4])


@pytest.mark.parametrize(("number", "expected"), [(106, 2.0), (107, 0.0)])
def test_a_control_is_forgotten_after_a_long_absence(number: int, expected: float) -> None:
    local = Scaffold(steps=1, learning_rate=1, keep_rounds=100)
    anchor = local.begin(Broadcast(of(0), round=number), State(of(-2), {"round": 6}))["anchor"]["w"]
    np.testing.assert_array_equal(np.float32(-WEIGHT) * anchor, [expected])


def test_a_control_of_another_model_is_forgotten() -> None:
    state = State({"w": np.zeros((2, 2), np.float32)}, {"round": 1})
    assert SCAFFOLD.begin(Broadcast(of(0), round=2), state)["anchor"]["w"] == 0


def test_it_finds_the_optimum_that_fed_avg_misses() -> None:
    fed_avg = held(UNLIKE, Sgd(learning_rate=0.1), FedAvg(weight_by="uniform"), rounds=300)
    scaffold = held(UNLIKE, Scaffold(steps=20), ScaffoldMerge(), rounds=300)
    assert abs(fed_avg - OPTIMUM) > 0.05
    assert scaffold == pytest.approx(OPTIMUM, abs=1e-3)


def test_devices_that_forget_are_led_astray() -> None:
    """The negative control: whoever loses its state after each round is better served by FedAvg."""
    fed_avg = held(UNLIKE, Sgd(learning_rate=0.1), FedAvg(weight_by="uniform"), rounds=300)
    scaffold = held(UNLIKE, Scaffold(steps=20), ScaffoldMerge(), rounds=300, forgets=True)
    assert not abs(scaffold - OPTIMUM) < abs(fed_avg - OPTIMUM)
