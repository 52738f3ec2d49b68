"""How long a job's checkpoints are there, and who goes on from them."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from coterie.cloud_training.checkpoints import checkpoints_of, jobs_with_checkpoints
from coterie.cloud_training.curve import Curve
from coterie.cloud_training.leasing import MAX_ATTEMPTS, record_curve, succeed
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import KEPT, bootstrap_pair, cancel_job, retry_job, sweep
from coterie.core.lease import LEASE, SKEW
from coterie_wire.errors import WireError
from tests.coterie.cloud_training.taking import begin_job
from tests.coterie.world import later, make_dataset, make_pair

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings, "STATE", tmp_path)


@pytest.fixture
def job() -> TrainingJob:
    made = bootstrap_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=later(0))
    Path(checkpoints_of(made.pk), "training").write_bytes(b"epoch 7")
    return made


def test_a_job_that_is_tried_again_goes_on_from_its_checkpoint(job: TrainingJob) -> None:
    cancel_job(job=job, now=later(1))
    sweep(now=later(2))
    again = retry_job(job=job, now=later(3))
    assert Path(checkpoints_of(again.pk), "training").read_bytes() == b"epoch 7"
    assert jobs_with_checkpoints() == [again.pk]


def test_a_job_that_succeeded_forgets_them(job: TrainingJob) -> None:
    taken = begin_job(job.pk, job.pk, later(1))
    assert taken is not None
    assert succeed(taken, job.pk, later(2))
    assert jobs_with_checkpoints() == []


def test_a_job_that_was_cancelled_keeps_them_for_a_week(job: TrainingJob) -> None:
    cancel_job(job=job, now=later(1))
    sweep(now=later(1) + KEPT)
    assert jobs_with_checkpoints() == [job.pk]
    sweep(now=later(2) + KEPT)
    assert jobs_with_checkpoints() == []


def test_a_job_is_hopeless_only_where_no_attempt_gets_further(job: TrainingJob) -> None:
    now = later(0)
    for attempt in range(3 * MAX_ATTEMPTS):
        now += LEASE + SKEW + timedelta(seconds=1)
        taken = begin_job(job.pk, job.pk, now)
        assert taken is not None, f"attempt {attempt} went further than the one before"
        record_curve(job.pk, job.pk, Curve(()))
    for _ in range(MAX_ATTEMPTS):
        now += LEASE + SKEW + timedelta(seconds=1)
        assert begin_job(job.pk, job.pk, now) is not None
    now += LEASE + SKEW + timedelta(seconds=1)
    assert begin_job(job.pk, job.pk, now) is None
    sweep(now=now)
    job.refresh_from_db()
    assert (job.state, job.reason_code) == ("failed", "cloud_training.gave_up")


def test_the_strategy_is_checked_and_written_out() -> None:
    pair, dataset = make_pair(), make_dataset()
    wrong = TrainingOptions(strategy={"kind": "local_sgd", "worker": 2})
    with pytest.raises(WireError, match="workers") as caught:
        bootstrap_pair(pair=pair, dataset=dataset, options=wrong, now=later(0))
    assert caught.value.code == "strategy.invalid"
    options = TrainingOptions(strategy={"kind": "local_sgd", "workers": 3})
    made = bootstrap_pair(pair=pair, dataset=dataset, options=options, now=later(0))
    assert made.options["strategy"] == {
        "kind": "local_sgd",
        "workers": 3,
        "period": 20,
        "adaptive": True,
        "interval_steps": 100,
        "decay": 0.5,
    }
