"""Operators' decisions about roll-outs: start one by hand, begin its next phase early, promote it, or stop it."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from coterie.audit.recording import audited
from coterie.federations.jobs import ADVANCE
from coterie.federations.models import Federation
from coterie.federations.selectors import federation_of_lineage
from coterie.fleet.services import checked_tags
from coterie.registry.models import ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import hold_version
from coterie.rollouts import reasons
from coterie.rollouts.advancing import continue_or_promote, is_outdated, plan_rollout, promote
from coterie.rollouts.errors import (
    AlreadyChampion,
    ChampionMoved,
    NoFederation,
    NotADeviceVersion,
    NotBegun,
    RolloutHasEnded,
    RolloutUnderWay,
    TrialsInTheClear,
)
from coterie.rollouts.models import Rollout
from coterie.rollouts.selectors import active_rollout
from coterie.rollouts.transitions import end
from coterie_learning.plan import ROLLOUT


@audited("rollouts.start_rollout")
def start_rollout(
    *,
    version: ModelVersion,
    terms: Mapping[str, object],
    now: datetime,
    why: str = "",  # noqa: ARG001 - stands in the audit log
) -> Rollout:
    """Have a canary group try a version of a device model; `terms` are the settings of kind ``canary``.

    It begins when the current round has ended, and no round begins before it has ended. Raises WireError
    ``plan.invalid``, BadTag, NotADeviceVersion, NoFederation, TrialsInTheClear, AlreadyChampion,
    RolloutUnderWay or VersionRemoved.
    """
    parsed = ROLLOUT.parse({**terms, "kind": "canary"})
    if parsed.group_tag():
        checked_tags([parsed.group_tag()])
    if version.role != Role.DEVICE:
        raise NotADeviceVersion(version=str(version.pk))
    federation = federation_of_lineage(version.pair, version.lineage)
    if federation is None:
        raise NoFederation(pair=version.pair.slug)
    federation = Federation.objects.select_for_update(no_key=True).get(pk=federation.pk)
    if federation.parsed_plan().privacy.masking() is not None:
        raise TrialsInTheClear(federation=federation.slug)
    if active_rollout(federation) is not None:
        raise RolloutUnderWay(federation=federation.slug)
    if champion(version.pair_id, Role.DEVICE, version.lineage) == version:
        raise AlreadyChampion(version=str(version.pk))
    hold_version(version)
    rollout = plan_rollout(federation=federation, version=version, terms=parsed, now=now)
    ADVANCE.send(federation=str(federation.pk))
    return rollout


@audited("rollouts.promote_rollout", subject="rollout")
def promote_rollout(*, rollout: Rollout, why: str = "", now: datetime) -> None:
    """Make the candidate the champion without waiting for the reports; `why` becomes part of its reason.

    Raises HasEnded or ChampionMoved.
    """
    held = _locked(rollout)
    ModelPair.objects.select_for_update(no_key=True).get(pk=held.version.pair_id)
    if is_outdated(held):
        raise ChampionMoved(rollout=str(held.pk))
    promote(held, reason=reasons.by_operator(why), now=now)
    _decided(rollout)


@audited("rollouts.pass_phase", subject="rollout")
def pass_phase(*, rollout: Rollout, why: str = "", now: datetime) -> None:
    """Begin the next phase, whatever the current one has shown; after the last, the candidate becomes champion.

    `why` becomes part of its reason. Raises HasEnded, NotBegun or ChampionMoved.
    """
    held = _locked(rollout)
    if held.state == Rollout.State.PLANNED:
        raise NotBegun(rollout=str(held.pk))
    ModelPair.objects.select_for_update(no_key=True).get(pk=held.version.pair_id)
    if is_outdated(held):
        raise ChampionMoved(rollout=str(held.pk))
    continue_or_promote(held, reason=reasons.went_on(why), now=now)
    _decided(rollout)


@audited("rollouts.cancel_rollout", subject="rollout")
def cancel_rollout(*, rollout: Rollout, why: str = "", now: datetime) -> None:
    """Stop it: the canary group goes back to the champion; `why` becomes part of its reason. Raises HasEnded."""
    end(_locked(rollout), Rollout.State.CANCELLED, reason=reasons.stopped(why), now=now)
    _decided(rollout)


def _locked(rollout: Rollout) -> Rollout:
    """Its current state, with its federation's row and its own locked, in this order. Raises HasEnded."""
    assert transaction.get_connection().in_atomic_block, "an audited service is"
    Federation.objects.select_for_update(no_key=True).get(pk=rollout.federation_id)
    rows = Rollout.objects.select_for_update(of=("self",), no_key=True).select_related("federation", "version__pair")
    held = rows.get(pk=rollout.pk)
    if held.state not in Rollout.ACTIVE:
        raise RolloutHasEnded(rollout=str(held.pk), state=held.get_state_display().lower())
    return held


def _decided(rollout: Rollout) -> None:
    rollout.refresh_from_db()
    ADVANCE.send(federation=str(rollout.federation_id))
