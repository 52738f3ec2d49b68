"""Merging by distillation as the platform sees it: what the job is given, what its result changes, and what is kept."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from django.db.models import Max
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.child.errors import Crashed
from coterie.child.job import Progress, ReportProgress
from coterie.cloud.distill_merge_job import DistillMergeArguments, DistillMergeResult, NewLineage, Quality, UsedModel
from coterie.cloud.errors import Diverged
from coterie.core.errors import CoterieError
from coterie.federations.errors import PlanDoesNotFit
from coterie.federations.models import Federation, Group, Membership, Split
from coterie.federations.services import create_federation, start_federation
from coterie.merging.checkpoints import merges_with_checkpoints
from coterie.merging.models import Update
from coterie.merging.sweeping import tidy
from coterie.registry.content import BLOBS
from coterie.registry.models import ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Assignment, Round
from coterie_learning.codec.int8 import Int8
from coterie_wire.bundle import BlobRef
from coterie_wire.errors import WireError
from coterie_wire.messages import Directive
from coterie_wire.tensors import Tensors, decode_tensors
from tests.coterie.world import (
    MODEL,
    ScriptedDevice,
    fleet_of,
    in_this_process,
    keep,
    later,
    make_dataset,
    make_device,
    make_federation,
    make_pair,
    make_version,
    merge_round,
    parameters,
)

pytestmark = pytest.mark.django_db
PLAN = {"merge": {"kind": "distill"}, "groups": {"kind": "affinity"}}
Distiller = Callable[[DistillMergeArguments, threading.Event, ReportProgress], DistillMergeResult]


@pytest.fixture
def pair() -> ModelPair:
    pair = make_pair()
    make_version(pair)
    make_version(pair, seed=7, role=Role.CLOUD)
    return pair


def opened(
    pair: ModelPair, *, devices: int = 4, plan: dict[str, object] = PLAN
) -> tuple[Federation, list[ScriptedDevice]]:
    federation = make_federation(pair, cloud_data=make_dataset(), plan=plan, target_updates=devices)
    return federation, fleet_of(devices)


def hold(fleet: Sequence[ScriptedDevice], *, at: float) -> Round:
    """A round whose updates are all in."""
    directives = [device.check_in(later(at)) for device in fleet]
    for seed, (device, directive) in enumerate(zip(fleet, directives, strict=True)):
        assert directive.assignment is not None
        device.deliver(directive.assignment.assignment, later(at + 1), seed=seed + 1)
    sweep(now=later(at + 2))
    return Round.objects.get(state="merging")


def finds(
    lineages: Sequence[str],
    *,
    kept: Sequence[bool] = (),
    accuracy: float = 0.9,
    cloud_accuracy: float = 0.9,
    better_for: Sequence[str] = (),
) -> Distiller:
    """A job that finds the devices, in their order of enrolment, to be of these lineages; all was 0.9 accurate."""

    def distiller(
        arguments: DistillMergeArguments, cancel: threading.Event, report: ReportProgress
    ) -> DistillMergeResult:
        assert not cancel.is_set()
        assert Path(arguments.checkpoints).is_dir()
        Path(arguments.checkpoints, "progress").touch()
        report(Progress("teaching", 1, 2))

        def new(name: str) -> NewLineage:
            blobs = {}
            for role in ("cloud", "device"):
                content = f"{arguments.seed} {name} {role}".encode()
                Path(arguments.output, f"{name or 'base'}.{role}").write_bytes(content)
                blobs[role] = BlobRef.of_bytes(content)
            measured = {
                "cloud_before": Quality(0.9, 1.0),
                "cloud_after": Quality(cloud_accuracy, 1.0),
                "device_before": Quality(0.9, 1.0),
                "device_after": Quality(accuracy, 1.0),
            }
            cross_entropy_gap = 0.5 if name in better_for or not name else 1.5
            counts = {"models": len(lineages), "cloud_epochs": 3, "device_epochs": 4}
            return NewLineage(
                name=name,
                **blobs,
                **counts,
                **measured,
                cross_entropy_gap_before=1.0,
                cross_entropy_gap_after=cross_entropy_gap,
            )

        by_payload = {model.update.sha256: model for model in arguments.models}
        assert len(by_payload) == len(arguments.models) == len(lineages)
        devices = Update.objects.order_by("assignment__device__name").filter(assignment__round__state="merging")
        place = {update.sha256: index for index, update in enumerate(devices)}
        order = [place[model.update.sha256] for model in arguments.models]
        return DistillMergeResult(
            judged=tuple(UsedModel(0.25 * index, lineages[index], (kept or [True] * 9)[index]) for index in order),
            lineages=tuple(new(name) for name in ("", *sorted({lineage for lineage in lineages if lineage}))),
            silhouettes={"2": 0.5},
            distances={"group-1": {"group-1": 0.1, "group-2": 0.8}} if "group-2" in lineages else {},
            reason="as the test wants",
        )

    return distiller


def merged(round_: Round, distiller: Distiller, *, at: float = 3) -> Round:
    merge_round(round_, clock=lambda: later(at), distiller=distiller)
    round_.refresh_from_db()
    return round_


def test_both_models_get_a_new_version_and_the_round_says_what_became_of_each_update(pair: ModelPair) -> None:
    before = {role: champion(pair.pk, role) for role in Role}
    _, fleet = opened(pair)
    round_ = merged(hold(fleet, at=0), finds(["", "", "", ""], kept=[True, False, True, True]))
    assert round_.state == "published"
    for role in Role:
        version = champion(pair.pk, role)
        assert version is not None and version != before[role]
        assert (version.parent, version.lineage, version.origin) == (before[role], "", "merge")
    assert round_.result_version == champion(pair.pk, Role.DEVICE)
    updates = Update.objects.order_by("assignment__device__name")
    assert [update.kept for update in updates] == [True, False, True, True]
    assert [update.cloud_accuracy for update in updates] == [0, 0.25, 0.5, 0.75]
    assert round_.metrics["updates"] == 4
    assert round_.metrics["cloud_accuracy"] == 0.9
    assert Split.objects.get().groups == 1
    assert not Group.objects.exists()


def manifest_version(directive: Directive) -> str:
    manifest = directive.assignment.manifest if directive.assignment else directive.manifest
    assert manifest is not None
    return msgspec.json.decode(manifest.manifest)["version"]


def test_after_a_split_each_device_has_its_groups_model_and_a_new_device_the_base(pair: ModelPair) -> None:
    federation, fleet = opened(pair)
    names = ["group-1", "group-2", "group-1", "group-2"]
    merged(hold(fleet, at=0), finds(names, better_for=["group-1", "group-2"]))
    split = Split.objects.get()
    assert (split.groups, split.silhouettes, split.reason_code) == (2, {"2": 0.5}, "merging.split")
    assert split.distances == {"group-1": {"group-1": 0.1, "group-2": 0.8}}
    assert dict(Membership.objects.values_list("device__name", "group__name")) == {
        f"device-{index}": name for index, name in enumerate(names)
    }
    in_use = {name: champion(pair.pk, Role.DEVICE, name) for name in ("", "group-1", "group-2")}
    assert len(set(in_use.values())) == 3
    for device, name in zip(fleet, names, strict=True):
        version = in_use[name]
        assert version is not None
        assert manifest_version(device.check_in(later(5))) == str(version.pk)
        assert (version.origin, version.number) == ("split", 1)
    assert Assignment.objects.filter(round__number=2, base_version__lineage="group-1").count() == 2
    assert federation.groups.count() == 2
    fresh = ScriptedDevice(make_device("new"))
    base = in_use[""]
    assert base is not None and manifest_version(fresh.check_in(later(6))) == str(base.pk)


@pytest.mark.long
def test_groups_go_on_change_members_and_end(pair: ModelPair) -> None:
    _, fleet = opened(pair)
    merged(hold(fleet, at=0), finds(["group-1", "group-2", "group-1", "group-2"], better_for=["group-1"]))
    first = {name: champion(pair.pk, Role.DEVICE, name) for name in ("group-1", "group-2")}
    base = ModelVersion.objects.get(pair=pair, role=Role.DEVICE, lineage="", number=1)
    assert first["group-2"] is not None and first["group-2"].parameters == base.parameters, "no better, so as it was"
    merged(hold(fleet, at=10), finds(["group-1", "group-1", "group-1", ""], better_for=["group-1"]), at=13)
    second = champion(pair.pk, Role.DEVICE, "group-1")
    assert second is not None and (second.number, second.parent, second.origin) == (2, first["group-1"], "merge")
    now = Membership.objects.filter(until=None)
    assert {membership.device.name for membership in now} == {"device-0", "device-1", "device-2"}
    assert Group.objects.get(name="group-2").until == later(13)
    assert Membership.objects.filter(until=later(13)).count() == 2
    base_now = champion(pair.pk, Role.DEVICE)
    assert base_now is not None
    assert manifest_version(fleet[3].check_in(later(15))) == str(base_now.pk)


@pytest.mark.long
def test_a_group_whose_candidate_does_not_speak_for_it_keeps_its_models(pair: ModelPair) -> None:
    _, fleet = opened(pair)
    names = ["group-1", "group-1", "group-2", "group-2"]
    merged(hold(fleet, at=0), finds(names, better_for=["group-1", "group-2"]))
    kept = champion(pair.pk, Role.DEVICE, "group-2")
    merged(hold(fleet, at=10), finds(names, better_for=["group-1"]), at=13)
    assert champion(pair.pk, Role.DEVICE, "group-2") == kept


@pytest.mark.long
@pytest.mark.parametrize(
    ("quality", "code"),
    [({"accuracy": 0.8}, "merging.worse_than_champion"), ({"cloud_accuracy": 0.8}, "merging.worse_cloud_model")],
)
def test_a_worse_candidate_is_rejected_with_its_reason(pair: ModelPair, quality: dict[str, float], code: str) -> None:
    before = {role: champion(pair.pk, role) for role in Role}
    _, fleet = opened(pair)
    round_ = merged(hold(fleet, at=0), finds(["group-1"] * 2 + ["group-2"] * 2, **quality))
    assert (round_.state, round_.reason_code) == ("abandoned", code)
    assert {role: champion(pair.pk, role) for role in Role} == before
    assert not Group.objects.exists()
    assert Update.objects.filter(kept=True).count() == 4, "what was measured stays known"


def test_a_champion_that_an_operator_moved_meanwhile_stays(pair: ModelPair) -> None:
    _, fleet = opened(pair)
    inner = finds([""] * 4)

    def meddled(
        arguments: DistillMergeArguments, cancel: threading.Event, report: ReportProgress
    ) -> DistillMergeResult:
        make_version(pair, seed=9, role=Role.CLOUD)
        return inner(arguments, cancel, report)

    round_ = merged(hold(fleet, at=0), meddled)
    assert (round_.state, round_.reason_code) == ("abandoned", "merging.base_moved")


def fails(error: CoterieError) -> Distiller:
    def distiller(
        arguments: DistillMergeArguments, cancel: threading.Event, report: ReportProgress
    ) -> DistillMergeResult:
        Path(arguments.checkpoints, "progress").touch()
        report(Progress("teaching", 1, 2))
        raise error

    return distiller


@pytest.mark.django_db(transaction=True)  # files go when changes are committed
def test_a_job_that_dies_goes_on_from_where_it_was_and_says_when(pair: ModelPair) -> None:
    _, fleet = opened(pair)
    round_ = hold(fleet, at=0)
    for attempt in range(7):
        merged(round_, fails(Crashed(job="merge", status=-9, output="")), at=3 + 10 * attempt)
        assert (round_.state, round_.reason_code) == ("merging", "merging.failed")
        assert round_.reason_sentence.startswith("attempt 1 of 5 to merge the updates failed; the next is 5 s from now")
    tidy()
    assert merges_with_checkpoints() == {round_.merge_id}, "it is needed still"
    assert merged(round_, finds([""] * 4), at=90).state == "published"
    assert merges_with_checkpoints() == set()


@pytest.mark.django_db(transaction=True)
def test_a_job_that_cannot_succeed_ends_the_round(pair: ModelPair) -> None:
    _, fleet = opened(pair)
    round_ = merged(hold(fleet, at=0), fails(Diverged(epoch=3)))
    assert (round_.state, round_.reason_code) == ("abandoned", "training.diverged")
    assert merges_with_checkpoints() == set()


def test_it_needs_cloud_data_and_a_cloud_model() -> None:
    pair = make_pair()
    make_version(pair)
    with pytest.raises(PlanDoesNotFit, match="data set of the platform") as caught:
        make_federation(pair, plan=PLAN)
    assert caught.value.fields["reason"] == "plan.needs_cloud_data"
    _, (device,) = opened(pair, devices=1)
    wait = device.check_in(later(0)).wait
    assert wait is not None and wait.code == "rounds.no_cloud_model"


def test_a_plan_that_the_pair_cannot_follow_is_refused(pair: ModelPair) -> None:
    with pytest.raises(PlanDoesNotFit, match="no graph for devices"):
        make_federation(pair, plan={"local": {"kind": "distill"}})
    pair.spec = {**pair.spec, "head": None}
    with pytest.raises(PlanDoesNotFit, match="output layer"):
        make_federation(pair, plan={"local": {"kind": "distill", "lambda_d": 1}})


def with_teacher(pair: ModelPair) -> None:
    """A graph for devices; its parameters are those of the device model."""
    ModelPair.objects.filter(pk=pair.pk).update(
        teacher_predict=keep(b"teacher"), teacher_parameters=pair.spec["parameters"]
    )
    pair.refresh_from_db()


def rows_of(classes: tuple[int, ...], seed: int) -> bytes:
    """An update that holds the rows of these classes alone."""
    update = parameters(seed)
    return Int8().encode({name: tensor[list(classes)] for name, tensor in update.items()}, seed=seed).payload


def stored_parameters(version: ModelVersion) -> Tensors:
    with BLOBS.open(version.parameters_id) as file:
        return decode_tensors(file.read(), expected=MODEL.parameters)


def test_an_update_holds_the_rows_that_it_names_and_no_others(pair: ModelPair) -> None:
    with_teacher(pair)
    plan = {"local": {"kind": "distill"}}
    make_federation(pair, plan=plan, target_updates=2)
    first, second = fleet_of(2)
    assignments = [device.check_in(later(0)).assignment for device in (first, second)]
    assert assignments[0] is not None and assignments[1] is not None
    payload = rows_of((0, 2), seed=1)
    first.offer(assignments[0].assignment, payload, later(1), classes=(0, 2))
    assert first.send(assignments[0].assignment, payload, 0, later(1)).accepted
    whole = second.payload(2)
    second.offer(assignments[1].assignment, whole, later(1), classes=(0, 2))
    with pytest.raises(WireError) as refused:
        second.send(assignments[1].assignment, whole, 0, later(1))
    assert refused.value.code == "update.wrong_shape"
    sweep(now=later(2))
    round_ = Round.objects.get(state="merging")
    merge_round(round_, clock=lambda: later(3), merger=in_this_process)
    round_.refresh_from_db()
    assert round_.result_version is not None and round_.base_version is not None
    before, after = (stored_parameters(version) for version in (round_.base_version, round_.result_version))
    for name in before:
        assert np.array_equal(after[name][1], before[name][1]), "nobody trained the second class"
        assert not np.array_equal(after[name][[0, 2]], before[name][[0, 2]])


def test_groups_splits_and_memberships_are_listed(pair: ModelPair) -> None:
    api = APIClient()
    api.force_authenticate(create_operator(username="ada").operator)
    federation, fleet = opened(pair)
    merged(hold(fleet, at=0), finds(["group-1", "group-2"] * 2, better_for=["group-1"]))
    merged(hold(fleet, at=10), finds(["group-1", "group-1", "group-1", ""], better_for=["group-1"]), at=13)

    def listed(path: str, **query: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = api.get(f"/api/{path}/", {"federation": str(federation.pk), **query}).json()[
            "results"
        ]
        return found

    assert [(one["name"], one["members"]) for one in listed("groups", sort="name")] == [("group-1", 3), ("group-2", 0)]
    assert [one["name"] for one in listed("groups", current="true")] == ["group-1"]
    assert {one["device_name"] for one in listed("memberships", current="true")} == {"device-0", "device-1", "device-2"}
    assert len(listed("memberships", current="false")) == 2
    assert [one["groups"] for one in listed("splits")] == [1, 2]
    assert listed("splits")[0]["reason_sentence"] == "as the test wants"


def test_a_device_gets_its_teacher_and_uploads_the_rows_that_it_names(pair: ModelPair) -> None:
    with_teacher(pair)
    _, (device,) = opened(pair, devices=1, plan={**PLAN, "local": {"kind": "distill"}})
    assignment = device.check_in(later(0)).assignment
    assert assignment is not None and assignment.teacher is not None
    teacher = msgspec.json.decode(assignment.teacher.manifest)
    cloud = champion(pair.pk, Role.CLOUD)
    assert cloud is not None and teacher["version"] == str(cloud.pk)
    with pytest.raises(WireError, match="classes are named") as refused:
        device.offer(assignment.assignment, device.payload(1), later(1), classes=(2, 1))
    assert refused.value.code == "update.wrong_classes"
    assert Assignment.objects.get().state == "rejected"


def test_a_federation_with_versions_of_its_own_splits_within_them(pair: ModelPair) -> None:
    pace = {"kind": "sync", "target_updates": 4}
    federation = create_federation(
        name="trial",
        pair=pair,
        plan={**PLAN, "pace": pace},
        cloud_data=make_dataset(),
        own_versions=True,
        now=later(0),
    )
    start_federation(federation=federation, now=later(0))
    fleet = fleet_of(4)
    names = ["group-1", "group-1", "group-2", "group-2"]
    assert merged(hold(fleet, at=1), finds(names), at=4).state == "published"
    for role in Role:
        numbers = dict(pair.versions.filter(role=role).values_list("lineage").annotate(last=Max("number")))
        assert numbers == {"": 1, "trial/base": 2, "trial/group-1": 1, "trial/group-2": 1}

    def given(arguments: DistillMergeArguments, *_: object) -> DistillMergeResult:
        assert [lineage.name for lineage in arguments.lineages] == ["", "group-1", "group-2"]
        assert sorted(model.lineage for model in arguments.models) == names
        raise Diverged(epoch=1)

    round_ = hold(fleet, at=100)
    parts = Assignment.objects.filter(round=round_).order_by("device__name")
    assert [part.base_version.lineage for part in parts] == [f"trial/{name}" for name in names]
    assert merged(round_, given, at=104).reason_code == Diverged.code
