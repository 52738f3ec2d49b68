"""Queries on forgotten devices."""

from datetime import datetime
from uuid import UUID

from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.row_keys import key_of
from coterie.owners.models import Forgetting, Rebuild
from coterie_wire.owning import LISTED, ForgetNews, HoldsUpdate, Rebuilt
from coterie_wire.structs import from_values


class UnknownReceipt(CoterieError):
    """Fields: receipt."""

    code = "owners.unknown_receipt"
    kind = ErrorKind.NOT_FOUND
    sentence = "No device was forgotten under the number {receipt!r}."


def checked_receipt(text: str) -> UUID:
    """The receipt number in `text`. Raises UnknownReceipt where it is none."""
    return key_of(text, UnknownReceipt(receipt=text))


def forgetting_of(receipt: UUID) -> Forgetting:
    """Raises UnknownReceipt."""
    found = Forgetting.objects.filter(pk=receipt).first()
    if found is None:
        raise UnknownReceipt(receipt=str(receipt))
    return found


def news_of(forgetting: Forgetting) -> ForgetNews:
    """The progress of forgetting, as sent to the device."""
    is_done = forgetting.state == Forgetting.State.DONE
    rebuilds = Rebuild.objects.filter(forgetting=forgetting).select_related("federation", "result_version")
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
        rebuilt=tuple(_rebuilt(rebuild) for rebuild in rebuilds.order_by("asked_at", "pk")),
        done_at=_isoformat(forgetting.finished_at),
    )


def _rebuilt(rebuild: Rebuild) -> Rebuilt:
    is_done = rebuild.state == Rebuild.State.DONE
    return Rebuilt(
        federation=rebuild.federation.slug,
        done=is_done,
        sentence=outcome_of(rebuild) if is_done else rebuild.reason_sentence,
        version=0 if rebuild.result_version is None else rebuild.result_version.number,
        repeated=len(rebuild.merges),
        retired=rebuild.retired,
        elsewhere=rebuild.elsewhere,
        done_at=_isoformat(rebuild.finished_at),
    )


def _isoformat(at: datetime | None) -> str:
    return "" if at is None else at.isoformat()


def outcome_of(rebuild: Rebuild) -> str:
    """The outcome of a completed rebuild, as a sentence."""
    version = rebuild.result_version
    if version is None:
        sentence = "the version in use holds nothing of the device"
    elif rebuild.merges:
        sentence = (
            f"version {version.number} holds no update of the device: {_count(len(rebuild.merges), 'merge')} repeated "
        )
        sentence += "without it; what others had learned from earlier versions is in their updates still"
    else:
        sentence = (
            f"version {version.number} holds nothing of the device: rounds begin again from before its first update"
        )
        if rebuild.restart_sentence:
            sentence += f", since merges could not be repeated ({rebuild.restart_sentence})"
    sentence += f"; {_count(rebuild.retired, 'version')} that held it removed"
    if rebuild.elsewhere:
        sentence += f"; {_count(rebuild.elsewhere, 'version')} of other federations stay that went on from one"
    return sentence


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
