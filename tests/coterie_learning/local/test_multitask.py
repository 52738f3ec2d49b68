"""Multi-task learning: equations by hand, both halves together, the cases that are known, and where it loses."""

from collections.abc import Sequence

import numpy as np
import pytest

from coterie_learning.device_state import NO_STATE, State
from coterie_learning.flat import flat
from coterie_learning.fold import Folded
from coterie_learning.local import ANCHOR, DELTA, Broadcast, Trained
from coterie_learning.local._directions import DIRECTIONS, Float64, directions
from coterie_learning.local.multitask import MultiTask
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge import Aggregate, Cohort, ServerState
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.multitask import MultiTask as MultiTaskMerge
from coterie_learning.plan import parse_plan
from coterie_learning.updates import split_update
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import SPEC
from tests.coterie_learning.client.holding import given, hold
from tests.coterie_learning.merge.folding import folded

SIZE = 8
KIND = MultiTask(mu=2.0)


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def unit(place: int, scale: float = 1.0) -> Tensors:
    return of(*(scale if at == place else 0.0 for at in range(SIZE)))


def told(**server: Tensors) -> Broadcast:
    return Broadcast(of(*range(SIZE)), server, 1)


def basis(*places: int) -> dict[str, Tensors]:
    return {name: unit(place, 3.0) for name, place in zip(DIRECTIONS, places, strict=True)}


def vector(tensors: Tensors) -> Float64:
    return flat(tensors, np.float32).astype(np.float64)


def deviations(count: int, rank: int, seed: int = 0) -> Float64:
    """[count, SIZE] of models that differ in so many ways."""
    rng = np.random.default_rng(seed)
    ways = np.linalg.qr(rng.normal(size=(SIZE, rank)))[0].T
    return rng.normal(size=(count, rank)) @ np.diag(3.0 ** -np.arange(rank)) @ ways


def iterated(apart: Float64, rounds: int, *, part: float = 1.0) -> Broadcast:
    """What devices get after so many rounds in which their models stay where they are, `part` of them a round."""
    state, base = None, of(*[0.0] * SIZE)
    found = Broadcast(base)
    for number in range(rounds):
        chosen = [one for at, one in enumerate(apart) if (at + number) % len(apart) < part * len(apart)]
        merged = _merged(base, chosen, found, state, fleet=len(apart))
        state = merged.state
        found = Broadcast(base, {name: state.tensors[name] for name in DIRECTIONS}, number + 2)
    return found


def _merged(base: Tensors, apart: Sequence[Float64], given: Broadcast, state: ServerState | None, fleet: int) -> Folded:
    """Part by part, each as FedAvg means it, which is what the merge makes of sums."""
    ended = [KIND.end(given, Trained(of(*(one + vector(base))), 1), NO_STATE).parts for one in apart]
    mean = {part: FedAvg(weight_by="uniform") for part in (DELTA, *DIRECTIONS)}
    found = {part: folded(kind, of(*[0.0] * SIZE), [one[part] for one in ended]) for part, kind in mean.items()}
    numbers = {"w": vector(found[DELTA].parameters)}
    numbers |= {f"{part}.w": vector(found[part].parameters) for part in DIRECTIONS}
    merge = MultiTaskMerge()
    before = merge.init(base) if state is None else state
    done = merge.finish(Aggregate(numbers, Cohort(len(apart), fleet)), base, before)
    return Folded(of(*done.parameters["w"]), done.state)


def captured(given: Broadcast, apart: Float64) -> float:
    """The share of the deviations' squares that lies along the directions."""
    return float(((apart @ directions(given).T) ** 2).sum() / (apart**2).sum())


@pytest.mark.parametrize("server", [{}, basis(0, 1, 2), basis(4, 4, 4), {DIRECTIONS[0]: unit(3)}])
def test_directions_are_orthonormal_and_the_same_on_all_devices(server: dict[str, Tensors]) -> None:
    found = directions(told(**server))
    np.testing.assert_allclose(found @ found.T, np.eye(len(DIRECTIONS)), atol=1e-12)
    np.testing.assert_array_equal(found, directions(told(**server)))


def test_directions_that_were_sent_are_kept_in_their_order() -> None:
    found = directions(told(**{DIRECTIONS[0]: unit(3, -5.0), DIRECTIONS[1]: of(0, 0, 0, 1, 0, 0, 0, 2)}))
    np.testing.assert_allclose(found[0], vector(unit(3, -1.0)), atol=1e-12)
    np.testing.assert_allclose(found[1], vector(unit(7)), atol=1e-12)


