"""Of roll-outs of the agent that ended long ago, devices' parts go, but for orders that are still to be followed."""

from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.agent_rollouts.services import roll_back_agent_rollout, stop_agent_rollout
from coterie.core.pruning import prune
from tests.coterie.agent_rollouts.world import (
    NOW,
    advance,
    device,
    later,
    published_in,
    report,
    repository,
    start,
    told,
)

pytestmark = pytest.mark.django_db
YEAR_LATER = NOW + timedelta(days=366)


@pytest.fixture
def rollout(tmp_path: Path, settings: Settings) -> AgentRollout:
    """To three devices, of which the first two have installed it."""
    published_in(repository(tmp_path).root, settings)
    devices = [device(f"device-{number}") for number in range(3)]
    begun = advance(start(phases=[1.0]))
    for row in devices[:2]:
        report(begun, row, "installed")
    return begun


def test_parts_of_what_goes_on_stay(rollout: AgentRollout) -> None:
    prune(now=YEAR_LATER)
    assert rollout.updates.count() == 3


def test_parts_of_what_was_stopped_go_and_its_figures_stay(rollout: AgentRollout) -> None:
    advance(rollout, 2)
    stop_agent_rollout(rollout=rollout, now=later(3))
    prune(now=NOW + timedelta(days=300))
    assert rollout.updates.count() == 3
    prune(now=YEAR_LATER)
    assert not rollout.updates.exists()
    rollout.refresh_from_db()
    assert rollout.figures["installed"] == 2


def test_a_device_that_was_off_for_a_year_is_still_told_to_go_back(rollout: AgentRollout) -> None:
    roll_back_agent_rollout(rollout=rollout, now=later(3))
    back, off = (update.device for update in rollout.updates.filter(state="installed").order_by("device__name"))
    report(rollout, back, "returned", seconds=4)
    prune(now=YEAR_LATER)
    assert [update.device for update in DeviceUpdate.objects.select_related("device")] == [off]
    order = told(off)
    assert order is not None and order.to_do == "return"
