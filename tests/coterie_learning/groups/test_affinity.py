import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.groups.affinity import Affinity
from coterie_learning.groups.one import One
from coterie_learning.plan import parse_plan
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32

SAMPLES, CLASSES = 60, 6


def outputs(models: int, behaviours: int, *, seed: int = 0, noise: float = 1.0) -> Float32:
    """Probabilities of models that behave in so many ways, in turn, each a little differently."""
    generator = np.random.default_rng(seed)
    behaviour = 2.5 * generator.standard_normal((behaviours, SAMPLES, CLASSES))
    logits = behaviour[np.arange(models) % behaviours] + noise * generator.standard_normal((models, SAMPLES, CLASSES))
    exponentials = np.exp(logits - logits.max(axis=2, keepdims=True))
    return (exponentials / exponentials.sum(axis=2, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("behaviours", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_as_many_groups_as_behaviours_are_found_and_pure(behaviours: int, seed: int) -> None:
    grouping = Affinity().split(outputs(30, behaviours, seed=seed))
    assert grouping.labels == tuple(index % behaviours for index in range(30))
    assert [grouping.labels[exemplar] for exemplar in grouping.exemplars] == list(range(behaviours))
    assert grouping.reason.startswith(f"{behaviours} groups" if behaviours > 1 else "one group")


def test_models_are_further_from_other_groups_than_from_their_own() -> None:
    distances = np.array(Affinity().split(outputs(12, 3)).distances)
    assert distances.shape == (3, 3)
    assert np.allclose(distances, distances.T)
    assert (distances > np.diag(distances)[:, None]).sum() == 6


def test_there_are_no_more_groups_than_allowed() -> None:
    assert set(Affinity(most_groups=4).split(outputs(30, 6)).labels) <= set(range(4))


def test_a_stray_model_makes_no_group_of_its_own() -> None:
    strayed = outputs(21, 2)
    strayed[20] = outputs(1, 1, seed=9)[0]
    grouping = Affinity().split(strayed)
    assert grouping.labels[:20] == tuple(index % 2 for index in range(20))
    assert set(grouping.labels) == {0, 1}


def test_too_few_models_are_one_group() -> None:
    assert Affinity(least_members=3).split(outputs(5, 2)).labels == (0,) * 5


def test_equal_models_are_one_group() -> None:
    assert set(Affinity().split(np.repeat(outputs(1, 1), 12, axis=0)).labels) == {0}


def test_what_a_single_behaviour_varies_in_makes_no_groups() -> None:
    """Models that lie along a line divide with a fair silhouette wherever they are cut, and each half elsewhere."""
    sure = outputs(1, 1, noise=0)
    weights = np.random.default_rng(0).beta(4, 4, size=40)[:, None, None]
    along = (weights * sure + (1 - weights) / CLASSES).astype(np.float32)
    found = Affinity().split(along)
    assert max(found.silhouettes.values()) > Affinity().least_silhouette
    assert set(found.labels) == {0}
    assert "halves of the models are divided otherwise: prediction strength 0." in found.reason
    assert set(Affinity(least_strength=0).split(along).labels) != {0}


def test_models_that_differ_in_how_sure_they_are_alone_are_told_apart() -> None:
    """The negative control: a fleet that has trained for unlike times looks like several behaviours."""
    sure, unsure = outputs(1, 1, noise=0), np.full((1, SAMPLES, CLASSES), 1 / CLASSES, np.float32)
    mixed = np.concatenate([weight * sure + (1 - weight) * unsure for weight in np.repeat([0.05, 0.95], 8)])
    assert len(set(Affinity().split(mixed.astype(np.float32)).labels)) == 2


@settings(max_examples=10)
@given(st.integers(0, 12), st.integers(1, 3), st.integers(0, 5))
def test_every_model_has_a_group_and_groups_are_numbered_by_their_first(
    models: int, behaviours: int, seed: int
) -> None:
    grouping = Affinity(least_members=2).split(outputs(models, behaviours, seed=seed))
    assert len(grouping.labels) == models
    assert list(dict.fromkeys(grouping.labels)) == list(range(len(grouping.exemplars)))


def test_one_group_asks_nothing_of_the_outputs() -> None:
    assert One().split(outputs(3, 3)).labels == (0, 0, 0)


def test_groups_need_the_outputs_that_only_distillation_computes() -> None:
    parse_plan({"groups": {"kind": "affinity"}, "merge": {"kind": "distill"}})
    with pytest.raises(WireError, match="trains a cloud model") as refused:
        parse_plan({"groups": {"kind": "affinity"}})
    assert refused.value.code == "plan.invalid"
