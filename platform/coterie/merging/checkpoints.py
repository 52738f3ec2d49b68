"""Where a merge stores its checkpoints: on the disk that all platform processes share."""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.db import transaction


def checkpoints_of(merge_id: int, *, begun_with: Sequence[str]) -> Path:
    """A directory for a merge that begins with these versions.

    If an operator changes a champion between two attempts, the second starts from scratch, in another directory.
    """
    path = _directory(merge_id) / hashlib.sha256("/".join(begun_with).encode()).hexdigest()[:16]
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def delete_checkpoints(merge_id: int) -> None:
    """Remove a merge's checkpoints once the transaction commits; nothing happens if there are none."""
    transaction.on_commit(lambda: shutil.rmtree(_directory(merge_id), ignore_errors=True))


def merges_with_checkpoints() -> set[int]:
    """Every merge that has stored checkpoints."""
    return {int(path.name) for path in _directory(0).parent.glob("*")}


def _directory(merge_id: int) -> Path:
    return Path(settings.STATE) / "merges" / str(merge_id)
