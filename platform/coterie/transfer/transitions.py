"""The steps of a help request and of its transfers, each a compare-and-set: of all workers that try, one succeeds."""

from datetime import datetime, timedelta

from coterie.core.durable import Steps
from coterie.core.events import wake_device
from coterie.transfer.files import discard_portion
from coterie.transfer.models import HelpRequest, Transfer
from coterie_wire.conditions import Reason

State = HelpRequest.State

STEPS = Steps(
    HelpRequest,
    ways={
        State.ASKED: frozenset({State.MATCHED, State.UNMATCHED, State.ABANDONED}),
        State.MATCHED: frozenset({State.REQUESTED, State.ASKED, State.ABANDONED}),
        State.REQUESTED: frozenset({State.DELIVERED, State.ASKED, State.ABANDONED}),
        State.DELIVERED: frozenset({State.MERGED, State.JUDGED, State.ASKED, State.ABANDONED}),
        State.MERGED: frozenset({State.JUDGED, State.ASKED, State.ABANDONED}),
    },
    app="transfer",
)
ENDS = frozenset({State.JUDGED, State.UNMATCHED, State.ABANDONED})

Part = Transfer.State
FAILURES = frozenset({Part.DECLINED, Part.REJECTED, Part.EXPIRED, Part.WITHDRAWN})
VERDICTS = frozenset({Part.KEPT, Part.UNDONE})
PARTS = Steps(
    Transfer,
    ways={
        Part.MATCHED: FAILURES | {Part.REQUESTED, Part.DELIVERED},
        Part.REQUESTED: FAILURES | {Part.DELIVERED},
        Part.DELIVERED: FAILURES | VERDICTS | {Part.MERGED},
        Part.MERGED: FAILURES | VERDICTS,
    },
    app="transfer",
)


def step(
    request: HelpRequest, to: State, *, reason: Reason | None, now: datetime, due_in_s: float | None = None
) -> bool:
    """Take `request` from the state it was read in to `to`; False if another worker has moved it meanwhile.

    The new state must have ended within `due_in_s` seconds; None keeps the old state's time.
    """
    changes: dict[str, object] = {"changed_at": now, "searched_at": None}
    if due_in_s is not None:
        changes["due_at"] = now + timedelta(seconds=due_in_s)
    if to in ENDS:
        changes["finished_at"] = now
    return STEPS.take(request, to, reason=reason, **changes)


def explain(request: HelpRequest, reason: Reason, *, now: datetime) -> None:
    """Record why a request waits for a helper, and when one was last searched for."""
    HelpRequest.objects.filter(pk=request.pk, state=request.state).update(searched_at=now)
    STEPS.explain(request, reason)


def step_transfer(transfer: Transfer, to: Transfer.State, **changes: object) -> bool:
    """Move a live `transfer` to another state; False if its current state does not allow it."""
    return PARTS.take_from_any(transfer, to, reason=None, **changes)


def end_transfer(
    transfer: Transfer, to: Transfer.State, *, reason: Reason | None, now: datetime, **figures: object
) -> bool:
    """End a live transfer: its portion is removed, and its helper, which may be working on it, is woken."""
    at_helper = transfer.state in Transfer.WITH_HELPER
    if not PARTS.take_from_any(transfer, to, reason=reason, ended_at=now, **figures):
        return False
    discard_portion(transfer.pk)
    if at_helper:
        wake_device(str(transfer.helper_id))
    return True


def live_transfer(request: HelpRequest) -> Transfer | None:
    """The current transfer of the request."""
    return request.transfers.filter(state__in=Transfer.LIVE).select_related("helper").first()
