"""What can go wrong between a device and a secure sum."""

from coterie.core.errors import CoterieError, ErrorKind


class WrongStep(CoterieError):
    """Fields: wanted, step."""

    code = "secure_sum.wrong_step"
    kind = ErrorKind.CONFLICT
    sentence = "The sum does not take {wanted} now: {step}."


class OtherIdentity(CoterieError):
    """Fields: device."""

    code = "secure_sum.other_identity"
    kind = ErrorKind.FORBIDDEN
    sentence = "The session keys are not those of device {device}: another device is named, or another identity key."


class OtherAnswer(CoterieError):
    """Fields: what."""

    code = "secure_sum.other_answer"
    kind = ErrorKind.CONFLICT
    sentence = "The device has sent other {what} before, which count."
