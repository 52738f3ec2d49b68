"""Means, deciles and the worst, by hand and against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.fleet_evaluation.summary import DECILES, ReportedFigures, by_tag, quantile, summarise


def test_means_are_of_samples_and_spreads_of_devices() -> None:
    found = summarise([ReportedFigures(10, 1.0, 0.5, ()), ReportedFigures(30, 3.0, 0.9, ())])
    assert found is not None and found.accuracies is not None
    assert (found.devices, found.samples) == (2, 40)
    assert (found.loss, found.accuracy) == (pytest.approx(2.5), pytest.approx(0.8))
    assert (found.losses.mean, found.losses.worst) == (2.0, 3.0)
    assert (found.accuracies.mean, found.accuracies.worst) == (0.7, 0.5)
    assert found.accuracies.deciles == pytest.approx(np.linspace(0.54, 0.86, 9))


def test_a_task_without_right_and_wrong_has_losses_alone() -> None:
    found = summarise([ReportedFigures(10, 1.0, None, ())])
    assert found is not None
    assert (found.accuracy, found.accuracies) == (None, None)
    assert found.losses.deciles == (1.0,) * 9
    assert summarise([]) is None


def test_a_device_counts_in_each_of_its_tags() -> None:
    told = [
        ReportedFigures(10, 1.0, 0.5, ("a", "b")),
        ReportedFigures(10, 1.0, 0.7, ("b",)),
        ReportedFigures(10, 1.0, 0.1, ()),
    ]
    found = by_tag(told)
    assert {tag: (summary.devices, summary.accuracy) for tag, summary in found.items()} == {
        "a": (1, pytest.approx(0.5)),
        "b": (2, pytest.approx(0.6)),
    }


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_quantiles_are_those_of_numpy(values: list[float]) -> None:
    ordered = sorted(values)
    for share in DECILES:
        assert quantile(ordered, share) == pytest.approx(float(np.quantile(ordered, share)))
