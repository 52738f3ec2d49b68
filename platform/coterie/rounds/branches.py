"""The route of each supernode's sum: through another supernode, or directly; decided when sums are requested.

A route changes only by `send_sum_directly`, which raises its epoch and has the sum sent to the platform.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from coterie.core.durable import Steps
from coterie.core.events import notify_consoles, wake_device
from coterie.federations.selectors import members
from coterie.fleet.models import Device
from coterie.fleet.presence import is_on_time
from coterie.rounds import reasons
from coterie.rounds.fold_tree import live_folds
from coterie.rounds.models import Fold, Round, Route
from coterie.rounds.routing import (
    capabilities_of,
    devices_knowing_seeds,
    has_power,
    room_of,
    route_to,
)
from coterie.rounds.suitability import suitabilities
from coterie_learning.sum_tree import Branch, Offering, grown
from coterie_wire.conditions import Reason
from coterie_wire.relaying import SumRoute

FOLDS = Steps(
    Fold,
    ways={
        Fold.State.ASKED: frozenset({Fold.State.HELD, Fold.State.ACCEPTED, Fold.State.VOID}),
        Fold.State.HELD: frozenset({Fold.State.ASKED, Fold.State.VOID}),
        Fold.State.ACCEPTED: frozenset({Fold.State.VOID}),
    },
    app="rounds",
)


def build_tree(round_: Round, leaves: Collection[UUID], *, now: datetime) -> Mapping[UUID, Branch]:
    """The tree of a round's supernodes, where `leaves` are those that hold updates."""
    topology = round_.parsed_plan().topology
    present = {
        device.pk: device
        for device in members(round_.federation).filter(is_on_time(now), quarantine="", paused_at=None)
        if _adds_sums(device)
    }
    knowing_seeds = devices_knowing_seeds(round_)
    able = [device for device in present.values() if device.pk not in knowing_seeds and has_power(device)]
    suitability = suitabilities(round_, able)
    offering = [
        Offering(str(device.pk), room_of(device, topology.fan_in() or 0), suitability[device.pk].score)
        for device in able
    ]
    own = Device.objects.in_bulk(list(leaves))
    tags = {str(device.pk): tuple(device.tags) for device in (*own.values(), *present.values())}
    tiers = topology.tiers()
    unchecked = frozenset(
        str(leaf) for leaf in leaves if leaf not in present or not _is_checked(round_, leaf, len(tiers))
    )
    found = grown([str(leaf) for leaf in leaves], offering, tags, tiers, unchecked=unchecked)
    return {UUID(name): branch for name, branch in found.items()}


def send_sum_directly(*, fold: Fold, reason: Reason, now: datetime) -> bool:
    """Have a sum that goes through another supernode sent to the platform; False: it was rerouted already, or is void.

    The sums that it would have gone into become void. The caller holds the round's row.
    """
    ancestors = _ancestors(fold)
    columns = {"parent": None, "held_at": None, "epoch": fold.epoch + 1, "asked_at": now}
    same = Fold.objects.filter(pk=fold.pk, epoch=fold.epoch, parent__isnull=False, state__in=("asked", "held"))
    if not same.update(state=Fold.State.ASKED, way_code=reason.code, way_sentence=reason.sentence, **columns):
        return False
    for one in ancestors:
        void(one, reasons.FOLD_OUTDATED)
    fold.refresh_from_db()
    wake_device(str(fold.supernode_id))
    notify_consoles("rounds")
    return True


def void(fold: Fold, reason: Reason) -> bool:
    """Withdraw the request for the sum; what has arrived of it does not count."""
    return FOLDS.take_from_any(fold, Fold.State.VOID, reason=reason, partial=None)


def void_with_ancestors(fold: Fold, reason: Reason) -> bool:
    """Withdraw the requests for the sum and for all sums that it would have gone into."""
    for one in _ancestors(fold):
        void(one, reasons.FOLD_OUTDATED)
    return void(fold, reason)


def sum_route(fold: Fold) -> SumRoute | None:
    """Where a supernode is told to send its sum; None: to the platform."""
    parent = fold.parent
    if parent is None:
        return None
    return route_to(parent, fold.supernode, assignment=fold.pk, epoch=fold.epoch, until=fold.round.deadline_at)


def _ancestors(fold: Fold) -> list[Fold]:
    """The sums that it goes into, directly or through others."""
    folds, found, parent = live_folds(fold.round_id), [], fold.parent_id
    while parent is not None and parent in folds:
        found.append(folds[parent])
        parent = folds[parent].parent_id
    return found


def _adds_sums(device: Device) -> bool:
    capabilities = capabilities_of(device)
    return capabilities.relay is not None and capabilities.relay.sums and capabilities.peer_key is not None


def _is_checked(round_: Round, leaf: UUID, tiers: int) -> bool:
    """Whether all updates that it holds have fingerprints of all tiers."""
    held = Route.objects.filter(assignment__round=round_, supernode=leaf, held_at__isnull=False)
    return all(len(fingerprints) == tiers for fingerprints in held.values_list("tier_fingerprints", flat=True))
