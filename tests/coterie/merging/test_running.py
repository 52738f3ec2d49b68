"""The end of a round: measured, published or abandoned, and taken up again after crashes."""

import errno
import io
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import msgspec
import numpy as np
import pytest
from django.db import OperationalError
from onnx import TensorProto, checker, helper
from rest_framework.test import APIClient

from coterie.child.errors import Crashed, DiskFull
from coterie.cloud.averaging_job import LeftOut, MergeArguments, MergeResult, NotFinite
from coterie.federations.models import Federation
from coterie.federations.services import change_terms, start_federation
from coterie.fleet.models import Device
from coterie.fleet.presence import settle
from coterie.fleet.services import resume_device
from coterie.merging import reasons
from coterie.merging.files import updates_of
from coterie.merging.models import Merge, Update
from coterie.merging.sweeping import sweep as find_overdue
from coterie.registry.content import BLOBS
from coterie.registry.models import Dataset, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.repairs.faults import Repair, find_faults
from coterie.rounds.advancing import advance_federation, sweep
from coterie.rounds.models import Round
from coterie.storage.interface import StorageUnavailable, store_of
from coterie.storage.watching import look
from coterie_learning.codec.int8 import Int8
from coterie_wire.errors import WireError
from tests.coterie.world import (
    ScriptedDevice,
    fleet_of,
    in_this_process,
    keep,
    later,
    make_dataset,
    make_federation,
    make_pair,
    make_version,
    merge_round,
    parameters,
)
from tests.own_kind import count_as_own_kind

pytestmark = pytest.mark.django_db
FED_AVG = {"kind": "fed_avg"}


