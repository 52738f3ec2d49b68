"""What can go wrong with roll-outs of the agent."""

from coterie.core.errors import CoterieError, ErrorKind


class NoReleases(CoterieError):
    """The platform has no repository."""

    code = "agent_rollouts.no_releases"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The platform has no repository of releases: `coterie releases init` makes one, `coterie releases publish` "
        "brings it."
    )


class UnknownRelease(CoterieError):
    """Fields: version."""

    code = "agent_rollouts.unknown_release"
    kind = ErrorKind.INVALID
    sentence = "The repository of releases has no agent {version}; add it with `coterie releases add`."


class ReleasesExpired(CoterieError):
    """Fields: role, expired_at."""

    code = "agent_rollouts.releases_expired"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The {role} of the repository of releases expired at {expired_at}, so that devices take nothing from it: run "
        "`coterie releases refresh`, or `renew`."
    )


class LastPhase(CoterieError):
    """Fields: version."""

    code = "agent_rollouts.last_phase"
    kind = ErrorKind.CONFLICT
    sentence = "Agent {version} is in its last phase, after which nobody is left to ask; stop it, or let it end."


class BadPhases(CoterieError):
    """Shares that do not grow."""

    code = "agent_rollouts.bad_phases"
    kind = ErrorKind.INVALID
    sentence = "Phases are shares of the devices, above 0 and at most 1, each larger than the one before."


class AgentRolloutUnderWay(CoterieError):
    """Fields: version."""

    code = "agent_rollouts.under_way"
    kind = ErrorKind.CONFLICT
    sentence = "Agent {version} is being rolled out in this project already; let that end, or stop it first."


class AgentRolloutEnded(CoterieError):
    """Fields: version, state."""

    code = "agent_rollouts.has_ended"
    kind = ErrorKind.CONFLICT
    sentence = "The roll-out of agent {version} is {state}."


class UnknownUpdate(CoterieError):
    """Fields: update."""

    code = "agent_rollouts.unknown_update"
    kind = ErrorKind.NOT_FOUND
    sentence = "This device was not asked for an update {update}."
