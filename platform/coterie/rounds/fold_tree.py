"""The sums of a round as a tree: which sum goes into which, and which updates are in each."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from coterie.core.row_keys import key_of
from coterie.fleet.models import Device
from coterie.rounds.errors import FoldEnded, NotYourFold, UnknownFold
from coterie.rounds.models import Fold, Route
from coterie_learning.partial_sums import Fingerprint
from coterie_wire.relaying import Weighed, roll_of
from coterie_wire.structs import from_values

Folds = Mapping[UUID, Fold]
"""By supernode."""


def live_folds(round_id: int) -> Folds:
    """The sums that are not void; a supernode has one at most."""
    folds = Fold.objects.filter(round=round_id, state__in=Fold.LIVE).select_related("supernode", "parent", "round")
    return {fold.supernode_id: fold for fold in folds}


def parts_of(fold: Fold, folds: Folds) -> Sequence[Fold]:
    """The sums that go directly into it."""
    return [one for _, one in sorted(folds.items()) if one.parent_id == fold.supernode_id]


def subtree(fold: Fold, folds: Folds) -> Sequence[Fold]:
    """The sum itself, and all that go into it, directly or through others."""
    return [fold, *(below for part in parts_of(fold, folds) for below in subtree(part, folds))]


def own_shares(fold: Fold) -> tuple[Weighed, ...]:
    """The updates that its supernode holds."""
    return from_values(fold.shares, tuple[Weighed, ...])


def all_shares(fold: Fold, folds: Folds) -> Sequence[Weighed]:
    """All updates in it."""
    return [share for one in subtree(fold, folds) for share in own_shares(one)]


def roll(fold: Fold, folds: Folds) -> str:
    """A digest of all updates in it, and of how they were summed."""
    return roll_of(own_shares(fold), [roll(part, folds) for part in parts_of(fold, folds)])


def weighed_fingerprints(shares: Sequence[Weighed], *, tier: int) -> Sequence[tuple[int, Fingerprint]] | None:
    """The weights of updates, and their fingerprints under the seed of `tier` (0: the platform's).

    None: some have no fingerprint, because their devices have been rerouted to the platform.
    """
    routes = Route.objects.in_bulk([UUID(share.assignment) for share in shares])
    found = []
    for share in shares:
        route = routes[UUID(share.assignment)]
        fingerprint = route.fingerprint if tier == 0 else dict(enumerate(route.tier_fingerprints, start=1)).get(tier)
        if route.held_at is None or fingerprint is None:
            return None
        found.append((share.weight, Fingerprint(*fingerprint)))
    return found


def own_fold(device: Device, fold_id: str) -> Fold:
    """The sum that was requested of `device`. Raises UnknownFold, NotYourFold or FoldEnded."""
    key = key_of(fold_id, UnknownFold(fold=fold_id))
    folds = Fold.objects.select_related("supernode", "round__federation", "round__base_version__pair")
    fold = folds.filter(pk=key).first()
    if fold is None:
        raise UnknownFold(fold=fold_id)
    if fold.supernode_id != device.pk:
        raise NotYourFold(fold=fold_id)
    if fold.state == Fold.State.VOID:
        raise FoldEnded(fold=fold_id)
    return fold