def predict_graph() -> bytes:
    """logits = x · weightᵀ + bias."""
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4]),
        helper.make_tensor_value_info("param.weight", TensorProto.FLOAT, [3, 4]),
        helper.make_tensor_value_info("param.bias", TensorProto.FLOAT, [3]),
    ]
    node = helper.make_node("Gemm", ["x", "param.weight", "param.bias"], ["logits"], transB=1)
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3])
    model = helper.make_model(
        helper.make_graph([node], "predict", inputs, [output]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    checker.check_model(model)
    return bytes(model.SerializeToString())


def held_out(labels: np.ndarray) -> Dataset:
    """Samples that the model of `make_version` was never trained for."""
    rng = np.random.default_rng(5)
    file = io.BytesIO()
    np.savez(file, x=rng.standard_normal((len(labels), 4), dtype=np.float32), y=labels)
    return Dataset.objects.create(
        name="held out",
        blob=keep(file.getvalue()),
        rows=len(labels),
        inputs=[{"name": "x", "dtype": "float32", "shape": [4]}],
        classes=3,
        created_at=later(0),
    )


def merging_round(
    *, tolerance: float = 0.02, measured: bool = True, devices: int = 1, merge: Mapping[str, object] = FED_AVG
) -> Round:
    """A round whose updates are in; with `measured`, the base happens to be better than what they make of it."""
    pair = make_pair(predict=predict_graph())
    make_version(pair)
    dataset = held_out(np.arange(60) % 3) if measured else None
    make_federation(
        pair,
        held_out=dataset,
        tolerance=tolerance,
        plan={"merge": merge},
        target_updates=devices,
        min_updates=devices,
    )
    fleet = fleet_of(devices)
    for device in fleet:
        device.check_in(later(0))
    assignments = [_assignment(device) for device in fleet]
    for seed, (device, assignment) in enumerate(zip(fleet, assignments, strict=True)):
        device.deliver(assignment, later(1), seed=seed + 1)
    sweep(now=later(2))
    return Round.objects.get(state="merging")


def _assignment(device: ScriptedDevice) -> str:
    directive = device.check_in(later(0))
    assert directive.assignment is not None
    return directive.assignment.assignment


def merged(round_: Round, *, merger=in_this_process, at: float = 3) -> Round:
    merge_round(round_, clock=lambda: later(at), merger=merger)
    round_.refresh_from_db()
    return round_


def faults(at: float) -> dict[str, Repair]:
    return {repair.key.partition(":")[0]: repair for repair in find_faults(now=later(at))}


def claims(base: float, candidate: float):
    """A merger that measures what the test wants."""

    def merger(arguments: MergeArguments, cancel: object) -> MergeResult:
        result = in_this_process(arguments, cancel)
        assert result.base is not None and result.candidate is not None
        return msgspec.structs.replace(
            result,
            base=msgspec.structs.replace(result.base, accuracy=base),
            candidate=msgspec.structs.replace(result.candidate, accuracy=candidate),
        )

    return merger


class TestMeasure:
    def test_is_taken_of_both_models(self) -> None:
        round_ = merged(merging_round(tolerance=1.0))
        assert round_.state == "published"
        assert {"accuracy", "accuracy_before", "loss"} <= round_.metrics.keys()
        by_class = round_.result_version.metrics["class_accuracy"]
        assert np.mean(by_class) == pytest.approx(round_.metrics["accuracy"]), "there are as many samples of each class"
        confusion = round_.result_version.metrics["confusion"]
        wrong = sum(one["samples"] for one in confusion["mistakes"]) + confusion["others"]
        assert 1 - wrong / sum(confusion["samples"]) == pytest.approx(round_.metrics["accuracy"])
        assert round_.result_version.metrics == {**round_.metrics, "class_accuracy": by_class, "confusion": confusion}

    def test_keeps_a_worse_candidate_back(self) -> None:
        round_ = merged(merging_round(), merger=claims(0.9, 0.87))
        assert (round_.state, round_.reason_code) == ("abandoned", "merging.worse_than_champion")
        assert "0.8700" in round_.reason_sentence
        assert ModelVersion.objects.count() == 1
        assert champion(round_.federation.pair_id, Role.DEVICE) == round_.base_version

    @pytest.mark.parametrize(("base", "candidate"), [(0.9, 0.88), (0.5, 0.9), (0.0, 0.0)])
    def test_lets_through_what_is_within_the_tolerance(self, base: float, candidate: float) -> None:
        assert merged(merging_round(), merger=claims(base, candidate)).state == "published"

    def test_is_not_needed(self) -> None:
        assert merged(merging_round(measured=False)).state == "published"

    def test_keeps_no_version_back_that_answers_only_under_the_devices_own_layers(self) -> None:
        pair = make_pair(predict=predict_graph())
        make_version(pair)
        plan = {"local": {"kind": "shared_body", "personal": "bias"}}
        data = held_out(np.arange(60) % 3)
        make_federation(pair, held_out=data, plan=plan, target_updates=1, min_updates=1, over_selection=1)
        (device,) = fleet_of(1)
        assignment = _assignment(device)
        body = Int8().encode({"weight": parameters(1)["weight"]}, seed=1).payload
        device.send(assignment, body, device.offer(assignment, body, later(1)).offset, later(1))
        sweep(now=later(2))
        round_ = merged(Round.objects.get(state="merging"), merger=claims(0.9, 0.1))
        assert (round_.state, round_.metrics["accuracy"]) == ("published", 0.1)

    def test_takes_no_update_with_layers_that_stay_on_devices(self) -> None:
        pair = make_pair()
        make_version(pair)
        make_federation(
            pair, plan={"local": {"kind": "shared_body", "personal": "bias"}}, target_updates=1, min_updates=1
        )
        (device,) = fleet_of(1)
        with pytest.raises(WireError, match=r"expected float32 \[1\]"):
            device.deliver(_assignment(device), later(1), seed=1)


def held(federation: Federation, device: ScriptedDevice, *, at: float, accuracy: float) -> Round:
    """A round whose candidate is so accurate; the champion was at 0.9."""
    directive = device.check_in(later(at))
    assert directive.assignment is not None
    device.deliver(directive.assignment.assignment, later(at + 1), seed=int(at) + 1)
    sweep(now=later(at + 2))
    return merged(Round.objects.get(state="merging"), merger=claims(0.9, accuracy), at=at + 3)


class TestPatience:
    @pytest.fixture
    def federation(self) -> Federation:
        pair = make_pair(predict=predict_graph())
        make_version(pair)
        return make_federation(pair, held_out=held_out(np.arange(60) % 3), target_updates=1)

    @pytest.fixture
    def device(self) -> ScriptedDevice:
        return fleet_of(1)[0]

    def test_ends_with_a_pause_that_says_what_to_change(self, federation: Federation, device: ScriptedDevice) -> None:
        change_terms(federation=federation, tolerance=0.02, patience=None, attempts=3)
        states = [held(federation, device, at=10 * number, accuracy=0.5).state for number in range(3)]
        assert states == ["abandoned"] * 3
        federation.refresh_from_db()
        assert (federation.state, federation.reason_code) == ("paused", "federations.kept_back")
        assert "0.5000 on the held-out data against the champion's 0.9000" in federation.reason_sentence
        assert "larger tolerance" in federation.reason_sentence and len(federation.reason_sentence) < 400
        sweep(now=later(40))
        wait = device.check_in(later(41)).wait
        assert wait is not None and wait == federation.reason()

    def test_ends_with_a_pause_after_candidates_that_are_not_finite(
        self, federation: Federation, device: ScriptedDevice
    ) -> None:
        def diverges(*_: object, **__: object) -> NoReturn:
            raise NotFinite(tensor="weight")

        change_terms(federation=federation, tolerance=0.02, patience=None, attempts=2)
        for at in (0, 10):
            directive = device.check_in(later(at))
            assert directive.assignment is not None
            device.deliver(directive.assignment.assignment, later(at + 1), seed=at + 1)
            sweep(now=later(at + 2))
            round_ = merged(Round.objects.get(state="merging"), merger=diverges, at=at + 3)
            assert (round_.state, round_.reason_code) == ("abandoned", "merge.not_finite")
        federation.refresh_from_db()
        assert (federation.state, federation.reason_code, federation.kept_back) == (
            "paused",
            "federations.kept_back",
            2,
        )
        assert "not finite, in tensor weight" in federation.reason_sentence
        assert federation.reason_sentence.endswith(reasons.IF_REPEATED["merge.not_finite"])
        assert "tolerance" not in federation.reason_sentence

    def test_ends_with_a_pause_where_the_code_of_a_kind_fails(
        self, federation: Federation, device: ScriptedDevice, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(_arguments: MergeArguments, _cancel: object) -> MergeResult:
            raise ZeroDivisionError("a part of nothing")

        count_as_own_kind(monkeypatch, __name__)
        change_terms(federation=federation, tolerance=0.02, patience=None, attempts=1)
        directive = device.check_in(later(0))
        assert directive.assignment is not None
        device.deliver(directive.assignment.assignment, later(1), seed=1)
        sweep(now=later(2))
        round_ = Round.objects.get(state="merging")
        states = [merged(round_, merger=fails, at=60 * attempt).state for attempt in range(1, 6)]
        assert states == ["merging"] * 4 + ["abandoned"]
        assert round_.reason_code == "kinds.failed_on_platform"
        assert round_.reason_sentence.startswith("acme-kinds 1.0 failed in ")
        assert round_.reason_sentence.endswith(" of test_running.py: ZeroDivisionError: a part of nothing")
        federation.refresh_from_db()
        assert federation.state == "paused"
        assert "a part of nothing. Mend the kind" in federation.reason_sentence

    def test_begins_anew_when_it_is_started_again(self, federation: Federation, device: ScriptedDevice) -> None:
        change_terms(federation=federation, tolerance=0.02, patience=None, attempts=1)
        held(federation, device, at=0, accuracy=0.5)
        federation.refresh_from_db()
        assert (federation.state, federation.kept_back) == ("paused", 1)
        start_federation(federation=federation, now=later(0))
        assert (federation.state, federation.kept_back, federation.reason()) == ("running", 0, None)

    def test_lets_a_worse_candidate_through_when_it_is_at_its_end(
        self, federation: Federation, device: ScriptedDevice
    ) -> None:
        change_terms(federation=federation, tolerance=0.02, patience=2, attempts=5)
        states = [held(federation, device, at=10 * number, accuracy=0.5).state for number in range(4)]
        assert states == ["abandoned", "abandoned", "published", "abandoned"]
        federation.refresh_from_db()
        assert (federation.state, federation.kept_back) == ("running", 1)

    def test_is_not_lost_to_what_held_out_data_does_not_tell(
        self, federation: Federation, device: ScriptedDevice
    ) -> None:
        change_terms(federation=federation, tolerance=0.02, patience=0, attempts=1)
        directive = device.check_in(later(0))
        assert directive.assignment is not None
        device.deliver(directive.assignment.assignment, later(1), seed=1)
        sweep(now=later(2))
        make_version(federation.pair, seed=9)
        round_ = merged(Round.objects.get(state="merging"), merger=claims(0.9, 0.95))
        assert (round_.state, round_.reason_code) == ("abandoned", "merging.base_moved")
        federation.refresh_from_db()
        assert (federation.state, federation.kept_back) == ("running", 0)


class TestCrash:
    def test_before_the_publication_changes_nothing_of_it(self) -> None:
        round_ = merging_round(measured=False, devices=3)

        def dies(arguments: MergeArguments, cancel: object) -> MergeResult:
            in_this_process(arguments, cancel)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            merged(round_, merger=dies)
        assert merged(round_, at=4).state == "merging"  # the dead worker's lease still runs
        assert merged(round_, at=20).state == "published"
        assert ModelVersion.objects.count() == 2

    def test_delays_no_more_when_the_clock_is_set_back(self) -> None:
        round_ = merging_round(measured=False)
        Merge.objects.update(lease_until=later(3600))
        assert merged(round_, at=4).state == "published"

    def test_of_the_child_is_survived_a_few_times(self) -> None:
        round_ = merging_round(measured=False)

        def crashes(_arguments: MergeArguments, _cancel: object) -> MergeResult:
            raise Crashed(job="merge", status=-9, output="")

        states = [merged(round_, merger=crashes, at=10 * 2**attempt).state for attempt in range(5)]
        assert states == ["merging"] * 4 + ["abandoned"]
        assert round_.reason_code == "child.crashed"

    def test_of_every_worker_ends_the_round(self) -> None:
        round_ = merging_round(measured=False)
        Merge.objects.update(attempts=5, lease_until=later(10))
        assert find_overdue(now=later(9)) == 0.0, "a lease has moments of its own"
        assert Merge.objects.get().state == "running"
        find_overdue(now=later(11))
        sweep(now=later(11))
        assert Round.objects.get(pk=round_.pk).reason_code == "merging.gave_up"

    def test_leaves_the_same_bytes(self) -> None:
        round_ = merging_round(measured=False, devices=3)
        results = []

        def watched(arguments: MergeArguments, cancel: object) -> MergeResult:
            results.append(in_this_process(arguments, cancel))
            return results[-1]

        def overtaken(arguments: MergeArguments, cancel: object) -> MergeResult:
            merged(round_, merger=watched, at=20)
            return watched(arguments, cancel)

        assert merged(round_, merger=overtaken).state == "published"
        assert results[0].parameters == results[1].parameters
        assert round_.result_version.parameters_id == results[0].parameters.sha256
        assert ModelVersion.objects.count() == 2


def test_an_update_that_was_lost_from_the_disk_costs_that_update() -> None:
    round_ = merging_round(measured=False, devices=2)
    updates_of(round_.pk).delete(Update.objects.all()[0].sha256)
    assert merged(round_).state == "published"
    assert (round_.metrics["updates"], round_.metrics["left_out"]) == (1, 1)
    assert sorted(Update.objects.values_list("fault_code", flat=True)) == ["", "update.damaged"]


def test_a_round_whose_updates_are_all_lost_is_abandoned() -> None:
    round_ = merging_round(measured=False)
    updates_of(round_.pk).delete(Update.objects.get().sha256)
    assert merged(round_).reason_code == "merge.no_update_left"


def test_what_a_merge_makes_of_each_update_that_it_compares_is_kept() -> None:
    round_ = merged(merging_round(measured=False, devices=5, merge={"kind": "krum"}))
    assert (round_.metrics["updates"], round_.metrics["left_out"]) == (4, 1)
    farthest, *others = Update.objects.order_by("-merge_distance")
    assert (farthest.kept, farthest.merge_weight) == (False, 0)
    assert [(update.kept, update.merge_weight) for update in others] == [(True, 1.25)] * 4
    assert round_.metrics["samples"] == sum(update.samples for update in others)
    assert farthest.fault_code == "", "somebody is always the farthest"


def test_who_lies_far_from_all_others_is_named() -> None:
    round_ = merging_round(measured=False, devices=5, merge={"kind": "krum"})

    update = Update.objects.first()
    assert update is not None
    stored = updates_of(update.cohort)
    with stored.open(update.sha256) as file:
        numbers = Int8().decode(file.read(), expected=round_.base_version.pair.model_spec().parameters)
    larger = Int8().encode({name: 5 * tensor for name, tensor in numbers.items()}, seed=0)
    update.sha256 = stored.put_bytes(larger.payload).sha256
    update.save()
    assert merged(round_).state == "published"
    (named,) = Update.objects.exclude(fault_code="")
    assert (named.fault_code, named.merge_weight) == ("update.outvoted", 0)
    assert "lies" in named.fault_sentence


@pytest.mark.long
def test_a_round_that_lost_so_many_that_they_cannot_be_compared_is_abandoned() -> None:
    round_ = merging_round(measured=False, devices=7, merge={"kind": "krum", "corrupted": 0.4})
    updates_of(round_.pk).delete(Update.objects.all()[0].sha256)
    assert merged(round_).reason_code == "merge.too_few_updates"
    assert "krum needs more than 6" in round_.reason_sentence


def test_a_damaged_base_is_not_merged(tmp_path: Path) -> None:
    round_ = merging_round(measured=False)
    assert round_.base_version is not None
    path = BLOBS.local_path(round_.base_version.parameters_id, tmp_path)
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 0x40]))  # an exponent: the weight becomes huge, and stays finite
    try:
        assert merged(round_).reason_code == "registry.blob_damaged"
    finally:
        path.write_bytes(sound)  # blobs are shared by the tests of a process
    assert ModelVersion.objects.count() == 1


