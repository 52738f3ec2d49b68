"""A fleet as one file: whoever performs a run from it finds what this process finds."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie.child.job import Progress
from coterie.cloud.fleet_run_job import CannotRun, FleetRunArguments, RunRequest
from coterie.cloud.simulation_job import agent_code
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.profile import read_profile, shipped_profiles
from coterie.simulation.fleet.run_options import parse_drift
from coterie.simulation.fleet.shared import decode_fleet, encode_fleet, run_shared, run_stored, wanted_of
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.fleet.splits.by import By
from coterie.simulation.progress import unreported
from coterie_wire.tensors import Array, encode_tensors, read_header, view_tensors
from tests.coterie.simulation.fleet.fleets import run, samples
from tests.coterie.simulation.fleet.test_on_clock import TAUGHT, fleet_of


def by_user() -> FleetRun:
    """Users have names, and come in another order than their samples."""
    data, columns = samples()
    names = np.array([f"user-{9 - number}" for number in columns["user"]])
    return replace(run(), samples=type(samples())(data, {"user": names}), split=By(), devices=None, each=None)


def on_phones() -> FleetRun:
    return replace(run("cnn", executor="exact", rounds=2), fleet=read_profile(next(iter(shipped_profiles()))))


def with_cloud() -> FleetRun:
    return fleet_of(TAUGHT)


def over_time() -> FleetRun:
    """Samples come in the order of a column of words, and devices help each other."""
    data, columns = samples()
    days = np.array([f"day {number:03}" for number in np.random.default_rng(5).permutation(len(data.labels))])
    helped = run(pace={"kind": "alone"}, help={"kind": "cartel"})
    given = type(samples())(data, {**columns, "day": days})
    return replace(helped, samples=given, split=By(), devices=None, each=None, drift=parse_drift("by:day"), days=0.2)


@pytest.mark.parametrize("made", [run, by_user, on_phones, over_time, with_cloud])
def test_a_run_from_the_file_finds_the_same_bytes(made: Callable[[], FleetRun]) -> None:
    fleet = made()
    here = simulate_fleet(fleet, report=unreported)
    found = run_shared(encode_fleet(fleet), msgspec.json.encode(wanted_of(fleet)))
    assert msgspec.json.decode(found, type=FleetOutcome).json() == here.json()


def test_the_file_is_of_all_runs_and_of_no_other_fleet() -> None:
    one = run()
    assert encode_fleet(replace(one, seed=7, rounds=9, workers=2, evaluate_every=3)) == encode_fleet(one)
    assert encode_fleet(replace(one, devices=41)) != encode_fleet(one)
    other = replace(one, seed=7, rounds=9, evaluate_every=3, ends_s=900.0)
    assert wanted_of(decode_fleet(encode_fleet(one), wanted_of(other))) == wanted_of(other)


def test_the_file_has_what_a_cloud_model_has_learned() -> None:
    given = with_cloud()
    assert given.cloud is not None
    taught = replace(given, cloud=given.cloud._replace(parameters=b"learned"))
    again = decode_fleet(encode_fleet(taught), wanted_of(taught))
    assert again.cloud is not None and again.cloud.parameters == b"learned"


def arguments(fleet: bytes, directory: Path, wanted: RunRequest) -> FleetRunArguments:
    (directory / "fleet").write_bytes(fleet)
    (directory / "keep").mkdir(exist_ok=True)
    return FleetRunArguments(str(directory / "fleet"), wanted, str(directory / "keep"), agent_code())


def test_a_stored_run_tells_how_far_it_is(tmp_path: Path) -> None:
    one, told = run(), list[Progress]()
    found = run_stored(arguments(encode_fleet(one), tmp_path, wanted_of(one)), told.append)
    outcome = msgspec.json.decode(found.outcome, type=FleetOutcome)
    assert outcome.json() == simulate_fleet(one, report=unreported).json()
    assert [(one.done, one.total) for one in told] == [(1, 3), (2, 3), (3, 3)]


def changed(**tensors: Array) -> bytes:
    content = encode_fleet(run())
    header = read_header(content)
    found = dict(view_tensors(content, header, expected=tuple(header.specs.values())))
    return encode_tensors({**found, **tensors})


SPOILT: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "cut off": lambda: encode_fleet(run())[:-1],
    "no fleet": lambda: encode_tensors({"told": np.zeros(2, np.uint8)}),
    "no classes": lambda: changed(labels=np.full(400, 99)),
    "no samples": lambda: changed(labels=np.zeros(0, np.int64)),
    "other samples": lambda: changed(**{"input/x": np.zeros((400, 1, 8, 7), np.float32)}),
}


@pytest.mark.parametrize("spoilt", SPOILT.values(), ids=SPOILT)
def test_what_is_no_fleet_is_refused(spoilt: Callable[[], bytes], tmp_path: Path) -> None:
    content, wanted = spoilt(), wanted_of(run())
    with pytest.raises(DoesNotFit):
        decode_fleet(content, wanted)
    with pytest.raises(CannotRun):
        run_stored(arguments(content, tmp_path, wanted), lambda _: None)
