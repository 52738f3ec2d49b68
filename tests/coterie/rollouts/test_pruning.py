"""Of roll-outs that ended long ago, what single devices reported goes; their figures stay."""

from datetime import timedelta

import pytest

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
