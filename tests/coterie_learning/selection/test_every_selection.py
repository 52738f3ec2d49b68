"""Every kind of slot `selection`: what it is given in any order, and whom it leaves out for how long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.plan import SELECTION
from coterie_learning.random import derive_seed
from coterie_learning.selection import DeviceFacts, Selection
from coterie_learning.selection._fair import Fair

KINDS = [pytest.param(kind(), id=name) for name, kind in sorted(SELECTION.kinds.items())]
FAIR = [pytest.param(kind(), id=name) for name, kind in sorted(SELECTION.kinds.items()) if issubclass(kind, Fair)]
HISTORIES = st.builds(
    DeviceFacts,
    device=st.text("abcdef", min_size=1, max_size=4),
    idle_rounds=st.none() | st.integers(0, 300),
    loss=st.none() | st.floats(0, 1e6),
    samples=st.integers(0, 10**6),
    train_s=st.none() | st.floats(0, 1e6),
)
FLEETS = st.lists(HISTORIES, max_size=30, unique_by=lambda known: known.device)


@pytest.mark.parametrize("kind", KINDS)
@given(fleet=FLEETS, data=st.data(), count=st.integers(0, 35), number=st.integers(1, 500), seed=st.integers(0, 2**53))
def test_it_chooses_as_many_as_it_should_in_any_order(
    kind: Selection, fleet: list[DeviceFacts], data: st.DataObject, count: int, number: int, seed: int
) -> None:
    chosen = kind.choose(fleet, count=count, round_number=number, seed=seed)
    assert len(chosen) == len(set(chosen)) == min(count, len(fleet))
    assert set(chosen) <= {known.device for known in fleet}
    shuffled = data.draw(st.permutations(fleet))
    assert kind.choose(shuffled, count=count, round_number=number, seed=seed) == chosen


@pytest.mark.parametrize("kind", FAIR)
def test_every_device_is_asked_within_the_rounds_that_it_promises(kind: Fair) -> None:
    """Unlike devices that could always take part, of which it would otherwise never ask some."""
    devices, count = 40, 4
    last: dict[str, int] = {}
    most = 0
    for number in range(1, 200):
        fleet = [
            DeviceFacts(
                name,
                number - last[name] if name in last else None,
                loss=float(index),
                samples=10,
                train_s=100.0 - index,
            )
            for index, name in enumerate(f"device-{index}" for index in range(devices))
        ]
        chosen = kind.choose(fleet, count=count, round_number=number, seed=derive_seed(1, number))
        last.update(dict.fromkeys(chosen, number))
        most = max([most, *(number - last.get(known.device, 0) for known in fleet)])
    assert most <= kind.fair_rounds + devices // count
