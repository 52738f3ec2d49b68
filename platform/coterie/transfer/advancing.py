"""Performs the due steps of a help request; it may be called at any time, and calling twice changes nothing."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from coterie.core.events import wake_device
from coterie.core.resting import LONGEST_S
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet.presence import is_absent
from coterie.transfer import reasons
from coterie.transfer.clock import follow_clock
from coterie.transfer.jobs import ADVANCE
from coterie.transfer.matching import find_helper
from coterie.transfer.models import HelpRequest, Transfer
from coterie.transfer.selectors import effective_plan_of
from coterie.transfer.transitions import State, end_transfer, live_transfer, step
from coterie_wire.conditions import Reason

SEARCH_AGAIN = timedelta(seconds=2)
"""Least time between two searches for the same request that found no helper."""


@transaction.atomic
def advance_request(*, request_id: UUID, now: datetime) -> None:
    """Advance the request as far as it goes now. Locks its row, so that workers take turns."""
    request = locked_request(request_id)
    if request is None or not request.is_live:
        return
    lost = _why_lost(request)
    if lost is not None:
        abandon(request, lost, now=now)
        return
    transfer = live_transfer(request)
    if transfer is not None and transfer.state in Transfer.WITH_HELPER:
        gone = _why_helper_is_lost(transfer, now)
        if gone is not None:
            give_up(request, transfer, Transfer.State.EXPIRED, gone, now=now)
    elif transfer is not None and request.due_at <= now:
        abandon(request, reasons.UNJUDGED, now=now)
    if request.state == State.ASKED:
        find_helper(request, now=now)


def sweep(*, now: datetime) -> float:
    """Find every request that is due; this alone is enough for each to end. Returns seconds until one may become due.

    A failure of one request does not delay the others. Raises ExceptionGroup after all were processed.
    """
    if not HelpRequest.objects.filter(state__in=HelpRequest.LIVE).exists():
        return LONGEST_S
    follow_clock(now=now)
    failures: list[Exception] = []
    for request_id in due_requests(now=now):
        try:
            advance_request(request_id=request_id, now=now)
        except Exception as error:  # noqa: BLE001 - raised below
            failures.append(error)
    if failures:
        raise ExceptionGroup("help requests could not go on", failures)
    return 0.0


def due_requests(*, now: datetime) -> list[UUID]:
    """Live requests for which something may be due."""
    live = HelpRequest.objects.filter(state__in=HelpRequest.LIVE)
    due = (
        Q(due_at__lte=now)
        | Q(state=State.ASKED, searched_at=None)
        | Q(state=State.ASKED, searched_at__lte=now - SEARCH_AGAIN)
        | (Q(transfers__state__in=Transfer.WITH_HELPER) & is_absent(now, of="transfers__helper__"))
        | Q(transfers__state__in=Transfer.WITH_HELPER, transfers__due_at__lte=now)
        | (Q(transfers__state__in=Transfer.WITH_HELPER) & ~Q(transfers__helper__state=Device.State.ENROLLED))
        | ~Q(device__state=Device.State.ENROLLED)
        | Q(federation__state=Federation.State.FINISHED)
    )
    return list(live.filter(due).order_by().distinct().values_list("pk", flat=True))


def locked_request(request_id: UUID) -> HelpRequest | None:
    """The current state of the request, its row locked until the transaction ends; None: it is gone or has ended."""
    HelpRequest.objects.select_for_update(no_key=True).filter(pk=request_id).first()
    return HelpRequest.objects.select_related("federation", "device").filter(pk=request_id).first()


def abandon(request: HelpRequest, reason: Reason, *, now: datetime) -> None:
    """End a live request without an answer."""
    transfer = live_transfer(request)
    if transfer is not None:
        to = Transfer.State.EXPIRED if reason == reasons.UNJUDGED else Transfer.State.WITHDRAWN
        end_transfer(transfer, to, reason=reason, now=now)
    if step(request, State.ABANDONED, reason=reason, now=now):
        wake_device(str(request.device_id))


def give_up(request: HelpRequest, transfer: Transfer, to: Transfer.State, reason: Reason, *, now: datetime) -> None:
    """End a transfer without a result, and search for another helper."""
    if end_transfer(transfer, to, reason=reason, now=now):
        step(request, State.ASKED, reason=None, now=now, due_in_s=request.rules().match_s)
        ADVANCE.send(request=str(request.pk))


def _why_lost(request: HelpRequest) -> Reason | None:
    """Why the answer is no longer needed; None: it is needed."""
    if request.device.state != Device.State.ENROLLED:
        return reasons.GONE
    effective_plan = effective_plan_of(request.federation)
    if effective_plan is None or effective_plan.digest != request.plan_digest:
        return reasons.PLAN_CHANGED
    return None


def _why_helper_is_lost(transfer: Transfer, now: datetime) -> Reason | None:
    """Why a helper will not deliver any more; None: it still may."""
    if transfer.helper.state != Device.State.ENROLLED:
        return reasons.GONE
    if transfer.due_at <= now or not transfer.helper.is_present(now):
        return reasons.SILENT
    return None
