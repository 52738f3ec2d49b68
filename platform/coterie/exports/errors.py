"""What can go wrong when rounds are exported."""

from coterie.core.errors import CoterieError, ErrorKind


class NotTaken(CoterieError):
    """Fields: exporter, why."""

    code = "exports.not_taken"
    kind = ErrorKind.UNAVAILABLE
    sentence = "The exporter {exporter} does not take rounds now, which wait until it does: {why}"