class TestFullDisk:
    @pytest.mark.parametrize(
        "error",
        [
            OSError(errno.ENOSPC, "No space left on device"),
            DiskFull(job="averaging_job"),
            OperationalError("database or disk is full"),
            OSError("4096 requested and 0 written"),
        ],
    )
    def test_delays_a_merge_with_its_reason_and_loses_nothing(self, error: Exception) -> None:
        round_ = merging_round(measured=False)

        def no_room(_arguments: MergeArguments, _cancel: object) -> MergeResult:
            raise error

        at, pauses = 3.0, []
        for _ in range(9):  # more than workers may fail
            assert merged(round_, merger=no_room, at=at).state == "merging"
            assert round_.reason_code == "merging.disk_full"
            pauses.append((Merge.objects.get().postponed_until - later(at)).total_seconds())
            at += pauses[-1]
        assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]
        assert "waits: the disk is full" in faults(at)["merge_fails"].sentence
        assert merged(round_, at=at).state == "published"
        assert faults(at) == {}

    def test_is_asked_again_when_the_pause_is_over(self, django_capture_on_commit_callbacks) -> None:
        round_ = merging_round(measured=False)

        def no_room(_arguments: MergeArguments, _cancel: object) -> MergeResult:
            raise DiskFull(job="averaging_job")

        merged(round_, merger=no_room, at=3)

        def asked(at: float) -> bool:
            with django_capture_on_commit_callbacks() as hints:
                find_overdue(now=later(at))
            return bool(hints)

        assert [asked(at) for at in (5, 7.9, 8.1, -3600)] == [False, False, True, True]


