"""A job whose child process fails, with a real one; the system tests have one that succeeds."""

from pathlib import Path

import pytest

from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.running import run_job
from coterie.cloud_training.services import sweep
from coterie.registry.services import submit_pair
from tests.coterie.world import later

# Committed for real: the heartbeat extends leases from a thread of its own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("compile")]


def run_queued(kind: str) -> TrainingJob:
    job = TrainingJob.objects.get(kind=kind, state="queued")
    run_job(job_id=job.pk, clock=lambda: later(1))
    job.refresh_from_db()
    return job


def test_an_upload_that_is_no_program_is_rejected_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "program.pt2"
    path.write_bytes(b"no program")
    pair = submit_pair(
        name="Broken", device_program=path, cloud_program=path, labels=["a", "b"], batch_size=16, now=later(0)
    )
    sweep(now=later(0))
    job = run_queued("preflight")
    pair.refresh_from_db()
    assert (job.state, pair.state) == ("failed", "rejected")
    assert job.reason_code == pair.reason_code == "compile.malformed_upload"
    assert pair.reason_fields.keys() == {"detail"}
    sweep(now=later(2))
    assert TrainingJob.objects.count() == 1
