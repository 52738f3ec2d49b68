"""What a merge remembers lies beside its version: it is passed on, rolled back and exported with it."""

import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from msgspec import UNSET, UnsetType

from coterie.cloud.averaging_job import MergeArguments, MergeResult
from coterie.core.identity import verify_key
from coterie.federations.models import Federation
from coterie.federations.services import finish_federation
from coterie.registry.archive import archive
from coterie.registry.content import BLOBS
from coterie.registry.models import ModelVersion, Role
from coterie.registry.selectors import device_blob, signed_manifest
from coterie.registry.services import roll_back
from coterie.rounds.models import Round
from coterie_learning.codec.int8 import Int8
from coterie_learning.merge import Merge
from coterie_learning.merge.scaffold import Scaffold
from coterie_learning.plan import MERGE
from coterie_learning.server_state import broadcast_state
from coterie_wire.bundle import BlobRef, verify_manifest
from coterie_wire.tensors import Tensors, decode_tensors, read_header
from tests.coterie.world import (
    MODEL,
    START,
    ScriptedDevice,
    fleet_of,
    in_this_process,
    later,
    make_device,
    make_federation,
    make_pair,
    make_version,
    merge_round,
    parameters,
)
from tests.coterie_learning.merge.folding import folded
from tests.coterie_learning.merge.remembering import Remembering

pytestmark = pytest.mark.django_db

Merger = Callable[[MergeArguments, object], MergeResult]
DEVICES = 3


@pytest.fixture(autouse=True)
def _a_kind_that_remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: dict[str, type[Merge]] = {**MERGE.kinds, "remembering": Remembering}
    monkeypatch.setattr(MERGE, "kinds", kinds)


class Fleet:
    """A federation of devices whose updates depend on the round's number alone."""

    def __init__(
        self, slug: str = "pair", devices: Sequence[ScriptedDevice] = (), *, plan: dict[str, object] | None = None
    ) -> None:
        pair = make_pair(slug)
        make_version(pair)
        plan = plan or {"merge": {"kind": "remembering"}}
        self.federation = make_federation(pair, plan=plan, target_updates=DEVICES, min_updates=DEVICES, pause_s=0)
        self.devices = devices or fleet_of(DEVICES)
        self.at_s = 0.0

    def collect(self, number: int) -> Round:
        """A round whose updates are in."""
        assignments: dict[int, str] = {}
        while len(assignments) < DEVICES:
            self.at_s += 1
            for place, device in enumerate(self.devices):
                directive = device.check_in(later(self.at_s))
                if directive.assignment is not None:
                    assignments[place] = directive.assignment.assignment
        for place, assignment in assignments.items():
            self.devices[place].deliver(assignment, later(self.at_s), seed=10 * number + place)
        for device in self.devices:
            device.check_in(later(self.at_s))
        return Round.objects.get(state="merging")

    def merge(self, round_: Round, merger: Merger = in_this_process) -> ModelVersion:
        self.at_s += 60  # a lease of a worker that was killed has ended
        merge_round(round_, clock=lambda: later(self.at_s), merger=merger)
        assert round_.result_version is not None
        return round_.result_version

    def hold(self, number: int) -> ModelVersion:
        return self.merge(self.collect(number))


def read(version: ModelVersion) -> Tensors:
    with BLOBS.open(version.parameters_id) as file:
        return decode_tensors(file.read(), expected=MODEL.version)


def sent(seed: int) -> Tensors:
    """What a device's update stands for."""
    return Int8().decode(Int8().encode(parameters(seed), seed=seed).payload, expected=MODEL.parameters)


def expected(rounds: list[int]) -> list[Tensors]:
    """The same rounds in memory."""
    base, state, versions = parameters(0), None, []
    for number in rounds:
        updates = [sent(10 * number + place) for place in range(DEVICES)]
        found = folded(Remembering(), base, updates, state=state)
        base, state = found.parameters, found.state
        versions.append(base)
    return versions


@pytest.mark.long
def test_the_next_merge_goes_on_from_what_the_last_remembered() -> None:
    fleet = Fleet()
    versions = [fleet.hold(number) for number in (1, 2, 3)]
    for version, numbers in zip(versions, expected([1, 2, 3]), strict=True):
        for name, tensor in read(version).items():
            np.testing.assert_allclose(tensor, numbers[name], rtol=0, atol=1e-6)
    with BLOBS.open(versions[-1].server_state_id) as file:
        header = read_header(file.read())
    assert header.metadata == {"merge": "remembering", "notes": '{"rounds":3}'}
    assert set(header.specs) == {"step/weight", "step/bias"}