class TestStorageThatDoesNotAnswer:
    def test_delays_a_merge_with_its_reason_and_loses_nothing(self) -> None:
        round_ = merging_round(measured=False)

        def away(_arguments: MergeArguments, _cancel: object) -> MergeResult:
            raise StorageUnavailable(problem="connection refused")

        at = 3.0
        for _ in range(9):  # more than workers may fail
            assert merged(round_, merger=away, at=at).state == "merging"
            assert round_.reason_code == "merging.storage_away"
            at = (Merge.objects.get().postponed_until - later(0)).total_seconds()
        assert "300 s from now: The file storage does not answer" in round_.reason_sentence
        assert "connection refused" in round_.reason_sentence
        repair = faults(at)["merge_fails"]
        assert (repair.code, repair.advice[:22]) == ("merging.storage_away", "See why the object sto")
        assert merged(round_, at=at).state == "published"
        look(store_of("default"))  # as every server does all the time
        assert faults(at) == {}

    def test_is_not_tried_before_the_pause_is_over_however_often_it_was_queued(self) -> None:
        round_, tries = merging_round(measured=False), []

        def away(_arguments: MergeArguments, _cancel: object) -> MergeResult:
            tries.append(1)
            raise StorageUnavailable(problem="connection refused")

        for at in (3, 3.1, 3.2, 7.9):
            merged(round_, merger=away, at=at)
        assert (len(tries), Merge.objects.get().postponements) == (1, 1)

    def test_takes_no_attempt_from_those_of_workers_that_fail(self) -> None:
        round_ = merging_round(measured=False)
        Merge.objects.update(attempts=4)

        def away(_arguments: MergeArguments, _cancel: object) -> MergeResult:
            raise StorageUnavailable(problem="connection refused")

        merged(round_, merger=away)
        find_overdue(now=later(60))
        assert (Merge.objects.get().state, Merge.objects.get().attempts) == ("running", 0)


