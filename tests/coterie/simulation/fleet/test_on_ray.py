"""Runs on Ray, where that is installed (`pip install 'coterie[ray]'`); it is no part of the locked packages."""

from importlib.util import find_spec

import pytest

from coterie.simulation.errors import MissingPackage
from coterie.simulation.fleet.on_ray import OnRay
from coterie.simulation.fleet.sweep import parse_dimension, sweep
from coterie.simulation.progress import unreported
from tests.coterie.simulation.fleet.fleets import run

HAS_RAY = find_spec("ray") is not None


@pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed: pip install 'coterie[ray]' to try its runs")
@pytest.mark.filterwarnings("default")  # Ray's own
def test_a_sweep_on_ray_finds_the_same_bytes() -> None:
    rates = parse_dimension("local.learning_rate=0.0001,0.1")
    here = sweep(run(), [rates], search="grid", seeds=2, report=unreported)
    there = sweep(run(), [rates], search="grid", seeds=2, report=unreported, runner=OnRay())
    assert there.json() == here.json()


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_without_ray_it_is_said_what_to_install() -> None:
    with pytest.raises(MissingPackage, match=r"coterie\[ray\]"):
        OnRay().outcomes([run()], lambda _: None)