@pytest.mark.long
def test_what_a_merge_sends_travels_with_assignments_and_knows_the_fleet() -> None:
    make_device("absent")
    fleet = Fleet(plan={"local": {"kind": "scaffold"}, "merge": {"kind": "scaffold"}})
    first = fleet.collect(1)
    assert first.merge is not None and first.merge.fleet == DEVICES + 1
    assert signed_state(first.base_version_id) is UNSET, "before the first merge there is nothing to send"
    version = fleet.merge(first)
    assert version.server_state is not None
    with BLOBS.open(version.server_state.pk) as file:
        control = broadcast_state(file.read(), MODEL.parameters)["control"]
    updates = [sent(10 + place) for place in range(DEVICES)]
    expected = folded(Scaffold(), parameters(0), updates, fleet=DEVICES + 1).state.tensors["control"]
    for name, tensor in expected.items():
        np.testing.assert_allclose(control[name], tensor, atol=1e-6)
    assert signed_state(version.pk) == version.server_state.reference()
    assert device_blob(version.server_state.pk) == version.server_state
    messages = []
    while not messages:
        fleet.at_s += 1
        directives = [device.check_in(later(fleet.at_s)) for device in fleet.devices]
        messages = [found.assignment for found in directives if found.assignment is not None]
    assert messages[0].manifest == signed_manifest(version.pk, with_state=True) != signed_manifest(version.pk)


def signed_state(version: UUID) -> BlobRef | UnsetType:
    return verify_manifest(signed_manifest(version, with_state=True), verify_key()).server_state


def test_a_roll_back_takes_the_state_along() -> None:
    fleet = Fleet()
    first = fleet.hold(1)
    fleet.hold(2)
    roll_back(pair=first.pair, role=Role.DEVICE, to=first.pk, now=later(fleet.at_s))
    again = fleet.hold(3)
    for name, tensor in read(again).items():
        np.testing.assert_allclose(tensor, expected([1, 3])[-1][name], rtol=0, atol=1e-6)


def test_the_state_is_exported_with_its_version() -> None:
    version = Fleet().hold(1)
    with (
        archive(version, now=START) as file,
        zipfile.ZipFile(file) as members,
        BLOBS.open(version.server_state_id) as state,
    ):
        assert members.read("server-state.safetensors") == state.read()


def test_a_damaged_state_is_never_merged() -> None:
    fleet = Fleet()
    fleet.hold(1)
    round_ = fleet.collect(2)

    def damages(arguments: MergeArguments, cancel: object) -> MergeResult:
        assert arguments.server_state is not None
        path = Path(arguments.server_state.path)
        sound = path.read_bytes()
        path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
        try:
            return in_this_process(arguments, cancel)
        finally:
            path.write_bytes(sound)  # blobs are shared by the tests of a process

    merge_round(round_, clock=lambda: later(fleet.at_s + 1), merger=damages)
    assert round_.reason_code == "merge.blob_damaged"


class PowerCut(Exception):
    """A worker dies."""


@pytest.mark.long
def test_killed_in_every_merge_states_and_parameters_are_those_of_an_undisturbed_run() -> None:
    def dies(arguments: MergeArguments, cancel: object) -> MergeResult:
        in_this_process(arguments, cancel)
        raise PowerCut

    def run(fleet: Fleet, *, killed: bool) -> list[tuple[str, str]]:
        found = []
        for number in (1, 2, 3):
            round_ = fleet.collect(number)
            if killed:
                with pytest.raises(PowerCut):
                    fleet.merge(round_, dies)
            version = fleet.merge(round_)
            found.append((version.parameters_id, version.server_state_id))
        finish_federation(federation=fleet.federation, now=START)
        return found

    fleet = Fleet()
    undisturbed = run(fleet, killed=False)
    assert len(set(undisturbed)) == 3
    Federation.objects.update(slug="before")  # leaves its name to the next
    assert run(Fleet("again", fleet.devices), killed=True) == undisturbed
