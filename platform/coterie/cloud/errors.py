"""How training in the cloud fails."""

from coterie.core.errors import CoterieError, ErrorKind


class Diverged(CoterieError):
    """Fields: epoch."""

    code = "training.diverged"
    kind = ErrorKind.INVALID
    sentence = "The loss was no longer finite in epoch {epoch}: use a smaller learning rate."
