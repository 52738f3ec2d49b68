"""Queries on help between devices."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

import msgspec
from django.db.models import Q

from coterie.core.row_keys import key_of
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.transfer.errors import UnknownTransfer
from coterie.transfer.models import Transfer
from coterie_learning.device_plan import device_plan_json
from coterie_learning.help import HelpRules
from coterie_learning.plan import Document, parse_plan
from coterie_wire.helping import StandingPlan
from coterie_wire.structs import from_json


def rules_of(federation: Federation) -> HelpRules | None:
    """The current rules of help; None where devices do not help each other, or the federation is not active."""
    if federation.state not in (Federation.State.RUNNING, Federation.State.PAUSED):
        return None
    return federation.parsed_plan().help.rules()


def effective_plan_of(federation: Federation) -> StandingPlan | None:
    """The device plan that applies to its members between rounds; None where none does.

    After the last round devices do not help each other any more. Personal models beside the version are still trained
    until the federation is archived, since only after the last round devices hold the final version.
    """
    if federation.state == Federation.State.DRAFT or federation.archived_at is not None:
        return None
    if federation.state == Federation.State.FINISHED:
        plan = federation.parsed_plan()
        if plan.personal.rules(plan.local) is None:
            return None
    return _effective_plan(federation.slug, msgspec.json.encode(federation.plan))


def waiting_for(devices: Sequence[Device]) -> Mapping[UUID, Transfer]:
    """The oldest transfer in which each of `devices` should help, with its request and federation."""
    waiting = Transfer.objects.filter(helper__in=devices, state__in=Transfer.WITH_HELPER)
    found: dict[UUID, Transfer] = {}
    for transfer in waiting.select_related("request__federation", "request__device").order_by("matched_at", "id"):
        found.setdefault(transfer.helper_id, transfer)
    return found


def are_in_transfer(device: Device, other: Device) -> bool:
    """Whether one of the two helps the other now."""
    live = Transfer.objects.filter(state__in=Transfer.LIVE)
    pair = Q(helper=device, request__device=other) | Q(helper=other, request__device=device)
    return live.filter(pair).exists()


def transfer_from(device: Device, transfer_id: str) -> Transfer:
    """The transfer of that identifier in which the device helps. Raises UnknownTransfer."""
    return _transfer(transfer_id, helper=device)


def transfer_to(device: Device, transfer_id: str) -> Transfer:
    """The transfer of that identifier in which the device is helped. Raises UnknownTransfer."""
    return _transfer(transfer_id, request__device=device)


def _transfer(transfer_id: str, **whose: Device) -> Transfer:
    key = key_of(transfer_id, UnknownTransfer(transfer=transfer_id))
    transfer = Transfer.objects.select_related("request__federation__pair").filter(pk=key, **whose).first()
    if transfer is None:
        raise UnknownTransfer(transfer=transfer_id)
    return transfer


@lru_cache(maxsize=256)
def _effective_plan(slug: str, plan: bytes) -> StandingPlan | None:
    """Cached: it is needed at every check-in, while plans hardly ever change."""
    device_plan = parse_plan(from_json(plan, Document)).device
    if not device_plan.holds_between_rounds:
        return None
    content = device_plan_json(device_plan)
    return StandingPlan(digest=sha256(content).hexdigest(), federation=slug, plan=msgspec.Raw(content))