class TestQuarantine:
    @staticmethod
    def hold(devices: list[ScriptedDevice], at: float) -> None:
        """A round whose merge leaves the first device's update out."""
        for second in range(2):
            for device in devices:
                device.check_in(later(at + second))
        for number, device in enumerate(devices):
            assigned = device.say(later(at + 2)).assignment
            if assigned is not None:
                device.deliver(assigned.assignment, later(at + 3), seed=10 * int(at) + number)
        advance_federation(federation_id=Federation.objects.get().pk, now=later(at + 4))
        first = Update.objects.filter(device=devices[0].row).latest("received_at").sha256

        def leaves_out(arguments: MergeArguments, cancel: object) -> MergeResult:
            fault = LeftOut(first, "update.outlier", "its norm is 9000")
            return msgspec.structs.replace(in_this_process(arguments, cancel), left_out=(fault,))

        merge_round(Round.objects.get(state="merging"), clock=lambda: later(at + 5), merger=leaves_out)

    @pytest.mark.long
    def test_the_third_update_of_ten_that_is_left_out_is_the_last_for_now(self) -> None:
        pair = make_pair()
        make_version(pair)
        make_federation(pair, target_updates=3, min_updates=2, over_selection=1)
        devices = fleet_of(3)
        for number in range(3):
            devices[0].row.refresh_from_db()
            assert devices[0].row.quarantine == ""
            self.hold(devices, at=20.0 * number)
        offender = devices[0].row
        offender.refresh_from_db()
        assert "left out 3 of its latest 10" in offender.quarantine and "its norm is 9000" in offender.quarantine
        directive = devices[0].say(later(61))
        assert directive.wait is not None and directive.wait.code == "fleet.quarantined"
        assert directive.assignment is None
        assert Device.objects.exclude(quarantine="").count() == 1
        resume_device(device=offender, now=later(70))
        assert devices[0].say(later(71)).wait != directive.wait
        self.hold(devices, at=80)
        offender.refresh_from_db()
        assert offender.quarantine == "", "what was before its release is forgotten"

    def test_what_the_disk_damaged_is_not_its_devices_fault(self, settings) -> None:
        settings.QUARANTINE_AFTER = 1
        round_ = merging_round(measured=False, devices=2)
        updates_of(round_.pk).delete(Update.objects.all()[0].sha256)
        assert merged(round_).state == "published"
        assert not Device.objects.exclude(quarantine="").exists()


