"""Running a merge: one worker at a time works on it, and its result is published exactly once."""

import logging
import uuid
from collections.abc import Callable
from datetime import datetime
from functools import partial
from threading import Event
from time import perf_counter

from coterie.child.errors import Cancelled, Crashed, OutOfMemory, OutOfTime
from coterie.core.errors import CoterieError
from coterie.core.kind_failures import KindFailed, kind_failures
from coterie.core.lease import Heartbeat
from coterie.core.postponing import DISK_FULL, lack_of
from coterie.core.scratch import scratch_directory
from coterie.merging import reasons
from coterie.merging.averaging import Merger, average, merge_here_or_in_child
from coterie.merging.distilling import Distiller, distil, distil_in_a_child
from coterie.merging.models import Merge
from coterie.merging.publishing import abandon, publish_outcome
from coterie.merging.showing import Shown
from coterie.merging.transitions import (
    MAX_ATTEMPTS,
    WhyItWaits,
    hold,
    postpone_after_failure,
    postpone_without_blame,
    take,
)

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]


def run_merge(
    *,
    merge_id: int,
    clock: Clock,
    merger: Merger = merge_here_or_in_child,
    distiller: Distiller = distil_in_a_child,
) -> None:
    """Make candidates from a merge's updates and publish them, unless another worker does or the merge has ended.

    When a worker dies, another takes the merge over once the lease ends. Where the disk is full, or the storage of
    files does not answer, the merge waits.
    """
    lease = uuid.uuid4()
    merge = take(merge_id, lease=lease, now=clock())
    if merge is None:
        return
    with Heartbeat(lambda: hold(merge_id, lease=lease, now=clock())) as heartbeat:
        try:
            with kind_failures():
                _work(merge, lease, heartbeat.lost, clock, merger, distiller)
        except Cancelled:
            logger.info("%s has been taken over by another worker", merge)
        except (Crashed, OutOfMemory, OutOfTime, KindFailed) as error:
            _retry_later(merge, error, lease=lease, now=clock())
        except Exception as error:
            why = _why_it_waits(error)
            if why is not None:
                logger.warning("%s waits: %s", merge, error)
                postpone_without_blame(merge, why, lease=lease, now=clock())
            elif isinstance(error, CoterieError):
                abandon(merge=merge, reason=error.reason(), now=clock())
            else:
                problem = f"{type(error).__name__}: {error}"
                postpone_after_failure(merge, problem, lease=lease, now=clock())
                raise


def _work(merge: Merge, lease: uuid.UUID, lost: Event, clock: Clock, merger: Merger, distiller: Distiller) -> None:
    """Make the candidates and publish them. Raises what the jobs raise."""
    started = perf_counter()
    with scratch_directory("merge") as directory:
        if merge.parsed_plan().merge.reads == "models":
            shown = Shown(merge.pk, lease, clock)
            outcome = distil(merge, directory, lost, shown.show, now=clock(), distiller=distiller)
        else:
            outcome = average(merge, directory, lost, now=clock(), merger=merger)
        publish_outcome(merge_id=merge.pk, outcome=outcome, merge_s=perf_counter() - started, now=clock())


def _why_it_waits(error: Exception) -> WhyItWaits | None:
    """The temporary shortage that caused the error, such as a full disk; None: there is none."""
    lack = lack_of(error)
    if lack is None:
        return None
    return reasons.disk_full if lack.code == DISK_FULL else partial(reasons.storage_away, lack.sentence)


def _retry_later(merge: Merge, error: CoterieError, *, lease: uuid.UUID, now: datetime) -> None:
    """Leave the merge to the next worker after a pause; after the last attempt abandon it."""
    merge.refresh_from_db(fields=["attempts"])
    logger.warning("%s failed, attempt %d: %s", merge, merge.attempts, error)
    if merge.attempts >= MAX_ATTEMPTS:
        abandon(merge=merge, reason=error.reason(), now=now)
    else:
        postpone_after_failure(merge, f"{error} [{error.code}]", lease=lease, now=now)
