"""The steps of a help request and of its transfers, each a compare-and-set: of all who try, one succeeds."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from coterie.core.events import tell_consoles, wake_device
from coterie.transfer.files import forget_portion
from coterie.transfer.models import HelpRequest, Transfer
from coterie_wire.conditions import Reason

State = HelpRequest.State

STEPS: Mapping[State, frozenset[State]] = {
    State.ASKED: frozenset({State.MATCHED, State.UNMATCHED, State.ABANDONED}),
    State.MATCHED: frozenset({State.REQUESTED, State.ASKED, State.ABANDONED}),
    State.REQUESTED: frozenset({State.DELIVERED, State.ASKED, State.ABANDONED}),
    State.DELIVERED: frozenset({State.MERGED, State.JUDGED, State.ASKED, State.ABANDONED}),
    State.MERGED: frozenset({State.JUDGED, State.ASKED, State.ABANDONED}),
}
ENDS = frozenset({State.JUDGED, State.UNMATCHED, State.ABANDONED})


def step(
    request: HelpRequest, to: State, *, reason: Reason | None, now: datetime, due_in_s: float | None = None
) -> bool:
    """Take `request` from the state it was read in to `to`; False if another worker has moved it meanwhile.

    The new state must have ended within `due_in_s` seconds; None keeps the time that the old one had.
    """
    before = State(request.state)
    assert to in STEPS[before], f"a help request does not go from {before} to {to}"
    values: dict[str, object] = {"state": to, "changed_at": now, "searched_at": None, **_reason_columns(reason)}
    if due_in_s is not None:
        values["due_at"] = now + timedelta(seconds=due_in_s)
    if to in ENDS:
        values["finished_at"] = now
    if not HelpRequest.objects.filter(pk=request.pk, state=before).update(**values):
        request.refresh_from_db()
        return False
    tell_consoles("transfer")
    for name, value in values.items():
        setattr(request, name, value)
    return True


def explain(request: HelpRequest, reason: Reason, *, now: datetime) -> None:
    """Say why a request goes on waiting for a helper."""
    HelpRequest.objects.filter(pk=request.pk, state=request.state).update(searched_at=now, **_reason_columns(reason))
    if request.reason() != reason:
        tell_consoles("transfer")


def step_transfer(transfer: Transfer, to: Transfer.State, *, among: tuple[str, ...], **changes: object) -> bool:
    """Take `transfer` to `to` if it is in one of the states `among`."""
    values = {"state": to, **changes}
    if not Transfer.objects.filter(pk=transfer.pk, state__in=among).update(**values):
        transfer.refresh_from_db()
        return False
    tell_consoles("transfer")
    for name, value in values.items():
        setattr(transfer, name, value)
    return True


def end_transfer(
    transfer: Transfer, to: Transfer.State, *, reason: Reason | None, now: datetime, **figures: object
) -> bool:
    """End a live transfer: its portion is removed, and its helper, which may still be at it, is woken."""
    columns = _reason_columns(reason)
    at_helper = transfer.state in Transfer.WITH_HELPER
    if not step_transfer(transfer, to, among=Transfer.LIVE, ended_at=now, **columns, **figures):
        return False
    forget_portion(transfer.pk)
    if at_helper:
        wake_device(str(transfer.helper_id))
    return True


def live_transfer(request: HelpRequest) -> Transfer | None:
    """The helper's part that the request rests on now."""
    return request.transfers.filter(state__in=Transfer.LIVE).select_related("helper").first()


def _reason_columns(reason: Reason | None) -> dict[str, str]:
    if reason is None:
        return {"reason_code": "", "reason_sentence": ""}
    return {"reason_code": reason.code, "reason_sentence": reason.sentence[:400]}
