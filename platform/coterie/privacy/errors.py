"""What can go wrong with privacy budgets."""

from coterie.core.errors import CoterieError, ErrorKind


class BudgetSpent(CoterieError):
    """Fields: device, sentence."""

    code = "privacy.budget_spent"
    kind = ErrorKind.CONFLICT
    sentence = "Device {device} can release no more: {sentence}."
