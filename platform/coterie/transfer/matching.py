"""Finds a helper: the most similar device that knows the troubled classes, is present and is not busy."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from coterie.core.events import wake_device
from coterie.fleet.models import Device
from coterie.fleet.presence import is_present
from coterie.transfer import reasons
from coterie.transfer.models import HelpRequest, Transfer
from coterie.transfer.neighbourhood import Neighbour, nearest, unfit
from coterie.transfer.routes import initial_way
from coterie.transfer.transitions import State, explain, step
from coterie_learning.help import MatchRules
from coterie_learning.unmatched import no_helper_reason
from coterie_wire.conditions import NETWORK_CODES, Reason

LOOKED_AT = 64
"""Nearest neighbours whose presence is looked up; more are unlikely to help where none of these is present."""


def find_helper(request: HelpRequest, *, now: datetime) -> None:
    """Match a request in state asked, end it unmatched, or record why it waits. The caller holds its row."""
    rules = request.rules()
    tried = list(request.transfers.values_list("helper_id", flat=True))
    if len(tried) >= rules.neighbours_tried:
        _end_unmatched(request, reasons.tried_all(len(tried)), now)
        return
    neighbours = nearest(request, exclude=(request.device_id, *tried), limit=LOOKED_AT)
    for neighbour in _present(neighbours, now):
        if _is_free(neighbour, rules):
            _match(request, neighbour, rules, now)
            return
    reason = reasons.BUSY if neighbours else _why_no_helper(request, tried)
    if request.due_at <= now:
        _end_unmatched(request, reason, now)
    else:
        explain(request, reason, now=now)


def _why_no_helper(request: HelpRequest, tried: Sequence[UUID]) -> Reason:
    found = unfit(request, exclude=(request.device_id, *tried))
    return no_helper_reason(found, request.classes, tried=len(tried))


def _present(neighbours: Sequence[Neighbour], now: datetime) -> list[Neighbour]:
    """The neighbours that are present, on a network over which they may send, nearest first."""
    keys = [neighbour.device for neighbour in neighbours]
    devices = Device.objects.filter(is_present(now), pk__in=keys)
    able = {device.pk for device in devices if not _is_cut_off(device)}
    return [neighbour for neighbour in neighbours if neighbour.device in able]


def _is_cut_off(device: Device) -> bool:
    return any(reason.code in NETWORK_CODES for reason in device.reported_blockers())


def _is_free(neighbour: Neighbour, rules: MatchRules) -> bool:
    """Whether the device may serve one more; locks its row, so that two requests do not both take its last place."""
    Device.objects.select_for_update(no_key=True).get(pk=neighbour.device)
    serving = Transfer.objects.filter(helper=neighbour.device, state__in=Transfer.WITH_HELPER)
    return serving.count() < rules.serves_at_once


def _match(request: HelpRequest, neighbour: Neighbour, rules: MatchRules, now: datetime) -> None:
    if not step(request, State.MATCHED, reason=reasons.TELLING, now=now, due_in_s=rules.deliver_s):
        return
    Transfer.objects.create(
        request=request,
        helper_id=neighbour.device,
        divergence=neighbour.divergence,
        matched_at=now,
        due_at=now + timedelta(seconds=rules.deliver_s),
        **initial_way(Device.objects.get(pk=neighbour.device), request.device),
    )
    wake_device(str(neighbour.device))


def _end_unmatched(request: HelpRequest, reason: Reason, now: datetime) -> None:
    if step(request, State.UNMATCHED, reason=reason, now=now):
        wake_device(str(request.device_id))
