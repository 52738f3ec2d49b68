"""How samples are divided among devices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.population import Divided, Drawn
from coterie.simulation.fleet.run_options import SPLITS, parse_split

LABELS = np.random.default_rng(0).integers(0, 10, 2000)
COLUMNS = {"user": np.arange(2000) % 7}


@given(st.sampled_from(["iid", "dirichlet:0.3", "pathological:2"]), st.integers(1, 60), st.integers(0, 99))
def test_every_sample_is_one_devices(text: str, devices: int, seed: int) -> None:
    owners = parse_split(text).owners(LABELS, {}, devices=devices, rng=np.random.default_rng(seed))
    population = Divided.by(owners, devices=devices)
    rows = np.concatenate([population.rows(device) for device in range(devices)])
    assert sorted(rows.tolist()) == list(range(len(LABELS)))
    assert population.sizes.tolist() == [len(population.rows(device)) for device in range(devices)]


def classes_seen(text: str) -> float:
    """Classes that make half of a device's samples, on average."""
    owners = parse_split(text).owners(LABELS, {}, devices=20, rng=np.random.default_rng(1))
    shares = [np.sort(np.bincount(LABELS[owners == one], minlength=10))[::-1] for one in range(20)]
    return float(np.mean([(np.cumsum(one) < one.sum() / 2).sum() + 1 for one in shares]))


def test_devices_are_as_unlike_as_is_asked() -> None:
    assert classes_seen("dirichlet:0.1") < classes_seen("dirichlet:1") < classes_seen("dirichlet:1000")
    assert classes_seen("dirichlet:1000") == pytest.approx(classes_seen("iid"), abs=1)
    owners = parse_split("pathological:2").owners(LABELS, {}, devices=20, rng=np.random.default_rng(1))
    assert max(len(np.unique(LABELS[owners == one])) for one in range(20)) <= 4


def test_by_a_column_each_value_is_a_device() -> None:
    owners = parse_split("by:user").owners(LABELS, COLUMNS, devices=None, rng=np.random.default_rng(0))
    assert owners.tolist() == COLUMNS["user"].tolist()
    first = parse_split("by:user").owners(LABELS, COLUMNS, devices=3, rng=np.random.default_rng(0))
    assert set(first.tolist()) == {-1, 0, 1, 2}
    assert len(Divided.by(first, devices=3).order) == (COLUMNS["user"] < 3).sum()


@pytest.mark.parametrize("text", ["iid", "dirichlet:0.3", "pathological:3"])
def test_a_device_draws_the_same_samples_however_many_devices_there_are(text: str) -> None:
    def drawn(devices: int) -> Drawn:
        mixes = parse_split(text).mixes(LABELS, classes=10, devices=devices, rng=np.random.default_rng(5))
        return Drawn.from_mixes(mixes, LABELS, each=50, seed=9)

    few, many = drawn(5), drawn(500)
    for device in range(5):
        assert few.rows(device).tolist() == many.rows(device).tolist()
    if text == "pathological:3":
        assert all(len(np.unique(LABELS[many.rows(device)])) <= 3 for device in range(500))
    seen = np.bincount(LABELS[np.concatenate([many.rows(device) for device in range(500)])], minlength=10) / 25_000
    assert seen == pytest.approx(np.bincount(LABELS) / 2000, abs=0.03)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("dirchlet:1", "dirichlet:ALPHA"),
        ("dirichlet:0", "does not take '0'"),
        ("pathological:x", "does not take 'x'"),
        ("iid:3", "takes nothing"),
        ("by:nobody", "no column 'nobody'.*user"),
    ],
)
def test_what_is_no_split_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(DoesNotFit, match=wrong):
        parse_split(text).owners(LABELS, COLUMNS, devices=None, rng=np.random.default_rng(0))


@pytest.mark.parametrize("text", ["iid", "dirichlet", "pathological"])
def test_how_many_devices_must_be_said(text: str) -> None:
    with pytest.raises(DoesNotFit, match="--devices"):
        parse_split(text).owners(LABELS, {}, devices=None, rng=np.random.default_rng(0))


def test_there_is_a_kind_for_each_way() -> None:
    assert set(SPLITS.kinds) == {"iid", "dirichlet", "pathological", "by"}
