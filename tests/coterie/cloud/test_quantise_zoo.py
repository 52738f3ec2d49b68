"""Every model of the zoo has an int8 form that runs and answers as it does, or a reason why it has none."""

from itertools import count
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tests.zoo.models import SMALL, ZOO
from tests.zoo.quantised import quantised

pytestmark = pytest.mark.xdist_group("compile")
REASONS = {
    "quantise.loses_too_much",
    "quantise.does_not_pay",
    "quantise.does_not_run",
    "quantise.nothing_to_do",
}
NAMES = ("mlp", "cnn_depthwise", "gru", "recommender")
"""One of each kind, narrow, where there is no time for all."""


def check(name: str, directory: Path, *, small: bool) -> None:
    """By a clock on which every run takes as long, so that sizes and answers decide."""
    arguments, result = quantised((SMALL if small else ZOO)[name], directory, clock=count().__next__)
    assert (result.offered is None) == (result.refused is not None)
    if result.refused is not None:
        assert result.refused.code in REASONS and result.refused.sentence
    for tried in result.tried:
        assert tried.refused is None or tried.refused.code in REASONS
        assert tried.refused is not None or (tried.measured is not None and tried.loss_points is not None)
    if result.offered is None:
        return
    (form,) = [tried for tried in result.tried if tried.method == result.offered]
    assert form.loss_points is not None and form.loss_points <= arguments.max_loss_points
    session = onnxruntime.InferenceSession(Path(arguments.output).read_bytes())
    with np.load(arguments.dataset) as samples:
        given = {spec.name: samples[spec.name][:1] for spec in arguments.model.inputs}
    (found,) = session.run(None, given)
    assert found.shape == (1, *arguments.model.output.shape)
    assert np.isfinite(found).all()


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_narrow_model_of_each_kind_has_a_form_or_a_reason(name: str, tmp_path: Path) -> None:
    check(name, tmp_path, small=True)


@pytest.mark.zoo
@pytest.mark.parametrize("name", ZOO)
def test_a_model_in_a_realistic_size_has_a_form_or_a_reason(name: str, tmp_path: Path) -> None:
    check(name, tmp_path, small=False)
