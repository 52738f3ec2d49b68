"""Meetings without a network: groups, exact averages, and what becomes of a group that loses members on the way."""

from contextlib import nullcontext
from functools import partial

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.fold import CountedUpdate, fold_in_memory
from coterie_learning.local.sgd import Sgd
from coterie_learning.meetings import Meeting, decode_whole, encode_whole, grid, groups_of
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.update_files import Contents
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors

SPECS = (TensorSpec("body", "float32", (7, 90)), TensorSpec("head", "float32", (3,)))
MODEL = ModelSpec.of_classifier(inputs=(TensorSpec("x", "float32", (4,)),), classes=3, batch_size=2, parameters=SPECS)


def difference(seed: int, scale: float = 0.1) -> Tensors:
    rng = np.random.default_rng(seed)
    return {spec.name: (scale * rng.standard_normal(spec.shape)).astype(np.float32) for spec in SPECS}


def group(weights: dict[str, int], codec: Codec | None = None) -> dict[str, Meeting]:
    """Members that have learned different things, before any of them knows who is there."""
    return {
        name: Meeting(
            own=name,
            group=tuple(weights),
            difference=difference(seed),
            specs=SPECS,
            weight=weight,
            codec=codec or Float32Codec(),
            seed=seed,
        )
        for seed, (name, weight) in enumerate(weights.items())
    }


def meet(members: dict[str, Meeting], *, lost: tuple[str, ...] = ()) -> dict[str, bytes]:
    """All greet and share; those who are `lost` give no average. What each goes on with."""
    for one in members.values():
        for other in members:
            one.mark_present(other)
    leader = members[min(members)]
    leader.fix_members()
    assert all(one.adopt(leader.members) for one in members.values())
    for name, one in members.items():
        for other in one.others:
            assert members[other].add_share(name, one.weight, one.share_for(other))
    for name, one in members.items():
        average = one.average()
        assert average is not None
        for other in () if name in lost else one.others:
            members[other].add_average(name, average)
    return {name: b"".join(tensor.tobytes() for tensor in one.end().values()) for name, one in members.items()}


def test_a_meeting_of_all_is_a_merge_of_a_star_bit_for_bit() -> None:
    """The degenerate case: a complete graph in one meeting."""
    weights = {"a": 3, "b": 80, "c": 5, "d": 1}
    found = meet(group(weights))
    contents, counted = Contents(MODEL, Float32Codec(), Sgd()), []
    for seed, weight in enumerate(weights.values()):
        payload = Float32Codec().encode(difference(seed), seed=0).payload
        counted.append(CountedUpdate(partial(nullcontext, contents.open(InMemory(payload), ())), weight))
    base = {spec.name: np.zeros(spec.shape, np.float32) for spec in SPECS}
    merged = fold_in_memory(FedAvg(), SPECS, counted, base, None).parameters
    assert set(found.values()) == {b"".join(merged[name].tobytes() for name in sorted(merged))}


@pytest.mark.parametrize("codec", [Float32Codec(), Int8()])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_all_who_end_a_meeting_have_the_same_bits(count: int, codec: Codec) -> None:
    found = meet(group({f"device-{number}": 1 + number for number in range(count)}, codec))
    assert len(set(found.values())) == 1


def test_the_weighted_mean_stays_as_it_was() -> None:
    weights = {"a": 3, "b": 80, "c": 5}
    before = sum(weight * difference(seed)["body"] for seed, weight in enumerate(weights.values())) / 88
    members = group(weights)
    meet(members)
    after = sum(weight * members[name].end()["body"] for name, weight in weights.items()) / 88
    np.testing.assert_allclose(after, before, atol=1e-6)


def test_a_member_that_is_lost_leaves_others_their_own_share() -> None:
    members = group({"a": 1, "b": 1, "c": 1})
    meet(members, lost=("b",))
    own = np.concatenate([tensor.reshape(-1) for tensor in difference(0).values()])
    found = np.concatenate([tensor.reshape(-1) for tensor in members["a"].end().values()])
    third = own.size // 3
    np.testing.assert_array_equal(found[third : 2 * third], own[third : 2 * third])
    assert not np.array_equal(found[:third], own[:third])


