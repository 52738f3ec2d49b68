"""What devices remember is what was put last, at the moment that is gone back to, whatever was written since."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.simulation.errors import DamagedSimulation
from coterie.simulation.fleet import device_states
from coterie.simulation.fleet.device_states import DeviceStates

DEVICES = 4
States = Mapping[str, bytes]


def all_of(found: DeviceStates) -> list[States]:
    return [found.of(device) for device in range(DEVICES)]


@given(
    puts=st.lists(
        st.tuples(
            st.integers(0, DEVICES - 1), st.dictionaries(st.sampled_from(["local", "own"]), st.binary(max_size=9))
        ),
        max_size=30,
    ),
    noted=st.integers(0, 30),
    spare=st.sampled_from([0, 20, 1000]),
)
def test_a_moment_can_be_gone_back_to(
    puts: list[tuple[int, States]], noted: int, spare: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("states")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_states, "SPARE_BYTES", spare)
        found = DeviceStates.nothing(directory, devices=DEVICES)
        wanted: list[States] = [{}] * DEVICES
        moment, then = found.note(), list(wanted)
        for place, (device, states) in enumerate(puts):
            if place == noted:
                moment, then = found.note(), list(wanted)
            found.put(device, states)
            wanted[device] = states
            assert all_of(found) == wanted
        found.close()
        again = DeviceStates.at(directory, moment)
        assert all_of(again) == then
        again.close()


def test_the_file_is_bounded_by_what_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_states, "SPARE_BYTES", 1000)
    found = DeviceStates.nothing(tmp_path, devices=DEVICES)
    for number in range(1000):
        found.put(number % DEVICES, {"own": bytes(100)})
    found.note()
    found.forget_others()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 1000 + 2 * DEVICES * 150 + 150
    found.close()


def test_a_file_that_is_short_is_refused(tmp_path: Path) -> None:
    found = DeviceStates.nothing(tmp_path, devices=DEVICES)
    found.put(0, {"own": bytes(100)})
    moment = found.note()
    found.close()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedSimulation, match="remember"):
        DeviceStates.at(tmp_path, moment)
    path.unlink()
    with pytest.raises(DamagedSimulation):
        DeviceStates.at(tmp_path, moment)
