"""Whether the base's candidates are published: their parents are the champions, and they are not too much worse."""

from collections.abc import Sequence

from coterie.merging import reasons
from coterie.merging.candidates import Candidate, Quality
from coterie.registry.models import Role
from coterie.registry.selectors import champion
from coterie_wire.conditions import Reason

ROUNDING = 1e-9
"""Accuracies are quotients of counts; a loss of exactly the tolerance must not fail by rounding."""


def why_not(candidates: Sequence[Candidate], *, tolerance: float) -> Reason | None:
    """Why none of the base's candidates is published; None: they are. The caller holds the pair's row."""
    for candidate in candidates:
        parent = candidate.parent
        if champion(parent.pair_id, Role(parent.role), parent.lineage) != parent:
            return reasons.BASE_MOVED
    for candidate in candidates:
        if candidate.before is None or candidate.after is None:
            continue
        fault = _why_worse(Role(candidate.parent.role), candidate.before, candidate.after, tolerance)
        if fault is not None:
            return fault
    return None


def _why_worse(role: Role, before: Quality, after: Quality, tolerance: float) -> Reason | None:
    if before.accuracy is None or after.accuracy is None:
        if after.loss > before.loss * (1 + tolerance) + ROUNDING:
            return reasons.larger_loss_than_champion(candidate=after.loss, champion=before.loss, tolerance=tolerance)
        return None
    if after.accuracy >= before.accuracy - tolerance - ROUNDING:
        return None
    worse = reasons.worse_cloud_model if role == Role.CLOUD else reasons.worse_than_champion
    return worse(candidate=after.accuracy, champion=before.accuracy, tolerance=tolerance)
