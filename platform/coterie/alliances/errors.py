"""What can go wrong with alliances."""

from coterie.core.errors import CoterieError, ErrorKind


class OneDevice(CoterieError):
    """No fields."""

    code = "alliances.one_device"
    kind = ErrorKind.INVALID
    sentence = "An alliance is of two devices; name another one."


class NotHalves(CoterieError):
    """Fields: problem."""

    code = "alliances.not_halves"
    kind = ErrorKind.INVALID
    sentence = "The two versions are not the halves of one network: {problem}."


class AllianceHasEnded(CoterieError):
    """Fields: alliance, state."""

    code = "alliances.has_ended"
    kind = ErrorKind.CONFLICT
    sentence = "Alliance {alliance} has ended: it is {state}."


class UnknownAlliance(CoterieError):
    """Fields: alliance."""

    code = "alliances.unknown"
    kind = ErrorKind.NOT_FOUND
    sentence = "This device is no party of an alliance {alliance}."


class OtherKey(CoterieError):
    """No fields."""

    code = "alliances.other_key"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The keys that the two owners have agreed to are not those of the two devices; compare them outside the "
        "platform (coterie-agent ally prints a device's own), and have the operator begin another alliance."
    )
