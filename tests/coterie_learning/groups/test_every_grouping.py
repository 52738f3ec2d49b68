"""Every kind of slot `groups`: each model is in one group, the same models are divided the same way in any order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.groups import Groups
from coterie_learning.plan import GROUPS
from coterie_wire.tensors import Float32

every_kind = pytest.mark.parametrize("kind", GROUPS.kinds.values(), ids=list(GROUPS.kinds))
SAMPLES, CLASSES = 40, 4


def outputs(models: int, behaviours: int, *, seed: int) -> Float32:
    """Probabilities [models, samples, classes] of models that behave in so many ways, in turn."""
    generator = np.random.default_rng(seed)
    behaviour = 3 * generator.standard_normal((behaviours, SAMPLES, CLASSES))
    logits = behaviour[np.arange(models) % behaviours] + 0.5 * generator.standard_normal((models, SAMPLES, CLASSES))
    exponentials = np.exp(logits - logits.max(axis=2, keepdims=True))
    return (exponentials / exponentials.sum(axis=2, keepdims=True)).astype(np.float32)


@every_kind
@given(models=st.integers(0, 14), behaviours=st.integers(1, 4), seed=st.integers(0, 3))
@settings(max_examples=20, deadline=None)
def test_every_model_is_in_one_group_and_every_group_has_its_exemplar(
    kind: type[Groups], models: int, behaviours: int, seed: int
) -> None:
    found = kind().split(outputs(models, behaviours, seed=seed))
    assert len(found.labels) == models
    assert list(dict.fromkeys(found.labels)) == list(range(len(found.exemplars))), "numbered by their first model"
    assert [found.labels[exemplar] for exemplar in found.exemplars] == list(range(len(found.exemplars)))
    assert found.reason
    assert all(-1 <= silhouette <= 1 for silhouette in found.silhouettes.values())
    assert len(found.exemplars) <= 1 or kind.divides


@every_kind
def test_the_order_of_models_does_not_matter(kind: type[Groups]) -> None:
    shown, order = outputs(18, 3, seed=0), np.random.default_rng(1).permutation(18)
    straight, shuffled = (np.array(kind().split(models).labels) for models in (shown, shown[order]))
    together = straight[:, None] == straight
    np.testing.assert_array_equal(together[np.ix_(order, order)], shuffled[:, None] == shuffled)


@every_kind
def test_models_that_are_the_same_are_one_group(kind: type[Groups]) -> None:
    assert set(kind().split(np.repeat(outputs(1, 1, seed=0), 12, axis=0)).labels) == {0}
