import uuid

import msgspec
import pytest

from coterie.child.job import Progress, Unconfined
from coterie.cloud.errors import CannotSplit
from coterie.cloud_training.errors import (
    DatasetDoesNotFit,
    JobHasEnded,
    JobHasNotFailed,
    NoCloudModel,
    NotCompiled,
    PairBusy,
    PairNotReady,
)
from coterie.cloud_training.leasing import (
    fail,
    fail_or_retry,
    hold_job,
    put_back,
    record_progress,
    record_unconfined,
    succeed,
    take_job,
)
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.running import run_job
from coterie.cloud_training.services import (
    bootstrap_pair,
    cancel_job,
    check_pair,
    distill_pair,
    place_jobs,
    retry_job,
    sweep,
)
from coterie.cluster.services import place_of
from coterie.registry.models import ModelPair, Role
from coterie_wire.conditions import Reason
from tests.coterie.cloud_training.taking import begin_job
from tests.coterie.world import later, make_dataset, make_pair, make_version

pytestmark = pytest.mark.django_db
REASON = Reason("training.diverged", "it diverged")


@pytest.fixture
def job() -> TrainingJob:
    return bootstrap_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=later(0))


@pytest.fixture
def lease() -> uuid.UUID:
    return uuid.uuid4()


def refreshed(job: TrainingJob) -> TrainingJob:
    job.refresh_from_db()
    return job


def state_of(job: TrainingJob) -> str:
    return refreshed(job).state


class TestBootstrap:
    def test_needs_a_pair_that_passed(self) -> None:
        pair = make_pair()
        pair.state = ModelPair.State.REJECTED
        with pytest.raises(PairNotReady):
            bootstrap_pair(pair=pair, dataset=make_dataset(), options=TrainingOptions(), now=later(0))

    @pytest.mark.parametrize("facts", [{"shape": (5,)}, {"classes": 4}])
    def test_needs_data_that_fit(self, facts: dict[str, object]) -> None:
        with pytest.raises(DatasetDoesNotFit):
            bootstrap_pair(pair=make_pair(), dataset=make_dataset(**facts), options=TrainingOptions(), now=later(0))

    def test_needs_a_model_that_the_strategy_can_divide(self) -> None:
        pair = make_pair()
        pair.report = {"cloud_splits": ["head"], "cloud_obstacle": "not before 'body': 2 tensors are needed after it"}
        options = TrainingOptions(strategy={"kind": "pipeline", "workers": 3, "microbatches": 3})
        with pytest.raises(CannotSplit, match="no 3 stages; it can be split before head; not before 'body'"):
            bootstrap_pair(pair=pair, dataset=make_dataset(), options=options, now=later(0))
        options = TrainingOptions(strategy={"kind": "pipeline", "workers": 2, "split_before": ["head"]})
        job = refreshed(bootstrap_pair(pair=pair, dataset=make_dataset(), options=options, now=later(0)))
        assert job.options["strategy"]["split_before"] == ["head"]

    @pytest.mark.parametrize("kind", ["data_parallel", "parameter_server"])
    def test_is_not_compiled_where_transfers_wait_in_its_passes(self, kind: str) -> None:
        strategy: dict[str, object] = {"kind": kind, "transfers": "priority"}
        options, pair, dataset = TrainingOptions(strategy=strategy, compiled=True), make_pair(), make_dataset()
        with pytest.raises(NotCompiled, match="choose one of the two"):
            bootstrap_pair(pair=pair, dataset=dataset, options=options, now=later(0))
        at_once = msgspec.structs.replace(options, strategy={"kind": kind})
        assert bootstrap_pair(pair=pair, dataset=dataset, options=at_once, now=later(0))

    def test_is_one_at_a_time(self, job: TrainingJob) -> None:
        with pytest.raises(PairBusy):
            bootstrap_pair(pair=job.pair, dataset=job.dataset, options=TrainingOptions(), now=later(1))


class TestDistillation:
    def test_is_from_the_cloud_model_in_use(self) -> None:
        pair, dataset = make_version(make_pair(), role=Role.CLOUD).pair, make_dataset()
        job = distill_pair(pair=pair, dataset=dataset, options=TrainingOptions(), now=later(0))
        assert (job.kind, job.state, job.dataset) == ("distill", "queued", dataset)

    def test_needs_one(self) -> None:
        with pytest.raises(NoCloudModel):
            distill_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=later(0))

    def test_needs_data_that_fit(self) -> None:
        pair = make_version(make_pair(), role=Role.CLOUD).pair
        with pytest.raises(DatasetDoesNotFit):
            distill_pair(pair=pair, dataset=make_dataset(classes=4), options=TrainingOptions(), now=later(0))


