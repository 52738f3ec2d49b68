"""Decision trees of an online forest: a helper's best trees for some classes replace the target's worst.

Cartel's portion of an online random forest (Daga et al. 2019, doi 10.1145/3357223.3362708). Majority votes limit the
influence of bad trees.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from coterie_learning.codec import Codec
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32, encode_tensors, read_header, view_tensors

DEEPEST = 64
"""Greatest depth of a received tree."""
_NODES = "nodes"
_THRESHOLDS = "thresholds"


class Tree(NamedTuple):
    """A tree in preorder: the child for smaller values follows its parent, `right` is the index of the other."""

    code: NDArray[np.int16]
    """[nodes]: the feature compared, or -1 - class at a leaf."""
    threshold: Float32
    """[nodes]: samples whose feature is at most this go left; 0 at a leaf."""
    right: NDArray[np.int32]
    """[nodes]; the node itself at a leaf."""

    @classmethod
    def from_preorder(cls, code: NDArray[np.int16], threshold: Float32) -> Self:
        """The tree with exactly these nodes.

        Raises WireError ``portion.malformed``.
        """
        right = np.arange(len(code), dtype=np.int32)
        level = np.zeros(len(code), np.int32)
        waiting: list[int] = []
        missing = 1
        for node, value in enumerate(code.tolist()):
            if not missing:
                raise WireError("portion.malformed", f"a tree ends at node {node} of {len(code)}")
            if node and code[node - 1] >= 0:
                level[node] = level[node - 1] + 1
            elif node:
                parent = waiting.pop()
                right[parent], level[node] = node, level[parent] + 1
            if value >= 0:
                waiting.append(node)
            missing += 1 if value >= 0 else -1
        if missing:
            raise WireError("portion.malformed", "a tree breaks off before its last leaf")
        if level.max() > DEEPEST:
            raise WireError("portion.malformed", f"a tree is {level.max()} levels deep, at most {DEEPEST} are read")
        return cls(code, threshold, right)


def vote_trees(trees: Sequence[Tree], x: Float32) -> NDArray[np.int64]:
    """The class that each tree predicts for each sample of `x` [n, features]: [trees, n]."""
    size = max(len(tree.code) for tree in trees)
    code, threshold, right = (np.zeros((len(trees), size), dtype) for dtype in (np.int64, np.float32, np.int64))
    for row, tree in enumerate(trees):
        nodes = len(tree.code)
        code[row, :nodes], threshold[row, :nodes], right[row, :nodes] = tree
    tree_of, sample = np.arange(len(trees))[:, None], np.arange(len(x))[None, :]
    node = np.zeros((len(trees), len(x)), np.int64)
    while True:
        found = code[tree_of, node]
        if (found < 0).all():
            votes: NDArray[np.int64] = -1 - found
            return votes
        smaller = x[sample, np.maximum(found, 0)] <= threshold[tree_of, node]
        node = np.where((found >= 0) & smaller, node + 1, right[tree_of, node])


def best_trees(
    trees: Sequence[Tree], x: Float32, labels: NDArray[np.int64], classes: Sequence[int], count: int
) -> tuple[Tree, ...]:
    """The helper's `count` trees with the best recall of `classes` on its samples `x` [n, features].

    Ties are broken by overall accuracy; without samples of `classes` only that counts.
    """
    right = vote_trees(trees, x) == labels
    asked = np.isin(labels, list(classes))
    order = np.lexsort((-right.sum(axis=1), -right[:, asked].sum(axis=1)))
    return tuple(trees[index] for index in order[:count])


def replace_worst(
    trees: Sequence[Tree], received: Sequence[Tree], x: Float32, labels: NDArray[np.int64]
) -> tuple[Tree, ...]:
    """The target's trees, with `received` in place of the least accurate ones on its samples `x`."""
    right = (vote_trees(trees, x) == labels).sum(axis=1)
    worst = set(np.argsort(right, kind="stable")[: len(received)].tolist())
    return (*(tree for index, tree in enumerate(trees) if index not in worst), *received)


def encode_trees(trees: Sequence[Tree], codec: Codec, *, seed: int) -> bytes:
    """The nodes exactly, two bytes each, and the thresholds encoded by `codec`.

    The norm of a tree does not bound its influence, so clipping is meaningless: plans that clip do not fit forests.

    Raises WireError ``update.not_finite``.
    """
    code = np.concatenate([tree.code for tree in trees]).astype("<i2")
    inner = np.concatenate([tree.threshold[tree.code >= 0] for tree in trees])
    thresholds = codec.encode({_THRESHOLDS: inner}, seed=seed).payload
    return encode_tensors({_NODES: code.view(np.int8).reshape(-1, 2), _THRESHOLDS: np.frombuffer(thresholds, np.int8)})


def decode_trees(
    payload: bytes | memoryview, codec: Codec, *, most: int, features: int, classes: int
) -> tuple[Tree, ...]:
    """At least one and at most `most` trees over `features` features and `classes` classes.

    Raises WireError ``portion.malformed``, ``update.malformed``, ``update.wrong_codec``, ``update.wrong_shape`` or
    ``update.not_finite``.
    """
    try:
        header = read_header(payload)
        nodes, size = (header.specs[name].shape[0] if name in header.specs else 0 for name in (_NODES, _THRESHOLDS))
        expected = (TensorSpec(_NODES, "int8", (nodes, 2)), TensorSpec(_THRESHOLDS, "int8", (size,)))
        stored = view_tensors(payload, header, expected=expected)
    except (WireError, IndexError) as error:
        raise WireError("portion.malformed", f"trees: {error}") from error
    code = cast(NDArray[np.int16], np.ascontiguousarray(stored[_NODES]).view("<i2").reshape(-1).astype(np.int16))
    if len(code) and (code.max() >= features or code.min() < -classes):
        raise WireError(
            "portion.malformed", f"a node names a feature above {features - 1} or a class above {classes - 1}"
        )
    inner = TensorSpec(_THRESHOLDS, "float32", (int((code >= 0).sum()),))
    threshold = np.zeros(len(code), np.float32)
    threshold[code >= 0] = codec.decode(stored[_THRESHOLDS].tobytes(), expected=(inner,))[_THRESHOLDS]
    # A tree is complete when it has one more leaf than inner nodes.
    balance = np.cumsum(np.where(code < 0, 1, -1))
    ends = np.flatnonzero(balance == np.maximum.accumulate(np.append(0, balance))[:-1] + 1) + 1
    if not 1 <= len(ends) <= most or ends[-1] != len(code):
        raise WireError("portion.malformed", f"{len(ends)} whole trees are there, 1 to {most} were agreed")
    starts = [0, *ends[:-1].tolist()]
    return tuple(
        Tree.from_preorder(code[start:end], threshold[start:end])
        for start, end in zip(starts, ends.tolist(), strict=True)
    )
