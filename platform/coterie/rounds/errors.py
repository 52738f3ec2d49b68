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


class RouteEnded(CoterieError):
    """Fields: assignment."""

    code = "rounds.route_ended"
    kind = ErrorKind.CONFLICT
    sentence = "The update of assignment {assignment} goes another way by now; check in to learn which."


class UnknownFold(CoterieError):
    """Fields: fold."""

    code = "rounds.unknown_fold"
    kind = ErrorKind.NOT_FOUND
    sentence = "No sum {fold} was asked for."


class NotYourFold(CoterieError):
    """Fields: fold."""

    code = "rounds.not_your_fold"
    kind = ErrorKind.FORBIDDEN
    sentence = "Another device was asked for the sum {fold}."


class FoldEnded(CoterieError):
    """Fields: fold."""

    code = "rounds.fold_ended"
    kind = ErrorKind.GONE
    sentence = "The sum {fold} is wanted no more."


class SumRouteEnded(CoterieError):
    """Fields: fold."""

    code = "rounds.sum_route_ended"
    kind = ErrorKind.CONFLICT
    sentence = "The sum {fold} goes another way by now; check in to learn which."


class PartialTooLarge(CoterieError):
    """Fields: size_bytes, limit_bytes."""

    code = "rounds.partial_too_large"
    kind = ErrorKind.TOO_LARGE
    sentence = "A sum of {size_bytes} bytes is none of these updates: it takes 1 to {limit_bytes}."


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
