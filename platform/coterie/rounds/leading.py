"""The message to supernodes: the round that they receive updates for, and the sum that is requested of them."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from coterie.fleet.models import Device
from coterie.registry.selectors import signed_manifest
from coterie.rounds.branches import sum_route
from coterie.rounds.fold_tree import Folds, all_shares, live_folds, own_shares, parts_of, roll, weighed_fingerprints
from coterie.rounds.islands import Islands
from coterie.rounds.models import Assignment, Fold, Round, Route
from coterie.rounds.routing import tier_seeds
from coterie_learning.device_plan import device_plan_json
from coterie_learning.partial_sums import combined
from coterie_wire.relaying import ChildSum, Lead, Order


def leads_of(devices: Sequence[Device], islands: Islands) -> Mapping[UUID, Lead]:
    """By device that is a supernode of an open round, or a voter of its islands; of several rounds, the first."""
    offering = [device.pk for device in devices if device.capabilities.get("relay")]
    if not offering:
        return {}
    routes = Route.objects.filter(
        supernode__in=offering,
        assignment__round__state=Round.State.OPEN,
        assignment__state__in=Assignment.UNENDED,
    ).order_by()
    led = set(routes.values_list("assignment__round", "supernode"))
    asked = Fold.objects.filter(supernode__in=offering, state=Fold.State.ASKED, round__state=Round.State.OPEN)
    led |= set(asked.order_by().values_list("round", "supernode"))
    leading = {supernode for _, supernode in led}
    led |= {(round_, device) for device, round_ in islands.standby_rounds(devices).items() if device not in leading}
    rounds = Round.objects.select_related("federation", "base_version__pair").in_bulk({round_ for round_, _ in led})
    found: dict[UUID, Lead] = {}
    by_key = {device.pk: device for device in devices}
    for round_, supernode in sorted(led):
        if supernode not in found:
            found[supernode] = _lead(rounds[round_], by_key[supernode], islands)
    return found


def _lead(round_: Round, supernode: Device, islands: Islands) -> Lead:
    assert round_.base_version_id is not None, "an open round has a base"
    plan = round_.parsed_plan()
    asked = round_.folds.filter(supernode=supernode, state=Fold.State.ASKED)
    fold = asked.select_related("round", "supernode", "parent").first()
    return Lead(
        round=str(round_.pk),
        plan=msgspec.Raw(device_plan_json(plan.device)),
        manifest=signed_manifest(round_.base_version_id),
        order=None if fold is None else _order(fold),
        island=islands.of(round_, supernode),
    )


def _order(fold: Fold) -> Order | None:
    folds = live_folds(fold.round_id)
    if fold.parent_id is not None and fold.parent_id not in folds:
        return None  # the parent has not been told yet to accept it
    parts = [_part(part, folds, tier=fold.tier) for part in parts_of(fold, folds)]
    if None in parts:
        return None  # an update of one is not held any more, and another sum will be requested
    children = tuple(part for part in parts if part is not None)
    return Order(fold=str(fold.pk), shares=own_shares(fold), parts=children, route=sum_route(fold))


def _part(fold: Fold, folds: Folds, *, tier: int) -> ChildSum | None:
    """The message to the supernode of a tier about a sum that goes into its own."""
    shares = all_shares(fold, folds)
    fingerprints = weighed_fingerprints(shares, tier=tier)
    if fingerprints is None:
        return None
    return ChildSum(
        fold=str(fold.pk),
        supernode=str(fold.supernode_id),
        weight=sum(share.weight for share in shares),
        seed=tier_seeds(fold.round)[tier - 1],
        fingerprint=combined(fingerprints),
        roll=roll(fold, folds),
    )