class TestAgain:
    @staticmethod
    def abandoned() -> Round:
        round_ = merging_round(measured=False)

        def fails(_arguments: MergeArguments, _cancel: object) -> MergeResult:
            raise ZeroDivisionError("a part of nothing")

        at, pauses = 10.0, []
        for attempt in range(1, 6):
            with pytest.raises(ZeroDivisionError):
                merged(round_, merger=fails, at=at)
            merge = Merge.objects.get()
            if attempt < 5:
                assert merge.postponed_until is not None
                pauses.append((merge.postponed_until - later(at)).total_seconds())
                assert f"attempt {attempt} of 5" in merge.reason_sentence
                assert f"the next is {pauses[-1]:.0f} s from now" in merge.reason_sentence
                at += pauses[-1]
        assert pauses == [5, 10, 20, 40]
        find_overdue(now=later(90))
        settle(now=later(90))
        sweep(now=later(90))
        round_.refresh_from_db()
        return round_

    def test_the_reason_is_what_came_in_the_way(self) -> None:
        round_ = self.abandoned()
        assert (round_.state, round_.reason_code) == ("abandoned", "merging.failed")
        assert "ZeroDivisionError: a part of nothing" in round_.reason_sentence

    def test_an_operator_has_the_updates_merged_again(self, api: APIClient) -> None:
        round_ = self.abandoned()
        sweep(now=later(91))
        assert Round.objects.filter(state="planned").exists()
        assert api.get(f"/api/rounds/{round_.pk}/").json()["why_not_again"] is None
        (remedy,) = faults(92)["merge_again"].remedies
        assert api.post(remedy.path).json()["state"] == "merging"
        assert merged(round_, at=100).state == "published"
        assert round_.metrics["updates"] == 1
        assert faults(101) == {}
        sweep(now=later(102))
        assert Round.objects.filter(state="planned").exists()

    def test_not_while_another_round_is_under_way_nor_for_another_version(self, api: APIClient) -> None:
        round_ = self.abandoned()
        address = f"/api/rounds/{round_.pk}/merge-again/"
        sweep(now=later(91))
        following = Round.objects.filter(state="planned")
        following.update(
            state="open",
            plan=round_.plan,
            base_version=round_.base_version,
            opened_at=later(92),
            deadline_at=later(119),
        )
        refused = api.post(address)
        assert (refused.status_code, refused.json()["code"]) == (409, "rounds.nothing_to_merge")
        assert api.get(f"/api/rounds/{round_.pk}/").json()["why_not_again"] == refused.json()["detail"]
        Round.objects.filter(state="open").delete()
        Round.objects.filter(pk=round_.pk).update(tidied_at=later(93))
        assert "removed" in api.post(address).json()["detail"]
        Round.objects.filter(pk=round_.pk).update(tidied_at=None)
        make_version(round_.federation.pair)
        assert "another version" in api.post(address).json()["detail"]
        assert faults(94) == {}
        assert Round.objects.get(pk=round_.pk).state == "abandoned"


def test_a_merge_that_compares_with_the_platforms_own_update_gets_the_cloud_data() -> None:
    pair, data = make_pair(), make_dataset()
    make_version(pair)
    plan = {"merge": {"kind": "trusted_root", "samples": 7}}
    make_federation(pair, cloud_data=data, plan=plan, target_updates=1, min_updates=1, over_selection=1)
    device = fleet_of(1)[0]
    directive = device.check_in(later(1))
    while directive.assignment is None:
        directive = device.check_in(later(2))
    device.deliver(directive.assignment.assignment, later(3), seed=1)
    device.check_in(later(4))
    given: list[MergeArguments] = []

    def merger(arguments: MergeArguments, cancel: object) -> MergeResult:
        given.append(arguments)
        return in_this_process(msgspec.structs.replace(arguments, merge={"kind": "fed_avg"}), cancel)

    merge_round(Round.objects.get(state="merging"), clock=lambda: later(5), merger=merger)
    root = given[0].root
    assert root is not None
    assert data.blob_id in root.dataset and pair.train_step_id in root.train_step
