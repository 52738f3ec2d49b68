"""Where nothing is to be done periodic work rests; that each is busy while it has something, its own tests say."""

import pytest
from django.conf import settings
from django.utils.module_loading import import_string

from coterie.core.resting import LONGEST_S

pytestmark = pytest.mark.django_db
RESTING = (
    "coterie.agent_rollouts.tasks.advance",
    "coterie.alliances.tasks.sweep",
    "coterie.analytics.tasks.sweep",
    "coterie.cloud_training.tasks.place",
    "coterie.cloud_training.tasks.sweep",
    "coterie.fleet.tasks.settle",
    "coterie.fleet_evaluation.tasks.sweep",
    "coterie.merging.tasks.sweep",
    "coterie.owners.tasks.sweep",
    "coterie.rounds.tasks.sweep",
    "coterie.simulation_runs.tasks.sweep",
    "coterie.transfer.tasks.sweep",
    "coterie.twin.tasks.look",
)
"""Those of which an idle platform would have several a second."""


@pytest.mark.parametrize("name", RESTING)
def test_nothing_to_do_is_a_long_rest(name: str) -> None:
    assert name in settings.PERIODIC_TASKS
    task = import_string(name).run
    task()  # the first look may put something right
    assert task() == LONGEST_S


def test_whatever_runs_each_five_seconds_or_oftener_rests() -> None:
    assert {name for name, every_s in settings.PERIODIC_TASKS.items() if every_s <= 5.0} <= {*RESTING}
