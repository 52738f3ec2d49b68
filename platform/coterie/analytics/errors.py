"""What can go wrong with questions."""

from coterie.core.errors import CoterieError, ErrorKind


class TooFewDevices(CoterieError):
    """Fields: able, members, needed."""

    code = "analytics.too_few_devices"
    kind = ErrorKind.CONFLICT
    sentence = (
        "{able} of {members} devices can be asked this: their agents know such questions, and their owners agree to be "
        "counted in such a sum. The question needs {needed}."
    )


class BudgetSpent(CoterieError):
    """Fields: paying, needed."""

    code = "analytics.budget_spent"
    kind = ErrorKind.CONFLICT
    sentence = (
        "Privacy budgets of {paying} devices pay for this question, and it needs {needed}; ask with less epsilon, or "
        "raise a budget."
    )


class NotUnderWay(CoterieError):
    """Fields: question, state."""

    code = "analytics.not_under_way"
    kind = ErrorKind.CONFLICT
    sentence = "Question {question} has ended: it is {state}."


class WrongNumberOfDevices(CoterieError):
    """Fields: devices, least."""

    code = "analytics.wrong_number_of_devices"
    kind = ErrorKind.INVALID
    sentence = "{devices} devices cannot answer a question that sums {least} at least."
