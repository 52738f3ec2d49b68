"""What is known of devices that were forgotten."""

from uuid import UUID

from coterie.core.errors import CoterieError, ErrorKind
from coterie.owners.models import Forgetting
from coterie_wire.owning import LISTED, ForgetNews, HoldsUpdate
from coterie_wire.structs import from_values


class UnknownReceipt(CoterieError):
    """Fields: receipt."""

    code = "owners.unknown_receipt"
    kind = ErrorKind.NOT_FOUND
    sentence = "No device was forgotten under the number {receipt!r}."


def checked_receipt(text: str) -> UUID:
    """The number of a receipt. Raises UnknownReceipt where the text is none."""
    try:
        return UUID(text)
    except ValueError as error:
        raise UnknownReceipt(receipt=text) from error


def forgetting_of(receipt: UUID) -> Forgetting:
    """Raises UnknownReceipt."""
    found = Forgetting.objects.filter(pk=receipt).first()
    if found is None:
        raise UnknownReceipt(receipt=str(receipt))
    return found


def news_of(forgetting: Forgetting) -> ForgetNews:
    """How far it is."""
    is_done = forgetting.state == Forgetting.State.DONE
    holds = from_values(forgetting.holds, tuple[HoldsUpdate, ...])
    return ForgetNews(
        receipt=str(forgetting.pk),
        done=is_done,
        sentence="everything of it that can be removed is removed" if is_done else forgetting.reason_sentence,
        asked_at=forgetting.asked_at.isoformat(),
        device=str(forgetting.device_id),
        taken_out=forgetting.taken_out,
        removed=from_values(forgetting.removed, dict[str, int]),
        holds=holds[-LISTED:],
        versions=len(holds),
    )