def test_who_comes_after_the_list_is_fixed_is_too_late() -> None:
    members = group({"a": 1, "b": 1, "c": 1})
    for one in ("a", "b"):
        members["a"].mark_present(one)
    members["a"].fix_members()
    members["a"].mark_present("c")
    assert members["a"].members == ("a", "b")
    assert not members["c"].adopt(members["a"].members)
    assert not members["a"].add_share("c", 1, b"")


def test_a_list_that_a_leader_makes_up_is_not_taken_over() -> None:
    (one,) = [group({"a": 1, "b": 1, "c": 1})["b"]]
    for wrong in (("a", "c"), ("b", "a"), ("a", "b", "stranger"), ("a", "b", "b")):
        assert not one.adopt(wrong)
    assert one.adopt(("a", "b"))


def test_a_share_counts_once_and_none_after_the_average() -> None:
    members = group({"a": 1, "b": 2})
    for one in members.values():
        assert one.adopt(("a", "b"))
    share = members["b"].share_for("a")
    assert members["a"].average() is None
    assert members["a"].add_share("b", 2, share)
    assert members["a"].add_share("b", 2, share)
    average = members["a"].average()
    assert members["b"].average(anyway=True) is not None
    assert not members["b"].add_share("a", 1, members["a"].share_for("b"))
    assert members["a"].average() == average


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 128.0, -200.0])
def test_numbers_that_cannot_be_averaged_are_refused(wrong: float) -> None:
    bad = difference(1)
    bad["head"][1] = wrong  # type: ignore[index]
    with pytest.raises(WireError, match=r"too far|finite"):
        Meeting(own="a", group=("a",), difference=bad, specs=SPECS, weight=1, codec=Float32Codec(), seed=0)
    with pytest.raises(WireError, match=r"too far|not finite|NaN"):
        decode_whole(Float32Codec().pack(bad), Float32Codec(), SPECS)


def test_a_share_of_other_tensors_is_refused() -> None:
    members = group({"a": 1, "b": 1})
    members["a"].adopt(("a", "b"))
    with pytest.raises(WireError, match="tensor rest is missing"):
        members["a"].add_share("b", 1, Float32Codec().encode(difference(1), seed=0).payload)


def test_a_latecomer_gets_a_whole_model() -> None:
    payload = encode_whole(difference(4), Float32Codec(), seed=1)
    found = decode_whole(payload, Float32Codec(), SPECS)
    assert {name: tensor.tobytes() for name, tensor in found.items()} == {
        name: tensor.tobytes() for name, tensor in difference(4).items()
    }


@given(count=st.integers(1, 300), size=st.integers(2, 12), meeting=st.integers(0, 50), seed=st.integers(0, 99))
def test_each_device_is_in_one_group_that_is_no_larger_than_agreed(
    count: int, size: int, meeting: int, seed: int
) -> None:
    names = [f"d{number}" for number in range(count)]
    found = groups_of(names, meeting, group=size, seed=seed)
    assert sorted(name for one in found for name in one) == sorted(names)
    assert max(len(one) for one in found) <= size
    assert found == groups_of(names[::-1], meeting, group=size, seed=seed)


@pytest.mark.parametrize(("count", "size"), [(16, 4), (64, 4), (9, 3), (8, 2)])
def test_a_full_grid_agrees_after_a_cycle(count: int, size: int) -> None:
    """Exact after d meetings, as in Moshpit SGD; on a ring (the control) it would take a way around it."""
    values = dict(zip([f"d{number}" for number in range(count)], np.arange(count, dtype=float), strict=True))
    for meeting in range(len(grid(count, size))):
        for one in groups_of(list(values), meeting, group=size, seed=5):
            values.update(dict.fromkeys(one, float(np.mean([values[name] for name in one]))))
    np.testing.assert_allclose(list(values.values()), (count - 1) / 2)


def test_a_new_cycle_has_other_groups() -> None:
    names = [f"d{number}" for number in range(16)]
    assert groups_of(names, 0, group=4, seed=1) != groups_of(names, 2, group=4, seed=1)
    assert msgspec.json.encode(groups_of(names, 0, group=4, seed=1)) == msgspec.json.encode(
        groups_of(names, 0, group=4, seed=1)
    )
