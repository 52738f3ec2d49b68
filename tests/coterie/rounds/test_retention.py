"""Growth is bounded: what nobody needs goes, and nothing that anybody needs."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from uuid import UUID

import pytest
from django.apps import apps
from django.core.management import call_command
from rest_framework.test import APIClient

from coterie.fleet.models import Device
from coterie.registry.collecting import GRACE, Collected, Retention, collect
from coterie.registry.content import BLOBS
from coterie.registry.errors import VersionRemoved
from coterie.registry.models import Blob, ModelPair, ModelVersion, Role
from coterie.registry.selectors import references
from coterie.registry.services import roll_back, store_file
from coterie.rollouts.services import start_rollout
from coterie.rounds.models import Round
from coterie.rounds.retention import collect_blobs
from coterie.rounds.steering import pin_device
from coterie.rounds.tidying import RETENTION
from tests.coterie.world import (
    START,
    fleet_of,
    later,
    make_dataset,
    make_device,
    make_federation,
    make_pair,
    make_version,
)

pytestmark = pytest.mark.django_db
LATER = START + RETENTION + 2 * GRACE


@pytest.fixture
def pair(settings) -> ModelPair:
    """With twenty-four versions, the last of them in use."""
    settings.KEEP_VERSIONS, settings.KEEP_EVERY = 3, 8
    pair = make_pair()
    for number in range(1, 25):
        make_version(pair, seed=1000 + number)
    return pair


def version(pair: ModelPair, number: int) -> ModelVersion:
    return ModelVersion.objects.select_related("parameters").get(pair=pair, number=number)


def is_there(sha256: str) -> bool:
    try:
        BLOBS.open(sha256).close()
    except FileNotFoundError:
        return False
    return True


def numbers_that_are_there(pair: ModelPair) -> set[int]:
    versions = ModelVersion.objects.filter(pair=pair).select_related("parameters")
    there = {one.number for one in versions if is_there(one.parameters_id)}
    assert there == {one.number for one in versions if one.parameters.removed_at is None}, "rows say what the disk has"
    return there


def test_the_champion_the_latest_and_milestones_stay_and_the_rest_keeps_its_figures(pair: ModelPair) -> None:
    would = collect_blobs(now=LATER, at_once=None, dry_run=True)
    assert numbers_that_are_there(pair) == set(range(1, 25)), "nothing is removed to find out"
    assert collect_blobs(now=LATER, at_once=None) == would
    assert numbers_that_are_there(pair) == {1, 8, 16, 22, 23, 24}
    assert would.blobs == 18 and would.size_bytes > 0
    assert ModelVersion.objects.filter(pair=pair).count() == 24
    assert collect_blobs(now=LATER) == Collected(0, 0)


def test_all_stay_where_the_settings_say_so(pair: ModelPair, settings) -> None:
    settings.KEEP_VERSIONS = 0
    assert collect_blobs(now=LATER) == Collected(0, 0)


@pytest.mark.long
def test_what_the_champion_is_rolled_back_to_stays(pair: ModelPair) -> None:
    roll_back(pair=pair, role=Role.DEVICE, to=version(pair, 12).pk, now=START)
    ModelVersion.objects.filter(pk=version(pair, 12).pk).update(parent=version(pair, 7))
    collect_blobs(now=LATER, at_once=None)
    assert {7, 12} <= numbers_that_are_there(pair)


@pytest.mark.long
def test_what_devices_rounds_and_roll_outs_need_stays(pair: ModelPair) -> None:
    device = make_device("pinned")
    pin_device(device=device, version=version(pair, 11), now=START)
    federation = make_federation(pair, target_updates=1)
    start_rollout(version=version(pair, 13), terms={}, now=START)
    Round.objects.create(
        federation=federation,
        number=1,
        state="open",
        base_version=version(pair, 17),
        plan=federation.plan,
        seed=1,
        opens_at=START,
        opened_at=START,
        deadline_at=later(60),
    )
    dataset = make_dataset()
    collect_blobs(now=LATER, at_once=None)
    assert numbers_that_are_there(pair) == {1, 8, 11, 13, 16, 17, 22, 23, 24}
    for name in ("device_program", "cloud_program", "train_step", "predict", "initial_parameters"):
        assert is_there(getattr(pair, f"{name}_id")), name
    assert is_there(dataset.blob_id)


@pytest.mark.long
def test_a_round_that_is_over_needs_its_version_as_long_as_its_updates_are_kept(pair: ModelPair) -> None:
    federation = make_federation(pair)
    Round.objects.create(
        federation=federation, number=1, state="abandoned", base_version=version(pair, 17), seed=1, opens_at=START
    )
    collect_blobs(now=LATER, at_once=None)
    assert 17 in numbers_that_are_there(pair)
    Round.objects.update(tidied_at=START)
    collect_blobs(now=LATER, at_once=None)
    assert 17 not in numbers_that_are_there(pair)


@pytest.mark.long
def test_a_candidate_has_a_day_to_become_a_version(pair: ModelPair, tmp_path: Path) -> None:
    (tmp_path / "candidate").write_bytes(b"a candidate that was kept back")
    blob = store_file(path=tmp_path / "candidate", now=LATER)
    collect_blobs(now=LATER + GRACE / 2, at_once=None)
    assert is_there(blob.pk)
    collect_blobs(now=LATER + 2 * GRACE, at_once=None)
    assert not is_there(blob.pk)
    again = store_file(path=tmp_path / "candidate", now=LATER + 3 * GRACE)
    assert (again.pk, again.removed_at, is_there(again.pk)) == (blob.pk, None, True)
    collect_blobs(now=LATER + 3 * GRACE, at_once=None)
    assert is_there(again.pk)


@pytest.mark.long
def test_what_is_needed_between_the_look_and_the_removal_stays(pair: ModelPair) -> None:
    wanted = version(pair, 12).pk
    looks: list[set[UUID]] = [set()]

    def in_use() -> set[UUID]:
        return looks.pop() if looks else {wanted}

    assert collect(retention=Retention(latest=3, every=8), in_use=in_use, now=LATER).blobs == 17
    assert is_there(version(pair, 12).parameters_id)


@pytest.mark.long
def test_nobody_begins_to_use_what_is_gone(pair: ModelPair, api: APIClient) -> None:
    make_federation(pair)
    collect_blobs(now=LATER, at_once=None)
    gone = version(pair, 12)
    with pytest.raises(VersionRemoved):
        roll_back(pair=pair, role=Role.DEVICE, to=gone.pk, now=LATER)
    with pytest.raises(VersionRemoved):
        pin_device(device=make_device("hall"), version=gone, now=LATER)
    with pytest.raises(VersionRemoved):
        start_rollout(version=gone, terms={}, now=LATER)
    assert not Device.objects.exclude(pinned_version="").exists()
    told = api.get(f"/api/versions/{gone.pk}/").json()
    assert told["removed_at"] is not None and told["number"] == 12
    refused = api.get(f"/api/versions/{gone.pk}/archive/")
    assert (refused.status_code, refused.json()["code"]) == (410, "registry.version_removed")


@pytest.mark.long
def test_rounds_go_on_with_what_is_left(pair: ModelPair) -> None:
    make_federation(pair, target_updates=1)
    collect_blobs(now=LATER, at_once=None)
    (device,) = fleet_of(1)
    directive = device.check_in(later(0))
    assert directive.assignment is not None
    assert device.deliver(directive.assignment.assignment, later(1), seed=1).accepted


def columns_that_point_to_blobs() -> Iterator[tuple[str, str]]:
    for model in apps.get_models():
        for field in model._meta.fields:
            if field.related_model is Blob:
                yield model._meta.label, field.name


def test_every_column_that_points_to_a_blob_is_looked_at() -> None:
    found = {(model._meta.label, column) for model, column in references()}
    assert found == set(columns_that_point_to_blobs())
    assert {("registry.ModelVersion", "server_state"), ("registry.Dataset", "blob")} <= found


def test_the_command_says_what_it_would_do(pair: ModelPair) -> None:
    Blob.objects.update(created_at=START - 9 * GRACE, kept_at=None)
    call_command("collect_blobs", "--dry-run", stdout=(told := StringIO()))
    assert told.getvalue() == "18 blobs would be removed: 0.0 MB\n"
    assert numbers_that_are_there(pair) == set(range(1, 25))
