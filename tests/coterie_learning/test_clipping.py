"""Meetings at which each mixes by itself: what one poisoned model can do, who is named, whose model is taken over."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.clipping import ClippedMeeting, mix_clipped, most_agreed
from coterie_learning.codec.float32 import Float32Codec
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32, Tensors

SPECS = (TensorSpec("body", "float32", (7, 90)), TensorSpec("head", "float32", (3,)))


def vector(seed: int, size: int = 50) -> Float32:
    return np.random.default_rng(seed).standard_normal(size).astype(np.float32)


def difference(seed: int, scale: float = 0.1) -> Tensors:
    rng = np.random.default_rng(seed)
    return {spec.name: (scale * rng.standard_normal(spec.shape)).astype(np.float32) for spec in SPECS}


def group(differences: dict[str, Tensors]) -> dict[str, ClippedMeeting]:
    return {
        name: ClippedMeeting(
            own=name, group=tuple(differences), difference=one, specs=SPECS, weight=1, codec=Float32Codec(), seed=seed
        )
        for seed, (name, one) in enumerate(differences.items())
    }


def meet(members: dict[str, ClippedMeeting]) -> dict[str, Tensors]:
    for one in members.values():
        assert one.adopt(tuple(sorted(members)))
    for name, one in members.items():
        for other in one.others:
            assert members[other].add_share(name, one.weight, one.share_for(other))
    for one in members.values():
        assert one.average() is None
        assert one.missing_averages == ()
    return {name: one.end() for name, one in members.items()}


def test_models_that_lie_equally_far_apart_come_to_their_weighted_mean() -> None:
    """The degenerate case: nothing is clipped, and no weight counts more than half of them."""
    corners = np.eye(4, dtype=np.float32)
    mixed = mix_clipped(corners[0], 3, {"b": (3, corners[1]), "c": (3, corners[2]), "d": (1, corners[3])})
    np.testing.assert_allclose(mixed.numbers, [0.3, 0.3, 0.3, 0.1], atol=1e-6)
    assert mixed.far == []


@given(scale=st.floats(1.0, 1e4), weight=st.integers(1, 65_535), seed=st.integers(0, 99))
def test_one_of_four_moves_nobody_further_than_an_honest_one_can(scale: float, weight: int, seed: int) -> None:
    own, honest = vector(seed), {"b": (5, vector(seed + 1)), "c": (5, vector(seed + 2))}
    poison = (scale * vector(seed + 3)).astype(np.float32)
    mixed = mix_clipped(own, 5, {**honest, "liar": (weight, poison)})
    furthest = max(np.linalg.norm(numbers - own) for _, numbers in honest.values())
    assert np.linalg.norm(mixed.numbers - own) <= 0.75 * furthest * (1 + 1e-5)


def test_the_one_that_lies_far_off_is_named() -> None:
    honest = {"b": (5, vector(1)), "c": (5, vector(2))}
    assert mix_clipped(vector(0), 5, {**honest, "liar": (5, 10 * vector(3))}).far == ["liar"]
    assert mix_clipped(vector(0), 5, {**honest, "d": (5, vector(3))}).far == []


def test_of_two_neither_can_tell_and_both_go_on_with_their_own() -> None:
    own = vector(0)
    assert mix_clipped(own, 1, {"liar": (9, vector(1))}).numbers is own
    assert mix_clipped(own, 1, {}).numbers is own


def test_a_meeting_of_the_same_models_changes_nothing() -> None:
    found = meet(group(dict.fromkeys("abc", difference(1))))
    for one in found.values():
        np.testing.assert_array_equal(one["body"], difference(1)["body"])


def test_a_poisoned_model_leaves_the_others_near_where_a_meeting_without_it_would() -> None:
    honest = {name: difference(seed) for seed, name in enumerate("abc")}
    members = group({**honest, "liar": difference(9, scale=10.0)})
    found = meet(members)
    without = meet(group(honest))
    for name, one in honest.items():
        assert members[name].far == ["liar"]
        moved = np.linalg.norm(found[name]["body"] - without[name]["body"])
        assert moved < np.linalg.norm(one["body"] - without[name]["body"])


def test_what_comes_after_a_device_has_mixed_is_too_late() -> None:
    members = group({name: difference(seed) for seed, name in enumerate("abc")})
    for one in members.values():
        one.adopt(("a", "b", "c"))
    first = members["a"]
    assert first.add_share("b", 1, members["b"].share_for("a"))
    first.average(anyway=True)
    assert not first.add_share("c", 1, members["c"].share_for("a"))
    assert first.share_senders == ["b"]


def test_the_model_that_most_agree_on_is_taken_over() -> None:
    honest, poisoned = difference(1), difference(2, scale=10.0)
    near = {name: tensor + np.float32(0.001) for name, tensor in honest.items()}
    own = difference(3)
    assert any(most_agreed(own, [poisoned, honest, near]) is one for one in (honest, near))
    assert most_agreed(honest, [poisoned, near]) is near
    assert most_agreed(own, [poisoned]) is own
    assert most_agreed(own, []) is own
