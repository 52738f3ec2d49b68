"""What can go wrong with webhooks."""

from coterie.core.errors import CoterieError, ErrorKind


class WebhookNameTaken(CoterieError):
    """Fields: name."""

    code = "webhooks.name_taken"
    kind = ErrorKind.CONFLICT
    sentence = "There is a webhook {name!r} already; choose another name."


class AddressRefused(CoterieError):
    """Fields: url, problem."""

    code = "webhooks.address_refused"
    kind = ErrorKind.INVALID
    sentence = "The platform does not call {url}: {problem}. Name the host in COTERIE_WEBHOOK_HOSTS if it may."


class StillPending(CoterieError):
    """Fields: delivery."""

    code = "webhooks.still_pending"
    kind = ErrorKind.CONFLICT
    sentence = "Delivery {delivery} is still being tried."
