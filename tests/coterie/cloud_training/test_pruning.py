"""Old jobs go where no version came of them, and the logs of all; what goes on or is to be put right stays."""

from datetime import datetime, timedelta

import pytest

from coterie.cloud_training.models import JobLine, TrainingJob
from coterie.core.pruning import prune
from coterie.registry.models import Dataset, ModelPair
from tests.coterie.world import START, later, make_dataset, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
YEAR_LATER = START + timedelta(days=366)


@pytest.fixture
def pair() -> ModelPair:
    return make_pair()


@pytest.fixture
def dataset() -> Dataset:
    return make_dataset()


def job(pair: ModelPair, dataset: Dataset, kind: str, state: str, second: float, **facts: object) -> TrainingJob:
    ended: datetime | None = None if state in TrainingJob.ACTIVE else later(second)
    made = TrainingJob.objects.create(
        pair=pair, dataset=dataset, kind=kind, state=state, created_at=later(second), finished_at=ended, **facts
    )
    JobLine.objects.create(job=made, at=later(second), text="it begins")
    return made


def left() -> set[tuple[str, str]]:
    return set(TrainingJob.objects.values_list("kind", "state"))


def test_jobs_that_made_no_version_go_and_the_others_lose_their_logs(pair: ModelPair, dataset: Dataset) -> None:
    version = make_version(pair)
    job(pair, dataset, "preflight", "succeeded", 0)
    job(pair, dataset, "bootstrap", "failed", 1)
    job(pair, dataset, "bootstrap", "succeeded", 2)
    job(pair, dataset, "quantise", "succeeded", 3, version=version)
    job(pair, dataset, "distill", "cancelled", 4)
    simulated = {"federation": make_federation(pair), "found": {}}
    job(pair, dataset, "simulation", "succeeded", 5, **simulated)
    running = job(pair, dataset, "distill", "running", 6)
    prune(now=START + timedelta(days=300))
    assert (TrainingJob.objects.count(), JobLine.objects.count()) == (7, 7)
    prune(now=YEAR_LATER)
    assert left() == {("preflight", "succeeded"), ("bootstrap", "succeeded"), ("distill", "running")}
    assert [line.job for line in JobLine.objects.all()] == [running]


def test_the_latest_of_a_pair_stays_since_it_may_be_tried_again(pair: ModelPair, dataset: Dataset) -> None:
    job(pair, dataset, "bootstrap", "failed", 1)
    latest = job(pair, dataset, "bootstrap", "failed", 2)
    job(pair, dataset, "simulation", "failed", 3, federation=make_federation(pair))
    prune(now=YEAR_LATER)
    assert list(TrainingJob.objects.all()) == [latest]
