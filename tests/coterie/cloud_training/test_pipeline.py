"""From two uploaded programs to a device model that the fleet can train, with real child processes."""

from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.running import run_job
from coterie.cloud_training.services import bootstrap_pair, sweep
from coterie.registry.models import Role
from coterie.registry.selectors import champion, signed_manifest
from coterie.registry.services import add_dataset, submit_pair
from tests.coterie.world import later

# Committed for real: the heartbeat extends leases from a thread of its own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("compile")]


def exported(directory: Path, name: str, *, width: int) -> Path:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 3))
    batch = torch.export.Dim("batch", min=1)
    path = directory / f"{name}.pt2"
    torch.export.save(torch.export.export(model, (torch.zeros(2, 4),), dynamic_shapes=({0: batch},)), path)
    return path


def run_queued(kind: str) -> TrainingJob:
    job = TrainingJob.objects.get(kind=kind, state="queued")
    run_job(job_id=job.pk, clock=lambda: later(1))
    job.refresh_from_db()
    return job


def test_a_pair_is_checked_bootstrapped_and_distilled(tmp_path: Path) -> None:
    device, cloud = exported(tmp_path, "device", width=8), exported(tmp_path, "cloud", width=16)
    pair = submit_pair(
        name="Small", device_program=device, cloud_program=cloud, labels=["a", "b", "c"], batch_size=8, now=later(0)
    )
    sweep(now=later(0))
    job = run_queued("preflight")
    assert (job.state, job.error_sentence) == ("succeeded", "")
    pair.refresh_from_db()
    assert pair.state == "ready"
    assert pair.report["device_parameters"] == 4 * 8 + 8 + 8 * 3 + 3

    rng = np.random.default_rng(0)
    path = tmp_path / "data.npz"
    np.savez(path, x=rng.random((40, 4), np.float32), y=np.arange(40) % 3)
    dataset = add_dataset(name="noise", path=path, now=later(0))
    bootstrap_pair(pair=pair, dataset=dataset, options=TrainingOptions(epochs=1, distil_epochs=1), now=later(0))
    assert run_queued("bootstrap").state == "succeeded"
    assert run_queued("distill").state == "succeeded"
    teacher, student = champion(pair.pk, Role.CLOUD), champion(pair.pk, Role.DEVICE)
    assert (teacher.number, teacher.origin) == (1, "bootstrap")
    assert (student.number, student.origin) == (1, "distillation")
    assert signed_manifest(student.pk).signature


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
    assert job.error_code == pair.reason_code == "compile.malformed_upload"
    sweep(now=later(2))
    assert TrainingJob.objects.count() == 1
