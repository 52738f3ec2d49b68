"""From handed-in updates to their sums: supernodes are asked with weights that are final, and their devices counted.

Who falls out is replaced by its devices, who send their updates to the platform; the weights are then others, and all
that were asked are asked again. Each time a supernode leaves, so this ends.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from coterie.core.durable import Steps
from coterie.core.events import wake_devices
from coterie.core.rows import insert_all
from coterie.merging.models import Update
from coterie.rounds import reasons
from coterie.rounds.counting import count_update
from coterie.rounds.ending import close
from coterie.rounds.gathering import held_routes
from coterie.rounds.models import Assignment, Fold, Round, Route, Upload
from coterie.rounds.routing import send_directly
from coterie.rounds.transitions import end_assignments, explain
from coterie_learning.cohort import Figures, weights_of_figures
from coterie_wire.conditions import Reason
from coterie_wire.relaying import Weighed

FOLDS = Steps(
    Fold,
    ways={
        Fold.State.ASKED: frozenset({Fold.State.ACCEPTED, Fold.State.VOID}),
        Fold.State.ACCEPTED: frozenset({Fold.State.VOID}),
    },
    app="rounds",
)


def gather(*, round_: Round, now: datetime) -> None:
    """Take an open round that gathers sums as far as it goes now. The caller holds its row."""
    patience = timedelta(seconds=round_.parsed_plan().topology.patience_s())
    for fold in round_.folds.filter(state=Fold.State.ASKED).select_related("supernode"):
        if now - fold.asked_at > patience:
            give_up(round_=round_, fold=fold, reason=reasons.SUPERNODE_LATE, now=now)
        elif not fold.supernode.is_present(now):
            give_up(round_=round_, fold=fold, reason=reasons.SUPERNODE_SILENT, now=now)
    resending = Assignment.objects.filter(round=round_, state__in=Assignment.UNENDED, route__held_at=None)
    if resending.filter(route__changed_at__gt=now - patience).exists():
        explain(round_, reasons.resending(resending.count()), now=now)
        return
    end_assignments(resending, Assignment.State.RELEASED, reason=reasons.CLOSED, now=now)
    held = list(held_routes(round_).select_related("assignment__upload"))
    if held:
        folds = _asked(round_, _shares(round_, held), now)
        accepted = [fold for fold in folds if fold.state == Fold.State.ACCEPTED]
        if len(accepted) < len(folds):
            explain(round_, reasons.gathering(accepted=len(accepted), asked=len(folds)), now=now)
            return
        _count_all(round_, held, {fold.supernode_id: fold for fold in accepted}, now)
    close(round_=round_, now=now)


def give_up(*, round_: Round, fold: Fold, reason: Reason, now: datetime) -> None:
    """Have the devices of a sum that does not come send their updates themselves. The caller holds the round's row."""
    if void(fold, reason):
        send_directly(round_=round_, supernode=fold.supernode, reason=reason, now=now)


def void(fold: Fold, reason: Reason) -> bool:
    """Ask for the sum no more; what has come of it does not count."""
    return FOLDS.take_from_any(fold, Fold.State.VOID, reason=reason, partial=None)


def _shares(round_: Round, held: Sequence[Route]) -> Mapping[UUID, Sequence[Weighed]]:
    """By supernode, what each update that it holds weighs beside all others of the round."""
    direct = list(Update.objects.filter(assignment__taken_by=round_, fault_code="").values_list("samples", "norm"))
    cohort = [Figures(samples, norm or 0.0) for samples, norm in direct]
    cohort += [Figures(route.assignment.upload.samples, route.norm or 0.0) for route in held]
    found = weights_of_figures(round_.parsed_plan().merge, cohort)[len(direct) :]
    shares: defaultdict[UUID, list[Weighed]] = defaultdict(list)
    for route, weight in zip(held, found, strict=True):
        assert route.supernode_id is not None, "what is held is held by a supernode"
        share = Weighed(assignment=str(route.pk), sha256=route.assignment.upload.sha256, weight=weight)
        shares[route.supernode_id].append(share)
    return shares


def _asked(round_: Round, shares: Mapping[UUID, Sequence[Weighed]], now: datetime) -> Sequence[Fold]:
    """The sum that is wanted of each supernode; those that were asked with other weights are asked anew."""
    kept = []
    for fold in round_.folds.filter(state__in=(Fold.State.ASKED, Fold.State.ACCEPTED)):
        if fold.shares == msgspec.to_builtins(shares.get(fold.supernode_id, ())):
            kept.append(fold)
        else:
            void(fold, reasons.FOLD_OUTDATED)
    missing = shares.keys() - {fold.supernode_id for fold in kept}
    new = [
        Fold(round=round_, supernode_id=supernode, shares=msgspec.to_builtins(shares[supernode]), asked_at=now)
        for supernode in sorted(missing)
    ]
    insert_all(new)
    wake_devices(str(fold.supernode_id) for fold in new)
    return [*kept, *new]


def _count_all(round_: Round, held: Sequence[Route], folds: Mapping[UUID, Fold], now: datetime) -> None:
    """Count the updates of the sums, all in the transaction that closes the round."""
    uploads = Upload.objects.in_bulk([route.pk for route in held])
    for route in held:
        assert route.supernode_id is not None, "what is held is held by a supernode"
        count_update(
            assignment=route.assignment,
            upload=uploads[route.pk],
            taken_by=round_,
            norm=route.norm,
            partial=folds[route.supernode_id].partial,
            now=now,
        )
    round_.updates_in = Assignment.objects.filter(taken_by=round_, state=Assignment.State.DELIVERED).count()
    round_.save(update_fields=["updates_in"])
    wake_devices(str(route.assignment.device_id) for route in held)
