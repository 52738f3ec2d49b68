"""When a supernode sheds neighbours, and when it takes them back."""

from pathlib import Path

import pytest

from coterie_agent.relay.load import SPARE_MEMORY_BYTES, Load, LoadWatch, measure_load
from coterie_wire.conditions import Conditions
from coterie_wire.relaying import Shedding

POWERED = Conditions(charging="yes", network="ethernet")
IDLE = Load(processes=0.5, memory_bytes=1 << 30, disk_bytes=1 << 30)
HELD = 3


class Watched:
    """A supernode of which the load can be set."""

    def __init__(self) -> None:
        self.load = IDLE
        self.watch = LoadWatch(measure=lambda: self.load, held=lambda: HELD, max_load=2.0, spare_bytes=1 << 20)

    def check(self, load: Load = IDLE, conditions: Conditions = POWERED) -> Shedding | None:
        self.load = load
        return self.watch.check(conditions)


def test_an_idle_one_keeps_all() -> None:
    assert Watched().check() is None


@pytest.mark.parametrize(
    ("load", "code"),
    [
        (IDLE._replace(processes=2.1), "relay.processors_loaded"),
        (IDLE._replace(memory_bytes=SPARE_MEMORY_BYTES - 1), "relay.memory_full"),
        (IDLE._replace(disk_bytes=(1 << 20) - 1), "relay.disk_full"),
    ],
)
def test_a_loaded_one_keeps_those_whose_updates_it_has(load: Load, code: str) -> None:
    found = Watched().check(load)
    assert found is not None
    assert (found.keep, found.reason.code) == (HELD, code)


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (Conditions(charging="no", network="ethernet"), "relay.on_battery"),
        (Conditions(charging="yes", network="metered"), "relay.metered"),
        (Conditions(charging="yes", network="none"), "relay.metered"),
    ],
)
def test_one_that_may_not_sum_any_more_keeps_nobody(conditions: Conditions, code: str) -> None:
    found = Watched().check(conditions=conditions)
    assert found is not None
    assert (found.keep, found.reason.code) == (0, code)


def test_it_does_not_waver_at_the_limit() -> None:
    watched = Watched()
    assert watched.check(IDLE._replace(processes=1.9)) is None
    first = watched.check(IDLE._replace(processes=2.1))
    assert first is not None
    assert watched.check(IDLE._replace(processes=1.9)) == first, "the same words, so that nobody is woken for them"
    assert watched.check(IDLE._replace(processes=1.5)) is None
    assert watched.check(IDLE._replace(processes=1.9)) is None


def test_load_is_measured_on_this_machine(tmp_path: Path) -> None:
    found = measure_load(tmp_path)
    assert found.processes >= 0
    assert min(found.memory_bytes, found.disk_bytes) > 0
