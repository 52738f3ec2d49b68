"""What supernodes are told: the round that they receive updates for, and the sum that they are asked for."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from coterie.fleet.models import Device
from coterie.registry.selectors import signed_manifest
from coterie.rounds.models import Assignment, Fold, Round, Route
from coterie_learning.device_plan import device_plan_json
from coterie_wire.relaying import Lead, Order, Weighed
from coterie_wire.structs import from_values


def leads_of(devices: Sequence[Device]) -> Mapping[UUID, Lead]:
    """Of those of `devices` that are supernodes of an open round; of several, of the one that opened first."""
    offering = [device.pk for device in devices if device.capabilities.get("relay")]
    if not offering:
        return {}
    routes = Route.objects.filter(
        supernode__in=offering,
        assignment__round__state=Round.State.OPEN,
        assignment__state__in=Assignment.UNENDED,
    ).order_by()
    led = sorted(routes.values_list("assignment__round", "supernode").distinct())
    rounds = Round.objects.select_related("federation").in_bulk({round_ for round_, _ in led})
    found: dict[UUID, Lead] = {}
    for round_, supernode in led:
        if supernode not in found:
            found[supernode] = _lead(rounds[round_], supernode)
    return found


def _lead(round_: Round, supernode: UUID) -> Lead:
    assert round_.base_version_id is not None, "an open round has a base"
    plan = round_.parsed_plan()
    asked = Fold.objects.filter(round=round_, supernode=supernode, state=Fold.State.ASKED).first()
    return Lead(
        round=str(round_.pk),
        plan=msgspec.Raw(device_plan_json(plan.device)),
        manifest=signed_manifest(round_.base_version_id),
        order=None
        if asked is None
        else Order(fold=str(asked.pk), shares=from_values(asked.shares, tuple[Weighed, ...])),
    )
