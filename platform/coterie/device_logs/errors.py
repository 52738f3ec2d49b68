"""What can go wrong with logs of devices."""

from coterie.core.errors import CoterieError, ErrorKind


class CannotSend(CoterieError):
    """Fields: device, why."""

    code = "device_logs.cannot_send"
    kind = ErrorKind.CONFLICT
    sentence = "Device {device} cannot send its log: {why}."


class AlreadyAsked(CoterieError):
    """Fields: device, log."""

    code = "device_logs.already_asked"
    kind = ErrorKind.CONFLICT
    sentence = "The log of {device} is asked for already ({log}); wait for it, or cancel that request."


class LogHasEnded(CoterieError):
    """Fields: log, state."""

    code = "device_logs.has_ended"
    kind = ErrorKind.CONFLICT
    sentence = "The request {log} has ended: it is {state}."


class UnknownLog(CoterieError):
    """Fields: log."""

    code = "device_logs.unknown"
    kind = ErrorKind.NOT_FOUND
    sentence = "This device is not asked for a log {log}."


class NotAllowed(CoterieError):
    """Fields: log."""

    code = "device_logs.not_allowed"
    kind = ErrorKind.CONFLICT
    sentence = "The device has not said that its owner allows request {log}, so its lines are not taken."
