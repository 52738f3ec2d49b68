"""What can go wrong with roll-outs."""

from coterie.core.errors import CoterieError, ErrorKind


class NoFederation(CoterieError):
    """Fields: pair."""

    code = "rollouts.no_federation"
    kind = ErrorKind.CONFLICT
    sentence = "No federation that is running or paused uses pair {pair}; start one, or use the version at once."


class NotADeviceVersion(CoterieError):
    """Fields: version."""

    code = "rollouts.not_a_device_version"
    kind = ErrorKind.INVALID
    sentence = "Version {version} is of a cloud model; devices try versions of device models alone."


class TrialsInTheClear(CoterieError):
    """Fields: federation."""

    code = "rollouts.in_the_clear"
    kind = ErrorKind.CONFLICT
    sentence = (
        "Under the plan of federation {federation} nobody reads what one device measures, and canaries would tell "
        "how versions do on its samples; use the version at once."
    )


class AlreadyChampion(CoterieError):
    """Fields: version."""

    code = "rollouts.already_champion"
    kind = ErrorKind.CONFLICT
    sentence = "Version {version} is in use already."


class RolloutUnderWay(CoterieError):
    """Fields: federation."""

    code = "rollouts.under_way"
    kind = ErrorKind.CONFLICT
    sentence = "Federation {federation} is rolling a version out already; let that end, promote it or cancel it first."


class RolloutHasEnded(CoterieError):
    """Fields: rollout, state."""

    code = "rollouts.has_ended"
    kind = ErrorKind.CONFLICT
    sentence = "Roll-out {rollout} has ended: it is {state}."


class NotBegun(CoterieError):
    """Fields: rollout."""

    code = "rollouts.not_begun"
    kind = ErrorKind.CONFLICT
    sentence = "Roll-out {rollout} has not begun, so there is no phase to pass; promote it, or wait for its devices."


class ChampionMoved(CoterieError):
    """Fields: rollout."""

    code = "rollouts.champion_moved"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The champion was moved since roll-out {rollout} began, so it is about to be cancelled; start another one."
    )


class UnknownTrial(CoterieError):
    """Fields: rollout."""

    code = "trial.unknown"
    kind = ErrorKind.NOT_FOUND
    sentence = "This device tries nothing in a roll-out {rollout}."


class ImplausibleTrial(CoterieError):
    """Fields: problem."""

    code = "trial.implausible"
    kind = ErrorKind.INVALID
    sentence = "The outcome of the trial cannot be true: {problem}."
