"""Trees: read as they were written, chosen and replaced by their errors, refused where they are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.portions.trees import (
    DEEPEST,
    Tree,
    best_trees,
    decode_trees,
    encode_trees,
    replace_worst,
    vote_trees,
)
from coterie_wire.errors import WireError
from coterie_wire.tensors import encode_tensors

FEATURES, CLASSES = 3, 4
PLAIN = Float32Codec()


def tree(*nodes: int | tuple[int, float]) -> Tree:
    """From the preorder of its nodes: a class at a leaf, or a feature and the value that is compared."""
    code = [-1 - node if isinstance(node, int) else node[0] for node in nodes]
    threshold = [0.0 if isinstance(node, int) else node[1] for node in nodes]
    return Tree.from_preorder(np.array(code, np.int16), np.array(threshold, np.float32))


ONE_LEAF = tree(2)
STUMP = tree((0, 0.5), 0, 1)
RIGHT_DEEP = tree((0, 0.5), 0, (1, 0.5), 1, (2, 0.5), 2, 3)
LEFT_DEEP = tree((2, 0.5), (1, 0.5), (0, 0.5), 0, 1, 2, 3)
X = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], np.float32)


def always(label: int) -> Tree:
    return tree(label)


def test_samples_follow_the_branches() -> None:
    votes = vote_trees([ONE_LEAF, STUMP, RIGHT_DEEP, LEFT_DEEP], X)
    assert votes.tolist() == [[2, 2, 2, 2], [0, 1, 1, 1], [0, 1, 2, 3], [0, 1, 2, 3]]


def test_the_trees_that_find_most_of_the_classes_asked_for_are_sent() -> None:
    labels = np.array([0, 1, 2, 3])
    first, second = best_trees([STUMP, ONE_LEAF, RIGHT_DEEP], X, labels, (2,), 2)
    assert first is RIGHT_DEEP
    assert second is ONE_LEAF
    (found,) = best_trees([ONE_LEAF, STUMP], X, labels, (7,), 1)
    assert found is STUMP, "without samples of the classes, the better over all"


def test_the_worst_trees_make_room() -> None:
    labels = np.array([0, 1, 1, 1])
    kept = replace_worst([RIGHT_DEEP, STUMP, ONE_LEAF], [always(3)], X, labels)
    assert vote_trees(kept, X).tolist() == [[0, 1, 2, 3], [0, 1, 1, 1], [3, 3, 3, 3]]


@st.composite
def forests(draw: st.DrawFn) -> list[Tree]:
    def grow(depth: int) -> list[int | tuple[int, float]]:
        if not depth or draw(st.booleans()):
            return [draw(st.integers(0, CLASSES - 1))]
        node = (draw(st.integers(0, FEATURES - 1)), draw(st.floats(-9, 9, width=32)))
        return [node, *grow(depth - 1), *grow(depth - 1)]

    return [tree(*grow(4)) for _ in range(draw(st.integers(1, 4)))]


@given(trees=forests(), seed=st.integers(0, 9))
def test_trees_arrive_as_they_were_sent(trees: list[Tree], seed: int) -> None:
    arrived = decode_trees(encode_trees(trees, PLAIN, seed=seed), PLAIN, most=4, features=FEATURES, classes=CLASSES)
    assert len(arrived) == len(trees)
    for there, here in zip(trees, arrived, strict=True):
        for left, right in zip(there, here, strict=True):
            np.testing.assert_array_equal(left, right)


@given(trees=forests())
def test_int8_moves_thresholds_by_less_than_a_level(trees: list[Tree]) -> None:
    codec = Int8()
    arrived = decode_trees(encode_trees(trees, codec, seed=1), codec, most=4, features=FEATURES, classes=CLASSES)
    for there, here in zip(trees, arrived, strict=True):
        np.testing.assert_array_equal(there.code, here.code)
        np.testing.assert_allclose(there.threshold, here.threshold, atol=9 / 127 * 1.01)


def payload(code: list[int], thresholds: list[float] | None = None, codec: Codec = PLAIN) -> bytes:
    inner = [0.5] * sum(value >= 0 for value in code) if thresholds is None else thresholds
    packed = codec.pack({"thresholds": np.array(inner, np.float32)})
    nodes = np.array(code, "<i2").view(np.int8).reshape(-1, 2)
    return encode_tensors({"nodes": nodes, "thresholds": np.frombuffer(packed, np.int8)})


CHAIN = [0, -1] * (DEEPEST + 1) + [-1]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"", "portion.malformed"),
        (payload([-1])[:-1], "portion.malformed"),
        (encode_tensors({"nodes": np.zeros((1, 2), np.int8)}), "portion.malformed"),
        (encode_tensors({"nodes": np.zeros((), np.int8), "thresholds": np.zeros(1, np.int8)}), "portion.malformed"),
        (payload([]), "portion.malformed"),
        (payload([0, -1]), "portion.malformed"),
        (payload([0]), "portion.malformed"),
        (payload([-1] * 5), "portion.malformed"),
        (payload([FEATURES, -1, -1]), "portion.malformed"),
        (payload([-1 - CLASSES]), "portion.malformed"),
        (payload(CHAIN), "portion.malformed"),
        (payload([0, -1, -1], thresholds=[]), "update.wrong_shape"),
        (payload([0, -1, -1], thresholds=[float("nan")]), "update.not_finite"),
        (payload([0, -1, -1], codec=Int8()), "update.wrong_codec"),
    ],
    ids=str,
)
def test_what_is_no_forest_is_refused(sent: bytes, code: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_trees(sent, PLAIN, most=4, features=FEATURES, classes=CLASSES)
    assert caught.value.code == code


def test_a_tree_is_given_whole() -> None:
    for nodes in ([-1, -1], [0, -1], []):
        with pytest.raises(WireError) as caught:
            Tree.from_preorder(np.array(nodes, np.int16), np.zeros(len(nodes), np.float32))
        assert caught.value.code == "portion.malformed"
