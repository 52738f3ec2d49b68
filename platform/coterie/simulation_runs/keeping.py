"""The checkpoint directories of runs, on the disk that all platform processes of a machine share."""

import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings


def checkpoint_directory(run_id: uuid.UUID) -> Path:
    """A run's directory."""
    path = _directory() / str(run_id)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def delete_checkpoint(run_id: uuid.UUID) -> None:
    """Delete a run's directory; no effect if there is none."""
    shutil.rmtree(_directory() / str(run_id), ignore_errors=True)


def delete_all_but(runs: Iterable[uuid.UUID]) -> None:
    """Delete the directories of all other runs."""
    found = {path.name: path for path in _directory().glob("*")}
    if found:
        for name in found.keys() - {str(run) for run in runs}:
            shutil.rmtree(found[name], ignore_errors=True)


def _directory() -> Path:
    return Path(settings.STATE) / "simulation-runs"
