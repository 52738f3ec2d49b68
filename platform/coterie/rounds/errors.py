"""What can go wrong with assignments and updates."""

from coterie.core.errors import CoterieError, ErrorKind


class UnknownAssignment(CoterieError):
    """Fields: assignment."""

    code = "rounds.unknown_assignment"
    kind = ErrorKind.NOT_FOUND
    sentence = "There is no assignment {assignment}."


class NotYourAssignment(CoterieError):
    """Fields: assignment."""

    code = "rounds.not_your_assignment"
    kind = ErrorKind.FORBIDDEN
    sentence = "Assignment {assignment} belongs to another device."


class AssignmentClosed(CoterieError):
    """Fields: assignment, state."""

    code = "rounds.assignment_closed"
    kind = ErrorKind.GONE
    sentence = "Assignment {assignment} takes no update any more: {state}."


class AlreadyDelivered(CoterieError):
    """Fields: assignment."""

    code = "rounds.already_delivered"
    kind = ErrorKind.CONFLICT
    sentence = "Assignment {assignment} has delivered another update, which counts."


class NotOffered(CoterieError):
    """Fields: assignment."""

    code = "rounds.not_offered"
    kind = ErrorKind.CONFLICT
    sentence = "No update was offered for assignment {assignment}; offer it first."


class UpdateTooLarge(CoterieError):
    """Fields: size_bytes, limit_bytes."""

    code = "update.too_large"
    kind = ErrorKind.TOO_LARGE
    sentence = "An update of {size_bytes} bytes cannot be one of this model: at most {limit_bytes}."


class Implausible(CoterieError):
    """Fields: problem."""

    code = "update.implausible"
    kind = ErrorKind.INVALID
    sentence = "The update's figures cannot be true: {problem}."


class NothingToMerge(CoterieError):
    """Fields: round, problem."""

    code = "rounds.nothing_to_merge"
    kind = ErrorKind.CONFLICT
    sentence = "Round {round} cannot be merged again: {problem}."
