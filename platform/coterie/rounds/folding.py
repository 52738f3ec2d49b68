"""From held updates to their sums: supernodes are asked for sums with final weights, and their devices are counted.

If a supernode fails, its devices send their updates to the platform; the weights then change, and all supernodes are
asked again. Each time one supernode fewer takes part, or has sums routed through it, so this terminates.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec

from coterie.core.events import wake_devices
from coterie.core.rows import insert_all
from coterie.fleet.models import Device
from coterie.merging.averaging import ordinary_norm_of
from coterie.merging.models import Update
from coterie.rounds import reasons
from coterie.rounds.branches import build_tree, send_sum_directly, void, void_with_ancestors
from coterie.rounds.counting import count_update
from coterie.rounds.ending import close
from coterie.rounds.fold_tree import Folds, live_folds, own_shares, parts_of, subtree
from coterie.rounds.gathering import held_routes
from coterie.rounds.lost_supernodes import gone_supernodes
from coterie.rounds.models import Assignment, Fold, Round, Route, Upload
from coterie.rounds.routing import send_directly
from coterie.rounds.transitions import end_assignments, explain
from coterie_learning.cohort import UpdateFigures, weights_of_figures
from coterie_learning.sum_tree import RequestedSum, Wanted, are_all_in, faults, required_sums, valid_requests
from coterie_wire.conditions import Reason
from coterie_wire.relaying import Weighed

FAULTS = {
    "silent": reasons.SUPERNODE_SILENT,
    "late": reasons.SUPERNODE_LATE,
    "parent_away": reasons.PARENT_LATE,
}
STATES: Mapping[str, Literal["asked", "held", "accepted"]] = {
    Fold.State.ASKED: "asked",
    Fold.State.HELD: "held",
    Fold.State.ACCEPTED: "accepted",
}


def gather(*, round_: Round, now: datetime) -> None:
    """Advance an open round that gathers sums as far as it goes now. The caller holds its row."""
    patience_s = round_.parsed_plan().topology.patience_s()
    _answer_faults(round_, patience_s, now)
    resending = Assignment.objects.filter(round=round_, state__in=Assignment.UNENDED, route__held_at=None)
    if resending.filter(route__changed_at__gt=now - timedelta(seconds=patience_s)).exists():
        explain(round_, reasons.resending(resending.count()), now=now)
        return
    end_assignments(resending, Assignment.State.RELEASED, reason=reasons.CLOSED, now=now)
    held = list(held_routes(round_).select_related("assignment__upload"))
    if held:
        _request_sums(round_, _shares(round_, held), now)
        folds = live_folds(round_.pk)
        requested = _requested_sums(folds)
        if not are_all_in({name: one.wanted for name, one in requested.items()}, requested):
            tops = [fold for fold in folds.values() if fold.parent_id is None]
            accepted = sum(fold.state == Fold.State.ACCEPTED for fold in tops)
            explain(round_, reasons.gathering(accepted=accepted, asked=len(tops)), now=now)
            return
        _count_all(round_, held, folds, now)
    close(round_=round_, now=now)


def give_up(*, round_: Round, fold: Fold, reason: Reason, now: datetime) -> None:
    """Give up a sum that does not come: its devices, and supernodes whose sums it adds, send to the platform instead.

    The caller holds the round's row.
    """
    for part in parts_of(fold, live_folds(round_.pk)):
        send_sum_directly(fold=part, reason=reasons.PARENT_GONE, now=now)
    if void_with_ancestors(fold, reason):
        send_directly(round_=round_, supernode=fold.supernode, reason=reason, now=now)


def _answer_faults(round_: Round, patience_s: float, now: datetime) -> None:
    folds = live_folds(round_.pk)
    due = faults(
        _requested_sums(folds),
        gone=gone_supernodes(round_=round_, folds=folds, now=now),
        now_s=now.timestamp(),
        patience_s=patience_s,
    )
    for fault in due:
        fold, reason = folds[UUID(fault.supernode)], FAULTS[fault.why]
        if fault.act == "cut":
            send_sum_directly(fold=fold, reason=reason, now=now)
        else:
            give_up(round_=round_, fold=fold, reason=reason, now=now)


def _requested_sums(folds: Folds) -> Mapping[str, RequestedSum[Weighed]]:
    """The rows in the form that `coterie_learning.sum_tree` reads."""
    return {
        str(supernode): RequestedSum(
            wanted=Wanted(own_shares(fold), frozenset(str(part.supernode_id) for part in parts_of(fold, folds))),
            parent=None if fold.parent_id is None else str(fold.parent_id),
            state=STATES[fold.state],
            since_s=fold.asked_at.timestamp(),
            held_s=0.0 if fold.held_at is None else fold.held_at.timestamp(),
        )
        for supernode, fold in folds.items()
    }


def _shares(round_: Round, held: Sequence[Route]) -> Mapping[UUID, Sequence[Weighed]]:
    """By supernode, the weight of each update that it holds among all updates of the round."""
    direct = list(Update.objects.filter(assignment__taken_by=round_, fault_code="").values_list("samples", "norm"))
    cohort = [UpdateFigures(samples, norm or 0.0) for samples, norm in direct]
    cohort += [UpdateFigures(route.assignment.upload.samples, route.norm or 0.0) for route in held]
    assert round_.base_version is not None, "a round that gathers has its base"
    ordinary = ordinary_norm_of(round_.base_version.metrics)
    found = weights_of_figures(round_.parsed_plan().merge, cohort, ordinary)[len(direct) :]
    shares: defaultdict[UUID, list[Weighed]] = defaultdict(list)
    for route, weight in zip(held, found, strict=True):
        assert route.supernode_id is not None, "what is held is held by a supernode"
        share = Weighed(assignment=str(route.pk), sha256=route.assignment.upload.sha256, weight=weight)
        shares[route.supernode_id].append(share)
    return shares


def _request_sums(round_: Round, shares: Mapping[UUID, Sequence[Weighed]], now: datetime) -> None:
    """Ask supernodes for their sums; ask again those that were asked with other weights or parts."""
    folds = live_folds(round_.pk)
    ways = _ways(round_, shares, now)
    parents = {str(name): None if way.parent_id is None else str(way.parent_id) for name, way in ways.items()}
    wanted = required_sums({str(name): own for name, own in shares.items()}, parents)
    good = valid_requests(wanted, _requested_sums(folds))
    for fold in folds.values():
        if str(fold.supernode_id) not in good:
            void(fold, reasons.FOLD_OUTDATED)
    new = []
    for name in sorted(wanted.keys() - good):
        way = ways[UUID(name)]
        way.round, way.supernode_id, way.asked_at = round_, UUID(name), now
        way.shares = msgspec.to_builtins(wanted[name].shares)
        new.append(way)
    insert_all(new)
    wake_devices({str(one) for fold in new for one in (fold.supernode_id, fold.parent_id) if one is not None})


def _ways(round_: Round, shares: Mapping[UUID, Sequence[Weighed]], now: datetime) -> Mapping[UUID, Fold]:
    """By supernode, an unsaved fold with the route of its sum.

    The tree is built when sums are first requested; later requests use what is left of it.
    """
    if not round_.parsed_plan().topology.tiers():
        return {name: Fold() for name in shares}
    before = {fold.supernode_id: fold for fold in round_.folds.order_by("epoch")}  # the newest of each
    if before:
        return {name: Fold() for name in shares} | {
            name: Fold(
                parent_id=fold.parent_id,
                tier=fold.tier,
                epoch=fold.epoch + 1,
                way_code=fold.way_code,
                way_sentence=fold.way_sentence,
            )
            for name, fold in before.items()
        }
    branches = build_tree(round_, shares.keys(), now=now)
    names = dict(Device.objects.filter(pk__in=branches).values_list("pk", "name"))
    ways = {}
    for name, branch in branches.items():
        parent = None if branch.parent is None else UUID(branch.parent)
        reason = reasons.way_of_sum(branch, None if parent is None else names[parent])
        ways[name] = Fold(parent_id=parent, tier=branch.tier, way_code=reason.code, way_sentence=reason.sentence)
    return ways


def _count_all(round_: Round, held: Sequence[Route], folds: Folds, now: datetime) -> None:
    """Count the updates in the sums, all in the transaction that closes the round."""
    uploads = Upload.objects.in_bulk([route.pk for route in held])
    tops = [fold for fold in folds.values() if fold.parent_id is None]
    ends_in = {one.supernode_id: top for top in tops for one in subtree(top, folds)}
    for route in held:
        assert route.supernode_id is not None, "what is held is held by a supernode"
        count_update(
            assignment=route.assignment,
            upload=uploads[route.pk],
            taken_by=round_,
            norm=route.norm,
            partial=ends_in[route.supernode_id].partial,
            now=now,
        )
    round_.updates_in = Assignment.objects.filter(taken_by=round_, state=Assignment.State.DELIVERED).count()
    round_.save(update_fields=["updates_in"])
    wake_devices(str(route.assignment.device_id) for route in held)
