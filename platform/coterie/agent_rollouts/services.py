"""Operators' decisions about roll-outs of the agent."""

from collections.abc import Sequence
from datetime import datetime

from coterie.agent_rollouts import reasons
from coterie.agent_rollouts.advancing import begin_next_phase
from coterie.agent_rollouts.errors import (
    AgentRolloutEnded,
    AgentRolloutUnderWay,
    BadPhases,
    LastPhase,
    NoReleases,
    ReleasesExpired,
    UnknownRelease,
)
from coterie.agent_rollouts.models import ABSENT_S, AgentRollout
from coterie.agent_rollouts.transitions import STEPS, end
from coterie.audit.recording import audited
from coterie.core.separation import acting_project
from coterie.fleet.models import Device
from coterie.fleet.services import checked_tags
from coterie.releases.served import published_metadata

State = AgentRollout.State
MANY_PHASES = 20


@audited("agent_rollouts.start_agent_rollout")
def start_agent_rollout(
    *,
    version: str,
    tag: str = "",
    device: Device | None = None,
    phases: Sequence[float],
    hold_s: float,
    probation_s: float,
    absent_s: float = ABSENT_S,
    most_failures: float,
    now: datetime,
) -> AgentRollout:
    """Ask a growing share of devices to install a release.

    Raises NoReleases, UnknownRelease, ReleasesExpired, BadPhases, BadTag, AgentRolloutUnderWay, BadRepository or
    StorageUnavailable.
    """
    _check_release(version, now)
    if tag:
        checked_tags([tag])
    shares = [1.0] if device is not None else list(phases)
    if not 0 < len(shares) <= MANY_PHASES or sorted(set(shares)) != shares or not 0 < shares[0] <= shares[-1] <= 1:
        raise BadPhases
    under_way = AgentRollout.objects.filter(state__in=AgentRollout.ACTIVE, project=acting_project()).first()
    if under_way is not None:
        raise AgentRolloutUnderWay(version=under_way.version)
    return AgentRollout.objects.create(
        version=version,
        tag=tag,
        device=device,
        phases=shares,
        hold_s=hold_s,
        probation_s=probation_s,
        absent_s=absent_s,
        most_failures=most_failures,
        created_at=now,
        phase_since=now,
    )


@audited("agent_rollouts.pause_agent_rollout", subject="rollout")
def pause_agent_rollout(*, rollout: AgentRollout, why: str = "") -> None:
    """Ask no further device until it is resumed; `why` becomes part of its reason. Raises AgentRolloutEnded."""
    _check_active(rollout)
    if rollout.state == State.RUNNING:
        STEPS.take(rollout, State.PAUSED, reason=reasons.paused(why))


@audited("agent_rollouts.resume_agent_rollout", subject="rollout")
def resume_agent_rollout(*, rollout: AgentRollout, now: datetime) -> None:
    """Resume it; the phase is observed from the start again. Raises AgentRolloutEnded."""
    _check_active(rollout)
    if rollout.state == State.PAUSED:
        STEPS.take(rollout, State.RUNNING, reason=None, phase_since=now)


@audited("agent_rollouts.pass_phase", subject="rollout")
def pass_phase(*, rollout: AgentRollout, why: str = "", now: datetime) -> None:
    """Begin the next phase, whatever the current one has shown, even if the roll-out is paused.

    Raises AgentRolloutEnded or LastPhase.
    """
    _check_active(rollout)
    if rollout.phase + 1 >= len(rollout.phases):
        raise LastPhase(version=rollout.version)
    begin_next_phase(rollout, reason=reasons.continued(why), now=now)


@audited("agent_rollouts.stop_agent_rollout", subject="rollout")
def stop_agent_rollout(*, rollout: AgentRollout, why: str = "", now: datetime) -> None:
    """Ask no other device; devices that have it keep it. Raises AgentRolloutEnded."""
    _check_active(rollout)
    end(rollout, State.STOPPED, reason=reasons.stopped(why), now=now)


@audited("agent_rollouts.roll_back_agent_rollout", subject="rollout")
def roll_back_agent_rollout(*, rollout: AgentRollout, why: str = "", now: datetime) -> None:
    """Have devices return to their former agent. Raises AgentRolloutEnded."""
    _check_active(rollout)
    end(rollout, State.ROLLED_BACK, reason=reasons.withdrawn(why), now=now)


def _check_active(rollout: AgentRollout) -> None:
    rollout.refresh_from_db()
    if rollout.state not in AgentRollout.ACTIVE:
        raise AgentRolloutEnded(version=rollout.version, state=rollout.get_state_display().lower())


def _check_release(version: str, now: datetime) -> None:
    with published_metadata() as repository:
        if repository is None:
            raise NoReleases
        if version not in {release.version for release in repository.releases()}:
            raise UnknownRelease(version=version)
        for role, expires in repository.expiries().items():
            if expires <= now:
                raise ReleasesExpired(role=role, expired_at=f"{expires:%F %T}")
