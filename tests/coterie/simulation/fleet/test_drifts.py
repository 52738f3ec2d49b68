"""In which order samples come to devices, and when."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.evaluation.datasets import Dataset
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.arrivals import Arrivals
from coterie.simulation.fleet.drifts import Ordered
from coterie.simulation.fleet.population import Divided
from coterie.simulation.fleet.run_options import parse_drift
from coterie.simulation.fleet.samples import FleetSamples

LABELS = np.random.default_rng(0).integers(0, 5, 300)
COLUMNS = {"time": np.random.default_rng(1).integers(0, 50, 300)}
DRIFTS = ["steady", "introduced:0.5", "introduced:1", "by:time"]


def ordered(text: str, rows: np.ndarray, *, batch: int, seed: int) -> Ordered:
    return parse_drift(text).order(rows, LABELS, COLUMNS, batch=batch, rng=np.random.default_rng(seed))


@given(st.sampled_from(DRIFTS), st.lists(st.integers(0, 299)), st.integers(1, 20), st.integers(0, 99))
def test_each_sample_of_a_device_comes_once(text: str, rows: list[int], batch: int, seed: int) -> None:
    found = ordered(text, np.array(rows, np.int64), batch=batch, seed=seed)
    assert sorted(found.rows.tolist()) == sorted(rows)


@given(st.lists(st.integers(0, 299), min_size=20), st.integers(1, 8), st.integers(0, 99))
def test_a_class_is_new_where_data_change_and_not_before(rows: list[int], batch: int, seed: int) -> None:
    found = ordered("introduced:1", np.array(rows, np.int64), batch=batch, seed=seed)
    if found.changes_at is None:
        return
    assert 0 < found.changes_at <= len(rows) // 2 and found.changes_at % batch == 0
    before, after = (set(LABELS[part].tolist()) for part in np.split(found.rows, [found.changes_at]))
    assert len(after - before) >= 1


def test_as_many_devices_change_as_is_asked() -> None:
    rows = np.arange(300)
    changed = [ordered("introduced:0.3", rows, batch=10, seed=seed).changes_at is not None for seed in range(400)]
    assert 0.2 < np.mean(changed) < 0.4
    alike = rows[LABELS == 2]
    assert ordered("introduced:1", alike, batch=4, seed=0).changes_at is None, "there is nothing to introduce"


def test_by_a_column_the_smallest_comes_first_and_equal_ones_as_they_stand() -> None:
    found = ordered("by:time", np.random.default_rng(3).permutation(300), batch=10, seed=0)
    assert found.rows.tolist() == sorted(range(300), key=lambda row: (COLUMNS["time"][row], row))
    with pytest.raises(DoesNotFit, match=r"no column 'day'.*there is time"):
        ordered("by:day", np.arange(3), batch=10, seed=0)


@pytest.mark.parametrize("text", ["", "sudden", "steady:1", "introduced:0", "introduced:many"])
def test_what_is_no_drift_is_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(DoesNotFit, match=r"by:COLUMN_NAME, introduced:SHARE, steady|takes nothing|does not take"):
        parse_drift(text)


@given(st.lists(st.integers(0, 25), min_size=1, max_size=8).filter(any), st.integers(1, 6), st.integers(0, 9))
def test_batches_come_whole_in_their_order_and_evenly(sizes: list[int], batch: int, seed: int) -> None:
    count = sum(sizes)
    data = Dataset({"x": np.arange(count, dtype=np.float32)}, LABELS[:count])
    population = Divided.by(np.repeat(np.arange(len(sizes)), sizes), devices=len(sizes))
    found = Arrivals.drawn(FleetSamples(data, {}), population, parse_drift("introduced:0.5"), batch=batch, seed=seed)
    for device, batches in enumerate(found.batches()):
        came = [batches[tick].inputs["x"].astype(int).tolist() for tick in range(len(batches))]
        assert [row for one in came for row in one] == found.rows[device].tolist()
        full = [one for one in came if one]
        assert all(len(one) == batch for one in full[:-1])
        apart = np.diff([tick for tick, one in enumerate(came) if one])
        assert not len(apart) or apart.max() - apart.min() <= 1
    for device, tick in found.shifts:
        before = [label for at in range(tick) for label in found.batches()[device][at].classes.tolist()]
        assert set(found.batches()[device][tick].classes.tolist()) and before
        new = set(LABELS[found.rows[device]].tolist()) - set(before)
        assert new, "a class comes only then"
