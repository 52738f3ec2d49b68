"""Prepares the cloud models that devices learn from before a round opens, because this takes seconds."""

from datetime import datetime

from coterie.federations.models import Federation
from coterie.federations.selectors import current_groups
from coterie.registry.models import ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import make_teacher
from coterie.rounds.models import Round
from coterie_learning.plan import Plan


def make_teachers(*, federation: Federation, round_: Round | None, now: datetime) -> None:
    """Quantise the weights of every cloud model from whose probabilities devices may have to learn.

    Call it outside a transaction: inviting devices only checks whether the weights exist. Raises BlobDamaged.
    """
    plan = federation.parsed_plan() if round_ is None or round_.state == Round.State.PLANNED else round_.parsed_plan()
    if not plan.local.needs_teacher():
        return
    groups = [group.name for group in current_groups(federation)] if plan.groups.divides else []
    for lineage in (federation.lineage(), *(federation.lineage(name) for name in groups)):
        version = teacher_of(federation, plan, lineage)
        if version is not None:
            make_teacher(version=version, now=now)


def teacher_of(federation: Federation, plan: Plan, lineage: str) -> ModelVersion | None:
    """The cloud model that the devices of `lineage` learn from; None where there is none, or the plan needs none."""
    return champion(federation.pair_id, Role.CLOUD, lineage) if plan.local.needs_teacher() else None
