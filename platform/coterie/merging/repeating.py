"""Repeats a published merge from another parent version, with those of its updates that are still stored."""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from coterie.cloud.averaging_job import NoUpdateLeft, StoredUpdate, TooFewUpdates
from coterie.core.errors import CoterieError, ErrorKind
from coterie.merging.averaging import (
    RESIDUAL,
    Beginning,
    Merger,
    arguments_of,
    carried_figures,
    quality_figures,
)
from coterie.merging.figures import by_class
from coterie.merging.models import Merge
from coterie.merging.reasons import DAMAGED
from coterie.registry.models import Metric
from coterie.registry.services import store_file


class UpdateLost(CoterieError):
    """Fields: sha256."""

    code = "merging.update_lost"
    kind = ErrorKind.CONFLICT
    sentence = "Update {sha256} of the merge is not there any more as it was accepted."


@dataclass(frozen=True)
class Repeated:
    """The result of a merge repeated from another parent version."""

    result: Beginning
    metrics: Mapping[str, Metric]
    """Metrics of a version that is made of it."""


def repeat(
    merge: Merge, beginning: Beginning, directory: Path, cancel: threading.Event, *, now: datetime, merger: Merger
) -> Repeated | None:
    """Merge the remaining updates of the merge as if no others had come; None: too few are left to merge.

    The rows of updates are not changed: what the first merge recorded stays. Raises UpdateLost, or what the job raises.
    """
    updates = list(merge.updates.filter(partial=None))
    if not updates:
        return None
    try:
        arguments = arguments_of(merge, updates, beginning, directory, now=now)
        result = merger(arguments, cancel)
    except FileNotFoundError as error:
        raise UpdateLost(sha256=Path(error.filename or "").name) from error
    except (NoUpdateLeft, TooFewUpdates):
        _check_files_exist(arguments.updates)
        return None
    for fault in result.left_out:
        if fault.code == DAMAGED.code:
            raise UpdateLost(sha256=fault.sha256)
    state = None if result.server_state is None else store_file(path=Path(arguments.state_output), now=now).pk
    residual = None if result.residual is None else store_file(path=directory / RESIDUAL, now=now).pk
    parameters = store_file(path=Path(arguments.output), now=now).pk
    metrics = {**quality_figures(result), **by_class(result.candidate), **carried_figures(result)}
    return Repeated(Beginning(parameters, state, residual, metrics), metrics)


def _check_files_exist(updates: Sequence[StoredUpdate]) -> None:
    """Raises UpdateLost if a file is missing or damaged, so that this is why nothing was merged."""
    for update in updates:
        try:
            with Path(update.path).open("rb") as file:
                is_there = hashlib.file_digest(file, "sha256").hexdigest() == update.sha256
        except FileNotFoundError:
            is_there = False
        if not is_there:
            raise UpdateLost(sha256=update.sha256)