class TestLease:
    def test_is_held_by_one_worker(self, job: TrainingJob, lease: uuid.UUID) -> None:
        assert begin_job(job.pk, lease, later(0)) is not None
        assert begin_job(job.pk, uuid.uuid4(), later(1)) is None
        assert hold_job(job.pk, lease, later(5))
        assert begin_job(job.pk, uuid.uuid4(), later(7)) is None

    def test_is_held_no_longer_when_the_clock_is_set_back(self, job: TrainingJob, lease: uuid.UUID) -> None:
        begin_job(job.pk, lease, later(3600))
        assert sweep(now=later(0)) == place_jobs(now=later(0)) == 0.0, "a lease has moments of its own"
        assert begin_job(job.pk, uuid.uuid4(), later(0)) is not None

    def test_says_what_it_runs_without(self, job: TrainingJob, lease: uuid.UUID) -> None:
        begin_job(job.pk, lease, later(0))
        record_unconfined(job.pk, uuid.uuid4(), Unconfined(("nothing of its own",)), later(1))
        record_unconfined(job.pk, lease, Unconfined(("being cut off from the network",)), later(1))
        job.refresh_from_db()
        assert job.unconfined == "being cut off from the network"
        assert job.lines.last().text.startswith("it runs without being cut off")

    def test_passes_on_when_its_worker_dies(self, job: TrainingJob, lease: uuid.UUID) -> None:
        begin_job(job.pk, lease, later(0))
        assert begin_job(job.pk, uuid.uuid4(), later(7)) is not None
        assert not hold_job(job.pk, lease, later(8))
        assert not succeed(refreshed(job), lease, later(8))
        assert not fail(refreshed(job), lease, REASON, later(8))
        assert state_of(job) == "running"

    def test_is_not_given_for_ever(self, job: TrainingJob) -> None:
        for attempt in range(3):
            assert begin_job(job.pk, uuid.uuid4(), later(10 * attempt)) is not None
        assert begin_job(job.pk, uuid.uuid4(), later(30)) is None
        sweep(now=later(31))
        assert state_of(job) == "failed"
        assert job.reason_code == "cloud_training.gave_up"

    def test_is_given_for_two_jobs_at_a_time(self) -> None:
        jobs = [
            bootstrap_pair(
                pair=make_pair(f"pair-{number}"), dataset=make_dataset(), options=TrainingOptions(), now=later(number)
            )
            for number in range(3)
        ]
        leases = [uuid.uuid4() for _ in jobs]
        taken = [begin_job(job.pk, lease, later(3)) for job, lease in zip(jobs, leases, strict=True)]
        assert [job is not None for job in taken] == [True, True, False]
        succeed(refreshed(jobs[0]), leases[0], later(4))
        assert begin_job(jobs[2].pk, leases[2], later(4)) is not None

    def test_is_given_back_by_a_job_that_makes_room(self, job: TrainingJob, lease: uuid.UUID) -> None:
        taken, former = begin_job(job.pk, lease, later(0)), place_of(job.pk)
        assert taken is not None and former is not None
        assert put_back(taken, lease, later(1))
        assert (state_of(job), job.attempts) == ("queued", 0), "it is no attempt that died"
        assert job.reason_code == "cloud_training.put_back"
        again = begin_job(job.pk, lease, later(2))
        assert again is not None and again.placement == former.placement + 1
        assert take_job(job.pk, uuid.uuid4(), later(20), place=former) is None, "a task of the former placement"

    def test_is_taken_again_after_failures_that_go_away(self, job: TrainingJob, lease: uuid.UUID) -> None:
        taken = begin_job(job.pk, lease, later(0))
        assert taken is not None
        crashed = Reason("child.crashed", "bootstrap ended with status -9")
        assert not fail_or_retry(taken, lease, crashed, later(1))
        assert state_of(job) == "queued"
        assert job.reason_sentence == "it is tried again in 8 s, after: bootstrap ended with status -9"
        assert begin_job(job.pk, lease, later(5)) is None
        taken = begin_job(job.pk, lease, later(10))
        assert taken is not None
        assert fail_or_retry(taken, lease, REASON, later(11)), "others would come again"
        assert state_of(job) == "failed"

    def test_shows_progress(self, job: TrainingJob, lease: uuid.UUID) -> None:
        begin_job(job.pk, lease, later(0))
        record_progress(job.pk, lease, Progress("training", 3, 12, {"loss": 0.25}), later(1))
        job.refresh_from_db()
        assert (job.progress, job.progress_sentence) == (0.25, "training 3 of 12, loss 0.25")


class TestCancel:
    def test_ends_a_job_for_its_worker_too(self, job: TrainingJob, lease: uuid.UUID) -> None:
        begin_job(job.pk, lease, later(0))
        cancel_job(job=job, now=later(1))
        assert not hold_job(job.pk, lease, later(2))
        run_job(job_id=job.pk, placement=job.placement, clock=lambda: later(3))
        assert state_of(job) == "cancelled"

    def test_comes_too_late_for_what_has_ended(self, job: TrainingJob) -> None:
        cancel_job(job=job, now=later(1))
        with pytest.raises(JobHasEnded):
            cancel_job(job=job, now=later(2))

    def test_of_a_preflight_rejects_the_pair(self) -> None:
        pair = make_pair()
        ModelPair.objects.update(state="checking")
        check_pair(pair_id=pair.pk, now=later(0))
        check_pair(pair_id=pair.pk, now=later(0))
        cancel_job(job=TrainingJob.objects.get(), now=later(1))
        pair.refresh_from_db()
        assert (pair.state, pair.reason_code) == ("rejected", "cloud_training.cancelled")


class TestRetry:
    def test_does_what_failed_once_more(self, job: TrainingJob, lease: uuid.UUID) -> None:
        begin_job(job.pk, lease, later(0))
        fail(refreshed(job), lease, REASON, later(1))
        job.refresh_from_db()
        again = retry_job(job=job, now=later(2))
        assert (again.kind, again.options, again.state) == (job.kind, job.options, "queued")

    def test_leaves_alone_what_has_not_failed(self, job: TrainingJob) -> None:
        with pytest.raises(JobHasNotFailed):
            retry_job(job=job, now=later(1))
