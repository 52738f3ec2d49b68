"""Why the platform does not answer for a device."""

from coterie.core.errors import CoterieError, ErrorKind


class NoConsent(CoterieError):
    """The device's owner has not agreed that samples may leave it."""

    code = "cloud_answers.no_consent"
    kind = ErrorKind.FORBIDDEN
    sentence = "This device has not told the platform that its owner lets samples leave it ([platform] in agent.toml)."


class NotOffered(CoterieError):
    """Fields: federation."""

    code = "cloud_answers.not_offered"
    kind = ErrorKind.FORBIDDEN
    sentence = (
        "No federation {federation!r} whose model the device has lets the platform answer: its plan has another "
        "fallback, or it does not run."
    )


class TooManySamples(CoterieError):
    """Fields: samples, most."""

    code = "cloud_answers.too_many_samples"
    kind = ErrorKind.TOO_LARGE
    sentence = "{samples} samples came at once, and the platform answers {most} at most."


class WrongSample(CoterieError):
    """Fields: index, problem."""

    code = "cloud_answers.wrong_sample"
    kind = ErrorKind.INVALID
    sentence = "Sample {index} is none that the model takes: {problem}."


class NoModel(CoterieError):
    """Fields: pair, most_mb."""

    code = "cloud_answers.no_model"
    kind = ErrorKind.CONFLICT
    sentence = "Pair {pair} has no model in use that the platform can answer with: none, or one of over {most_mb} MB."


class AnswerTooLarge(CoterieError):
    """Fields: numbers, most."""

    code = "cloud_answers.answer_too_large"
    kind = ErrorKind.TOO_LARGE
    sentence = "The answer has {numbers} numbers, and the platform sends {most} at most; ask with fewer samples."


class TooOften(CoterieError):
    """Fields: who, limit, wait_s."""

    code = "cloud_answers.too_often"
    kind = ErrorKind.THROTTLED
    sentence = "{who} asks the platform for more than {limit} answers a minute; wait {wait_s} s."


class Busy(CoterieError):
    """Fields: waiting, wait_s."""

    code = "cloud_answers.busy"
    kind = ErrorKind.UNAVAILABLE
    sentence = "{waiting} requests for answers are being worked on already; wait {wait_s} s."


class TooLate(CoterieError):
    """The answer is not ready while the device waits, or within the time limit."""

    code = "cloud_answers.too_late"
    kind = ErrorKind.UNAVAILABLE
    sentence = "The platform has no answer in the time that there is."


class Failed(CoterieError):
    """The model cannot be run; the platform's log has the error."""

    code = "cloud_answers.failed"
    kind = ErrorKind.UNAVAILABLE
    sentence = "The model could not be run on the platform; its log says why."
