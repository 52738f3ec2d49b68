"""``coterie prune-history`` says what would go, in words and as JSON, and removes it."""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from coterie.config.tasks import prune_history
from coterie.fleet_evaluation.models import Evaluation, Part
from tests.coterie.world import make_device, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def evaluation() -> Evaluation:
    """One that ended long ago."""
    pair, then = make_pair(), timezone.now() - timedelta(days=400)
    made = Evaluation.objects.create(
        version=make_version(pair),
        federation=make_federation(pair),
        devices_wanted=1,
        reports_needed=1,
        within_s=1,
        state=Evaluation.State.FINISHED,
        created_at=then,
        due_at=then,
        ended_at=then,
    )
    Part.objects.create(evaluation=made, device=make_device("kitchen"))
    return made


def test_it_says_what_would_go_and_removes_it(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("prune_history", "--dry-run")
    assert "parts of evaluations: 1 would be removed\n" in capsys.readouterr().out
    assert Part.objects.count() == 1
    call_command("prune_history")
    assert "parts of evaluations: 1 removed\n" in capsys.readouterr().out
    assert not Part.objects.exists()
    assert Evaluation.objects.exists()


def test_it_tells_programs(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("prune_history", "--dry-run", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["days"], told["dry_run"]) == (365, True)
    assert {"name": "parts of evaluations", "table": "fleet_evaluation.Part", "rows": 1} in told["rows"]


def test_it_says_that_all_is_kept(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    settings.KEEP_HISTORY_DAYS = 0
    call_command("prune_history")
    assert capsys.readouterr().out == "COTERIE_KEEP_HISTORY_DAYS is 0: nothing is removed\n"
    assert Part.objects.exists()


def test_the_platform_does_so_by_itself() -> None:
    prune_history()
    assert not Part.objects.exists()
