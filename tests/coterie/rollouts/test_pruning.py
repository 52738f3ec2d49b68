"""Of roll-outs that ended long ago, what single devices reported goes; their figures stay."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.core.acting import OperatorRole
from coterie.core.pruning import prune
from coterie.rollouts.models import Rollout, Trial
from tests.coterie.rollouts.world import World
from tests.coterie.world import START

pytestmark = pytest.mark.django_db


def test_trials_of_what_has_ended_go_and_those_of_what_is_measured_stay() -> None:
    rollout = World().start()
    assert rollout.state == Rollout.State.MEASURING
    prune(now=START + timedelta(days=400))
    assert Trial.objects.count() == 2
    figures = {"devices": 2, "reports": 0}
    Rollout.objects.update(state=Rollout.State.ROLLED_BACK, ended_at=START + timedelta(days=1), figures=figures)
    prune(now=START + timedelta(days=366))
    assert Trial.objects.count() == 2, "it ended a year ago, less an hour"
    prune(now=START + timedelta(days=367))
    assert not Trial.objects.exists()
    assert Rollout.objects.get().figures == figures


def test_the_rest_api_says_after_how_many_days_they_went(settings: Settings) -> None:
    settings.KEEP_HISTORY_DAYS = 100
    rollout, api = World().start(), APIClient()
    api.force_authenticate(create_operator(username="vera", role=OperatorRole.VIEWER).operator)
    address = f"/api/rollouts/{rollout.pk}/"
    assert api.get(address).json()["answers_deleted_after_days"] is None
    Rollout.objects.update(state=Rollout.State.ROLLED_BACK, ended_at=timezone.now() - timedelta(days=101))
    prune(now=timezone.now())
    told = api.get(address).json()
    assert (told["trials"], told["answers_deleted_after_days"]) == ([], 100)
