"""A job's log has each stage and how it goes, and does not grow without bound."""

from datetime import timedelta

import pytest

from coterie.cloud_training import job_log
from coterie.cloud_training.job_log import log, log_progress
from coterie.cloud_training.models import JobLine
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from tests.coterie.world import START, later, make_dataset, make_pair

pytestmark = pytest.mark.django_db


@pytest.fixture
def job_id() -> object:
    return bootstrap_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=START).pk


def test_a_stage_is_told_at_once_and_its_progress_now_and_then(job_id) -> None:
    for second in range(12):
        log_progress(job_id, "training", f"training {second} of 12", later(second))
    log_progress(job_id, "measuring", "measuring", later(12))
    assert [line.text for line in JobLine.objects.all()] == [
        "training 0 of 12",
        "training 5 of 12",
        "training 10 of 12",
        "measuring",
    ]


def test_the_oldest_lines_of_a_long_job_go(job_id, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_log, "MAX_LINES", 10)
    for number in range(101):
        log(job_id, str(number), START + timedelta(seconds=number))
    assert 10 <= JobLine.objects.count() < 101
    assert JobLine.objects.last().text == "100"
