"""Why the twin makes no forecast."""

from coterie.core.errors import CoterieError, ErrorKind


class NoHistory(CoterieError):
    """Fields: parts, needed."""

    code = "twin.no_history"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The fleet's past has {parts} updates that came in, and the twin needs {needed}: "
        "hold some rounds, or look at more days."
    )


class NoSamples(CoterieError):
    """No fields."""

    code = "twin.no_samples"
    kind = ErrorKind.INVALID
    sentence = "A plan is tried on samples: name a data set, or a scenario that is shipped, and not both."


class NotReplayed(CoterieError):
    """Fields: reason."""

    code = "twin.not_replayed"
    kind = ErrorKind.INVALID
    sentence = "The twin replays synchronous rounds, and this plan {reason}."