def test_a_model_of_two_numbers_has_no_third_direction() -> None:
    found = directions(Broadcast(of(1, 2)))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 0], atol=1e-12)


def test_a_model_is_held_where_it_differs_as_the_others_do() -> None:
    state = State(of(1, 2, 3, 4, 5, 6, 7, 8), {"round": 1})
    anchor = KIND.begin(told(**basis(0, 2, 5)), state)[ANCHOR]
    np.testing.assert_array_equal(anchor["w"], [0 + 1, 1, 2 + 3, 3, 4, 5 + 6, 6, 7])
    assert KIND.step_scalars(0).proximal_weight == 2.0


def test_a_device_sends_its_deviation_and_that_times_its_share_in_each_direction() -> None:
    ended = KIND.end(told(**basis(0, 2, 5)), Trained(of(1, 1, 4, 3, 4, 2, 6, 7), 3), NO_STATE)
    np.testing.assert_array_equal(ended.parts[DELTA]["w"], [1, 0, 2, 0, 0, -3, 0, 0])
    for part, share in zip(DIRECTIONS, (1, 2, -3), strict=True):
        np.testing.assert_array_equal(ended.parts[part]["w"], share * ended.parts[DELTA]["w"])
    np.testing.assert_array_equal(ended.state.tensors["w"], ended.parts[DELTA]["w"])


def test_sums_of_what_devices_send_are_one_step_of_orthogonal_iteration() -> None:
    apart, given = deviations(6, 5), told(**basis(0, 2, 5))
    sent = [KIND.end(given, Trained(of(*(one + vector(given.received))), 1), NO_STATE).parts for one in apart]
    for direction, part in zip(directions(given), DIRECTIONS, strict=True):
        total = sum(vector(one[part]) for one in sent)
        np.testing.assert_allclose(total, apart.T @ apart @ direction, atol=1e-4)


@pytest.mark.parametrize("part", [1.0, 0.5])
def test_rounds_find_the_ways_in_which_models_differ(part: float) -> None:
    apart = deviations(10, 3)
    assert captured(Broadcast(of(*[0.0] * SIZE)), apart) < 0.9
    assert captured(iterated(apart, 20, part=part), apart) > 0.999


def test_of_more_ways_than_directions_the_greatest_are_found() -> None:
    apart = deviations(12, 6)
    best = np.linalg.svd(apart, compute_uv=False) ** 2
    assert captured(iterated(apart, 40), apart) == pytest.approx(best[:3].sum() / best.sum(), abs=1e-3)


def test_where_every_device_differs_in_its_own_way_little_of_it_is_left() -> None:
    """Where it loses: of unrelated tasks the relationship keeps three of eight directions, and holds back the rest."""
    apart = np.eye(SIZE)
    given = iterated(apart, 20)
    kept = [np.linalg.norm(directions(given) @ one) for one in apart]
    assert np.mean(np.square(kept)) == pytest.approx(len(DIRECTIONS) / SIZE)


def test_without_weight_each_learns_alone_and_the_first_version_is_fed_avgs() -> None:
    alone = hold(given(MultiTask(mu=0, epochs=2), exact=True)).update.payload
    plain = hold(given(Sgd(epochs=2), exact=True)).update.payload
    parts = split_update(alone, SPEC, parts=len(MultiTask.parts))
    assert bytes(parts.encoded) == plain
    assert len(alone) == len(MultiTask.parts) * len(plain)


def test_a_device_sends_as_many_steps_as_it_had_time_for() -> None:
    few = hold(given(MultiTask(epochs=3), exact=True), steps=2)
    assert (few.samples, few.update.states["local"].values["round"]) == (2 * SPEC.batch_size, 1)


def test_a_relationship_is_forgotten_when_it_is_too_old() -> None:
    kind, state = MultiTask(keep_rounds=2), State(unit(0, 4.0), {"round": 1})
    for number, kept in ((3, True), (4, False)):
        anchor = kind.begin(told(**basis(0, 2, 5))._replace(round=number), state)[ANCHOR]
        assert (float(anchor["w"][0]) == 4.0) is kept


def test_neither_half_works_alone() -> None:
    for half in ({"local": {"kind": "multitask"}}, {"merge": {"kind": "multitask"}}):
        with pytest.raises(WireError, match="MOCHA"):
            parse_plan(half)


def test_devices_have_one_model_of_their_own() -> None:
    both = {"local": {"kind": "multitask"}, "merge": {"kind": "multitask"}, "personal": {"kind": "ditto"}}
    with pytest.raises(WireError, match="the rounds themselves train the personal model"):
        parse_plan(both)
