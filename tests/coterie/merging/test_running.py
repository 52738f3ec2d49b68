"""The end of a round: measured, published or abandoned, and taken up again after crashes."""

import io
from pathlib import Path

import msgspec
import numpy as np
import pytest
from onnx import TensorProto, checker, helper

from coterie.child.errors import Crashed
from coterie.cloud.averaging_job import MergeArguments, MergeResult
from coterie.merging.files import updates_of
from coterie.merging.models import Merge, Update
from coterie.merging.sweeping import sweep as find_overdue
from coterie.registry.content import BLOBS
from coterie.registry.models import Dataset, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Round
from tests.coterie.world import (
    ScriptedDevice,
    fleet_of,
    in_this_process,
    keep,
    later,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)

pytestmark = pytest.mark.django_db


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


def merging_round(*, tolerance: float = 0.02, measured: bool = True, devices: int = 1) -> Round:
    """A round whose updates are in; with `measured`, the base happens to be better than what they make of it."""
    pair = make_pair(predict=predict_graph())
    make_version(pair)
    dataset = held_out(np.arange(60) % 3) if measured else None
    make_federation(pair, held_out=dataset, tolerance=tolerance, target_updates=devices)
    fleet = fleet_of(devices)
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
        assert round_.result_version.metrics == {**round_.metrics, "class_accuracy": by_class}

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

        states = [merged(round_, merger=crashes, at=10 * attempt).state for attempt in range(1, 6)]
        assert states == ["merging"] * 4 + ["abandoned"]
        assert round_.reason_code == "child.crashed"

    def test_of_every_worker_ends_the_round(self) -> None:
        round_ = merging_round(measured=False)
        Merge.objects.update(attempts=5, lease_until=later(10))
        find_overdue(now=later(9))
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


def test_a_damaged_base_is_not_merged(tmp_path: Path) -> None:
    round_ = merging_round(measured=False)
    assert round_.base_version is not None
    path = BLOBS.local_path(round_.base_version.parameters_id, tmp_path)
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 0x40]))  # an exponent: the weight becomes huge, and stays finite
    try:
        assert merged(round_).reason_code == "merge.blob_damaged"
    finally:
        path.write_bytes(sound)  # blobs are shared by the tests of a process
    assert ModelVersion.objects.count() == 1
