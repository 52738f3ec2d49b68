"""What can go wrong with federated evaluations."""

from coterie.core.errors import CoterieError, ErrorKind


class NoFederation(CoterieError):
    """Fields: pair."""

    code = "fleet_evaluation.no_federation"
    kind = ErrorKind.CONFLICT
    sentence = "No federation that is running or paused uses pair {pair}, so no device has samples for it."


class OtherPair(CoterieError):
    """Fields: federation, version."""

    code = "fleet_evaluation.other_pair"
    kind = ErrorKind.INVALID
    sentence = "Federation {federation} uses another pair than version {version} is of."


class NotADeviceVersion(CoterieError):
    """Fields: version."""

    code = "fleet_evaluation.not_a_device_version"
    kind = ErrorKind.INVALID
    sentence = "Version {version} is of a cloud model; devices evaluate versions of device models alone."


class Masked(CoterieError):
    """Fields: federation, privacy."""

    code = "fleet_evaluation.masked"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The plan of federation {federation} hides in a sum what each device measures ({privacy}), and an evaluation "
        "would tell it; the rounds' own figures, which are summed, say how versions do on devices."
    )


class TooFewAsked(CoterieError):
    """Fields: devices, reports."""

    code = "fleet_evaluation.too_few_asked"
    kind = ErrorKind.INVALID
    sentence = "Of {devices} devices that are asked, {reports} reports cannot come; ask more, or need fewer."


class EvaluationHasEnded(CoterieError):
    """Fields: evaluation, state."""

    code = "fleet_evaluation.has_ended"
    kind = ErrorKind.CONFLICT
    sentence = "Evaluation {evaluation} has ended: it is {state}."


class UnknownEvaluation(CoterieError):
    """Fields: evaluation."""

    code = "evaluation.unknown"
    kind = ErrorKind.NOT_FOUND
    sentence = "This device has no part in an evaluation {evaluation}."


class ImplausibleEvaluation(CoterieError):
    """Fields: problem."""

    code = "evaluation.implausible"
    kind = ErrorKind.INVALID
    sentence = "The figures of the evaluation cannot be true: {problem}."
