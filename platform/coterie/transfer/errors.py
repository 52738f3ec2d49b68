"""What can go wrong between devices that help each other."""

from coterie.core.errors import CoterieError, ErrorKind


class NotAMember(CoterieError):
    """Fields: federation."""

    code = "transfer.not_a_member"
    kind = ErrorKind.FORBIDDEN
    sentence = "This device belongs to no running federation {federation!r}."


class NoHelpThere(CoterieError):
    """Fields: federation."""

    code = "transfer.no_help"
    kind = ErrorKind.CONFLICT
    sentence = "In federation {federation!r} devices do not help each other."


class NoPersonalModels(CoterieError):
    """Fields: federation."""

    code = "transfer.no_personal_models"
    kind = ErrorKind.CONFLICT
    sentence = "In federation {federation!r} devices train no personal models beside the version."


class WrongClasses(CoterieError):
    """Fields: label, classes."""

    code = "transfer.wrong_classes"
    kind = ErrorKind.INVALID
    sentence = "The message names class {label}; the model's classes end at {classes} - 1."


class RequestTaken(CoterieError):
    """Fields: request."""

    code = "transfer.request_taken"
    kind = ErrorKind.CONFLICT
    sentence = "Help request {request} belongs to another device; choose another identifier."


class UnknownTransfer(CoterieError):
    """Fields: transfer."""

    code = "transfer.unknown"
    kind = ErrorKind.NOT_FOUND
    sentence = "There is no transfer {transfer} of this device."


class TransferEnded(CoterieError):
    """Fields: transfer, state."""

    code = "transfer.ended"
    kind = ErrorKind.GONE
    sentence = "Transfer {transfer} needs this no more: {state}."


class PortionNotOffered(CoterieError):
    """Fields: transfer."""

    code = "transfer.not_offered"
    kind = ErrorKind.CONFLICT
    sentence = "No portion was offered for transfer {transfer}; offer it first."


class PortionTooLarge(CoterieError):
    """Fields: size_bytes, limit_bytes."""

    code = "transfer.too_large"
    kind = ErrorKind.TOO_LARGE
    sentence = "A portion of {size_bytes} bytes cannot be one of this model: at most {limit_bytes}."


class NotDelivered(CoterieError):
    """Fields: transfer."""

    code = "transfer.not_delivered"
    kind = ErrorKind.CONFLICT
    sentence = "The portion of transfer {transfer} has not arrived yet."
