"""Where a training job stores its checkpoints: on the disk that all platform processes share."""

import shutil
import uuid
from collections.abc import Collection
from pathlib import Path

from django.conf import settings
from django.db import transaction


def checkpoints_of(job_id: uuid.UUID) -> Path:
    """A job's directory."""
    path = _directory() / str(job_id)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def pass_on_checkpoints(former: uuid.UUID, job_id: uuid.UUID) -> None:
    """Have a retried job resume from the checkpoints of the former one."""
    path = _directory() / str(former)
    if path.exists():
        path.rename(_directory() / str(job_id))


def delete_checkpoints(job_id: uuid.UUID) -> None:
    """Remove a job's checkpoints once the transaction commits; does nothing if there are none."""
    transaction.on_commit(lambda: _remove(_directory() / str(job_id)))


def keep_only(jobs: Collection[uuid.UUID]) -> None:
    """Remove the checkpoints of all other jobs."""
    kept = set(map(str, jobs))
    for path in _directory().glob("*"):
        if path.name not in kept:
            _remove(path)


def jobs_with_checkpoints() -> list[uuid.UUID]:
    """Every job with stored checkpoints."""
    return [uuid.UUID(path.name) for path in _directory().glob("*")]


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


def _directory() -> Path:
    return settings.CLUSTER_SHARED or Path(settings.STATE) / "jobs"
