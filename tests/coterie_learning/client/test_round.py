"""A round on one device: every kind of `local` resumes as if undisturbed, and what a kind may ask it gets."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec
import numpy as np
import pytest

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.device_plan import LOCAL
from coterie_learning.device_state import NO_STATE, State, States
from coterie_learning.local import DELTA, Broadcast, Ended, GraphNeeds, Local, StepScalars, Trained
from coterie_learning.local.prox import Prox
from coterie_learning.local.sgd import Sgd
from coterie_learning.updates import split_update
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32, Tensors
from tests.coterie_agent.bundles import SPEC, parameters
from tests.coterie_learning.client.holding import given, hold

every_kind = pytest.mark.parametrize("kind", LOCAL.kinds.values(), ids=LOCAL.kinds)


@every_kind
def test_resumed_at_every_step_it_gives_the_same_update_and_states(kind: type[Local]) -> None:
    straight, often = (hold(given(kind()), restarts=restarts) for restarts in (False, True))
    assert often.update.payload == straight.update.payload
    assert often.samples == straight.samples
    assert often.update.states.keys() == straight.update.states.keys() == {"local", "codec"}
    for slot, state in straight.update.states.items():
        for name, tensor in state.tensors.items():
            np.testing.assert_array_equal(often.update.states[slot].tensors[name], tensor)


@every_kind
def test_it_says_what_it_needs_of_a_graph(kind: type[Local]) -> None:
    needs = kind().needs()
    needs.check(SPEC)
    for name in needs.scalars:
        lacking = msgspec.structs.replace(SPEC, scalars=tuple(one for one in SPEC.scalars if one != name))
        with pytest.raises(WireError, match=name):
            needs.check(lacking)
    begun = kind().begin(Broadcast(parameters()), NO_STATE)
    assert begun.keys() == needs.per_parameter
    assert all(tensors.keys() == parameters().keys() for tensors in begun.values())


def test_a_graph_that_lacks_an_input_by_parameter_is_refused() -> None:
    with pytest.raises(WireError, match="correction") as caught:
        GraphNeeds(per_parameter=frozenset({"correction"})).check(SPEC)
    assert caught.value.code == "plan.does_not_fit"


def test_prox_without_weight_is_sgd() -> None:
    assert hold(given(Prox(mu=0))).update.payload == hold(given(Sgd())).update.payload


class Remembering(Local, frozen=True, tag="remembering"):
    """Sends what it learned, and besides the mean of its differences over the rounds, which it remembers."""

    parts: ClassVar[tuple[str, ...]] = (DELTA, "mean")

    def epochs_wanted(self) -> int:
        return 1

    def step_scalars(self, step: int) -> StepScalars:
        return StepScalars(learning_rate=0.1)

    def begin(self, broadcast: Broadcast, state: State) -> Mapping[str, Tensors]:
        return {}

    def end(self, broadcast: Broadcast, trained: Trained, state: State) -> Ended:
        rounds = int(str(state.values.get("rounds", 0)))
        mean: dict[str, Float32] = {}
        for name, tensor in trained.parameters.items():
            before = state.tensors[name] if rounds else np.zeros_like(tensor)
            mean[name] = ((before * rounds + tensor - broadcast.received[name]) / (rounds + 1)).astype(np.float32)
        parts = super().end(broadcast, trained, state).parts
        return Ended({**parts, "mean": mean}, State(mean, {"rounds": rounds + 1}))


def test_a_kind_may_send_named_parts_and_remember_between_rounds() -> None:
    states: States = {}
    sent: dict[str, list[Tensors]] = {DELTA: [], "mean": []}
    for number in range(3):
        found = hold(given(Remembering(), states, received=number, clip=1e6)).update
        taken = split_update(found.payload, SPEC, parts=2)
        for part, payload in zip(sent, (taken.encoded, *taken.others), strict=True):
            sent[part].append(Float32Codec().decode(payload, expected=SPEC.parameters))
        states = found.states
    assert states["local"].values == {"rounds": 3}
    for name in parameters():
        expected = np.mean([delta[name] for delta in sent[DELTA]], axis=0)
        np.testing.assert_allclose(sent["mean"][-1][name], expected, atol=1e-5)


def test_privacy_covers_all_parts_together() -> None:
    found = hold(given(Remembering(), clip=0.5)).update
    taken = split_update(found.payload, SPEC, parts=2)
    every = [Float32Codec().decode(one, expected=SPEC.parameters) for one in (taken.encoded, *taken.others)]
    norm = np.sqrt(sum(float(np.vdot(tensor, tensor)) for part in every for tensor in part.values()))
    assert norm == pytest.approx(0.5, rel=1e-4)


def test_a_part_that_is_cut_off_is_refused() -> None:
    payload = hold(given(Remembering())).update.payload
    with pytest.raises(WireError) as caught:
        split_update(payload[:100], SPEC, parts=2)
    assert caught.value.code == "update.malformed"
