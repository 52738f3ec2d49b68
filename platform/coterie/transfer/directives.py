"""What devices should do for one another now: the transfers' part of the answer to a check-in."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from coterie.federations.models import Federation
from coterie.fleet.kinds import lacked_by
from coterie.fleet.models import Device
from coterie.transfer import reasons
from coterie.transfer.advancing import held_request
from coterie.transfer.models import HelpRequest, Transfer
from coterie.transfer.routes import direct_way
from coterie.transfer.selectors import standing_of
from coterie.transfer.transitions import State, live_transfer, step, step_transfer
from coterie_wire.helping import HelpNews, HelpState, Portion, Serve, StandingPlan
from coterie_wire.structs import from_values


class TransferDirectives(NamedTuple):
    """The part of a directive that does not concern rounds."""

    standing: StandingPlan | None
    """The plan that applies between rounds; None: there is none."""
    help: HelpNews | None
    """The state of the device's own request."""
    serve: Serve | None
    """Another device waits for help."""

    @property
    def is_urgent(self) -> bool:
        """Whether another device waits for its help."""
        return self.serve is not None or (self.help is not None and self.help.portion is not None)


def duties_of(
    *, device: Device, federation: Federation | None, waiting: Transfer | None, asks_about: str | None, now: datetime
) -> TransferDirectives:
    """What `device` should know and do; `waiting` for it is the oldest of the transfers that it should serve.

    `asks_about` names the help request that it has not seen the end of.
    """
    is_able = federation is not None and not lacked_by(device, federation.parsed_plan())
    return TransferDirectives(
        standing=standing_of(federation) if federation is not None and is_able else None,
        help=None if asks_about is None else news_of(device=device, request_id=asks_about, now=now),
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
    """What the helper does, which from now on knows of it; None: the transfer has ended meanwhile."""
    if transfer.state == Transfer.State.MATCHED and not _tell(transfer, now):
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
def _tell(transfer: Transfer, now: datetime) -> bool:
    """Whether the helper is to serve, now that it is told."""
    request = held_request(transfer.request_id)
    if request is None or not step_transfer(transfer, Transfer.State.REQUESTED, requested_at=now):
        return transfer.state == Transfer.State.REQUESTED
    step(request, State.REQUESTED, reason=reasons.SERVING, now=now)
    return True
