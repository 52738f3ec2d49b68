"""What devices should do for one another now: the transfers' part of the answer to a check-in."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from coterie.federations.models import Federation
from coterie.fleet.kinds import lacked_by
from coterie.fleet.models import Device
from coterie.transfer import reasons
from coterie.transfer.advancing import locked_request
from coterie.transfer.models import HelpRequest, Transfer
from coterie.transfer.routes import direct_way
from coterie.transfer.selectors import effective_plan_of
from coterie.transfer.transitions import State, live_transfer, step, step_transfer
from coterie_wire.helping import HelpNews, HelpState, Portion, Serve, StandingPlan
from coterie_wire.structs import from_values


class TransferDirectives(NamedTuple):
    """The part of a directive that does not concern rounds."""

    effective_plan: StandingPlan | None
    """The plan that applies between rounds; None: there is none."""
    help: HelpNews | None
    """The state of the device's own request."""
    serve: Serve | None
    """The request of another device that this one should help; None: there is none."""

    @property
    def is_urgent(self) -> bool:
        """Whether another device waits for its help, or a portion for it."""
        return self.serve is not None or (self.help is not None and self.help.portion is not None)


def transfer_directives_of(
    *, device: Device, federation: Federation | None, waiting: Transfer | None, open_request: str | None, now: datetime
) -> TransferDirectives:
    """The transfers' part of a directive; `waiting` is the oldest transfer in which `device` should help.

    `open_request` names its own help request of whose end it has not been told.
    """
    is_able = federation is not None and not lacked_by(device, federation.parsed_plan())
    return TransferDirectives(
        effective_plan=effective_plan_of(federation) if federation is not None and is_able else None,
        help=None if open_request is None else news_of(device=device, request_id=open_request, now=now),
        serve=None if waiting is None else _serve(waiting, now),
    )


def news_of(*, device: Device, request_id: str, now: datetime) -> HelpNews:
    """The state of the device's request."""
    try:
        request = HelpRequest.objects.filter(pk=UUID(request_id), device=device).first()
    except ValueError:
        request = None
    if request is None:
        return HelpNews(request=request_id, state="unknown")
    transfer = live_transfer(request)
    portion = None
    if transfer is not None:
        direct = direct_way(transfer, transfer.helper, now=now) if transfer.is_announced else None
        if transfer.state in Transfer.WITH_TARGET or direct is not None:
            remaining_s = max(0.0, (request.due_at - now).total_seconds())
            portion = Portion(str(transfer.pk), transfer.portion(), remaining_s, direct)
    return HelpNews(
        request=request_id,
        state=from_values(request.state, HelpState),
        reason=request.reason(),
        portion=portion,
    )


def _serve(transfer: Transfer, now: datetime) -> Serve | None:
    """The instruction to the helper, recorded as given; None: the transfer has ended meanwhile."""
    if transfer.state == Transfer.State.MATCHED and not _mark_requested(transfer, now):
        return None
    request = transfer.request
    return Serve(
        transfer=str(transfer.pk),
        federation=request.federation.slug,
        digest=request.plan_digest,
        classes=tuple(request.classes),
        remaining_s=max(0.0, (transfer.due_at - now).total_seconds()),
        direct=direct_way(transfer, request.device, now=now),
    )


@transaction.atomic
def _mark_requested(transfer: Transfer, now: datetime) -> bool:
    """Record that the helper has been told to serve; False: the transfer has ended meanwhile."""
    request = locked_request(transfer.request_id)
    if request is None or not step_transfer(transfer, Transfer.State.REQUESTED, requested_at=now):
        return transfer.state == Transfer.State.REQUESTED
    step(request, State.REQUESTED, reason=reasons.SERVING, now=now)
    return True
