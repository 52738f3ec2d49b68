"""What cloud models are made into for devices is made before anything is locked, and devices wait for it."""

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from coterie.registry.models import ModelPair, Role, TeacherWeights
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Assignment, Round
from tests.coterie.registry import watched_storage
from tests.coterie.world import fleet_of, keep, later, make_federation, make_pair, make_version

PLAN = {"local": {"kind": "distill"}}


@pytest.fixture
def watched(settings: Settings, tmp_path: Path) -> list[bool]:
    """For each blob that is written, whether a transaction was open."""
    backend = "tests.coterie.registry.watched_storage.WatchedStorage"
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": backend, "OPTIONS": {"location": tmp_path / "b"}}}
    return watched_storage.held


@pytest.fixture
def pair() -> ModelPair:
    """With a cloud model, and a graph of it for devices."""
    pair = make_pair()
    make_version(pair)
    make_version(pair, seed=7, role=Role.CLOUD)
    ModelPair.objects.update(teacher_predict=keep(b"teacher"), teacher_parameters=pair.spec["parameters"])
    pair.refresh_from_db()
    return pair


@pytest.mark.django_db(transaction=True)
def test_no_transaction_waits_while_weights_are_quantised(watched: list[bool], pair: ModelPair) -> None:
    make_federation(pair, plan=PLAN, target_updates=1, min_updates=1)
    watched.clear()
    (device,) = fleet_of(1)
    assigned = device.check_in(later(0)).assignment
    assert assigned is not None and assigned.teacher is not None
    assert watched == [False]


@pytest.mark.django_db
def test_a_device_waits_for_a_cloud_model_that_was_replaced_a_moment_ago(pair: ModelPair) -> None:
    make_federation(pair, plan=PLAN, target_updates=2, min_updates=1, over_selection=1.0)
    first, second = fleet_of(2)
    first.check_in(later(0))
    sweep(now=later(1))
    assert Round.objects.get().places == 1
    newer = make_version(pair, seed=8, role=Role.CLOUD)
    assert second.say(later(2)).assignment is None
    assert not TeacherWeights.objects.filter(version=newer).exists()
    second.check_in(later(3))
    assert Assignment.objects.get(device=second.row).teacher == newer
