"""Padding and mask."""

import numpy as np
import pytest

from coterie_agent.errors import AgentError
from coterie_agent.store.samples import StoredRow
from coterie_agent.training.batches import make_batch
from tests.coterie_agent.bundles import SPEC


def test_a_short_batch_is_padded_and_masked() -> None:
    rows = [StoredRow(1, np.array([1, 2, 3, 4], dtype=np.float32).tobytes(), 2)]
    batch = make_batch(rows, SPEC, size=2)
    assert batch.inputs["pixels"].tolist() == [[[1, 2], [3, 4]], [[0, 0], [0, 0]]]
    assert batch.target.tolist() == [2, 0]
    assert batch.sample_weight.tolist() == [1, 0]


def test_samples_of_another_width_are_named() -> None:
    with pytest.raises(AgentError, match="3 features, the model takes 4") as caught:
        make_batch([StoredRow(1, bytes(12), 0)], SPEC, size=2)
    assert caught.value.code == "data.does_not_fit"


def test_a_label_that_the_model_does_not_have_is_named() -> None:
    with pytest.raises(AgentError, match="a label is 3, the model's classes end at 2") as caught:
        make_batch([StoredRow(1, bytes(16), 3)], SPEC, size=2)
    assert caught.value.code == "data.does_not_fit"
