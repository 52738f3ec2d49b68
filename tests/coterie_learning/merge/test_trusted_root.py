"""FLTrust, beside the laws that every merge keeps."""

import numpy as np
import pytest

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.fold import Aggregation, CountedUpdate, fold_in_memory
from coterie_learning.kinds import Resources
from coterie_learning.merge.krum import Krum
from coterie_learning.merge.trusted_root import TrustedRoot
from coterie_learning.plan import read_plan
from coterie_learning.tally import Tally, tally
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded, stored

BASE: Tensors = {"w": np.zeros(4, np.float32)}


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def believed(root: Tensors, *updates: Tensors) -> tuple[Tally, Tensors]:
    specs, opens = stored(BASE, updates, Float32Codec())
    _, (own,) = stored(BASE, [root], Float32Codec())
    found = tally(TrustedRoot(), specs, opens, [1] * len(updates), root=own)
    counted = [CountedUpdate(opened, weight) for opened, weight in zip(opens, found.weights, strict=True) if weight]
    if not counted:
        return found, BASE
    return found, fold_in_memory(TrustedRoot(), specs, counted, BASE, None, Aggregation(share=found.share)).parameters


def test_three_updates_by_hand() -> None:
    """Along the root, at 60 degrees to it, and against it: trusts of 1, 1/2 and 0; lengths become the root's, 2."""
    aside = 3 * np.array([0.5, np.sqrt(0.75)])
    found, version = believed(of(2, 0, 0, 0), of(5, 0, 0, 0), of(*aside, 0, 0), of(-1, 0, 0, 0))
    np.testing.assert_allclose(version["w"], [(2 + 0.5 * 1) / 1.5, 0.5 * np.sqrt(3) / 1.5, 0, 0], rtol=1e-5)
    assert found.weights[2] == 0


def test_updates_that_all_equal_the_root_are_averaged() -> None:
    """The degenerate case: the mean."""
    _, version = believed(of(1, 2, 3, 4), *[of(1, 2, 3, 4)] * 3)
    np.testing.assert_allclose(version["w"], [1, 2, 3, 4], rtol=1e-6)


def test_a_majority_against_the_root_is_left_out() -> None:
    """The control: by votes, as Krum takes them, the majority wins."""
    honest, hostile = [of(1, 1.1, 0.9, 1), of(0.9, 1, 1, 1.1)], [of(-9, -9, -9, -9.0)] * 5
    _, version = believed(of(1, 1, 1, 1), *honest, *hostile)
    assert (version["w"] > 0.8).all()
    assert (folded(Krum(), BASE, [*honest, *hostile]).parameters["w"] < 0).all()


def test_where_nobody_points_its_way_nothing_is_merged() -> None:
    found, _ = believed(of(1, 0, 0, 0), of(-1, 0, 0, 0), of(0, 0, 0, 0))
    assert found.weights == [0, 0]


def test_a_root_that_learned_something_else_misleads() -> None:
    """The negative control: trust is in the root samples alone."""
    _, version = believed(of(-1, 0.1, 0, 0), *[of(1, 0.5, 0, 0)] * 9, of(-1, 0, 0, 0))
    assert version["w"][0] < 0


@pytest.mark.parametrize(
    ("plan", "resources", "code"),
    [
        ({}, Resources(cloud_data=False, teacher_problem=None), "plan.needs_cloud_data"),
        ({"local": {"kind": "per_fedavg"}}, None, "plan.root_cannot_learn"),
        ({"local": {"kind": "shared_body"}}, None, "plan.root_cannot_learn"),
        ({"local": {"kind": "prox"}}, Resources(cloud_data=True, teacher_problem=None), None),
    ],
)
def test_it_needs_samples_and_a_way_to_learn_from_them(
    plan: dict[str, object], resources: Resources | None, code: str | None
) -> None:
    read = read_plan({"merge": {"kind": "trusted_root"}, **plan})
    reason = read.merge.misfit(read, None, resources)
    assert (None if reason is None else reason.code) == code
