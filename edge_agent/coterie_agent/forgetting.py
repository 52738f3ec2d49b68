"""The right to be forgotten: ask the platform first, under a receipt number that this device draws and stores."""

import uuid
from dataclasses import dataclass

import msgspec

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, write_private
from coterie_agent.link.failure import Refused
from coterie_agent.link.http import HttpLink, RecordSent
from coterie_agent.plural import plural
from coterie_agent.store.opened import Store
from coterie_agent.updating.pinning import pin_update_root
from coterie_wire.errors import UNREADABLE
from coterie_wire.owning import Forget, ForgetNews, ReadReceipt
from coterie_wire.structs import from_json

UNKNOWN = "owners.unknown_receipt"


class RetainedData(msgspec.Struct, frozen=True):
    """What the device keeps when everything else of the platform is removed."""

    url: str
    receipt: str


def load_receipt(home: Home) -> RetainedData | None:
    """The receipt under which the device was, or is to be, forgotten; None: the owner has not asked for it."""
    try:
        return from_json(home.receipt.read_bytes(), RetainedData)
    except FileNotFoundError:
        return None
    except UNREADABLE as error:
        detail = f"{home.receipt}: {error}; the operator has the receipt, too"
        raise AgentError("agent.bad_receipt", detail, exit_code=Exit.BAD_DATA) from error


def forget_platform(home: Home, store: Store) -> None:
    """Remove the platform's data from this device, and sign out all phones.

    Its key among other devices goes, too: they would know the device again under its next identity. Samples, settings
    and the journal are the owner's, and stay.
    """
    store.identity.delete()
    store.samples.fit(0)
    store.phones.sign_out()
    home.page_certificate.unlink(missing_ok=True)
    home.peer_key.unlink(missing_ok=True)
    pin_update_root(home, None)
    for cache in (home.blobs, home.variants, home.portions):
        BlobCache(cache).keep_only(())


@dataclass(frozen=True, kw_only=True)
class Forgetter:
    """Asks the platform to forget this device, and removes the platform's data here."""

    home: Home
    store: Store
    ca_file: str | None
    record_sent: RecordSent

    def was_asked(self) -> bool:
        """Whether the owner of this device, which has not left yet, has asked for it already: it was interrupted.

        Raises AgentError ``agent.not_joined`` or ``agent.bad_receipt``.
        """
        return self._own_receipt() is not None

    def forget(self, *, force: bool = False) -> ForgetNews | None:
        """Forget the device; if interrupted at any point, it is repeated with the same receipt number.

        None: `force` removed the local data, and the platform has not confirmed that it forgets the device.
        Raises AgentError ``agent.not_joined``, Unreachable or Refused.
        """
        if self.store.identity.find() is None:
            return self.read()
        try:
            news = self.ask()
        except AgentError:
            if not force:
                raise
            news = None
            self.home.receipt.unlink(missing_ok=True)
        forget_platform(self.home, self.store)
        return news

    def ask(self) -> ForgetNews:
        """Have the platform forget the device, and remove nothing here. Raises Unreachable or Refused."""
        kept = self._own_receipt()
        if kept is None:
            kept = RetainedData(self.store.identity.get().url, str(uuid.uuid4()))
            write_private(self.home.receipt, msgspec.json.encode(kept))
        return self._ask(kept)

    def read(self) -> ForgetNews:
        """The platform's progress. Raises AgentError ``agent.not_joined``, Unreachable or Refused."""
        kept = load_receipt(self.home)
        if kept is None:
            self.store.identity.get()
            detail = "nobody has asked for this device to be forgotten"
            raise AgentError("agent.not_forgotten", detail, exit_code=Exit.USAGE)
        return self._link(kept.url, None).call(ReadReceipt(receipt=kept.receipt), ForgetNews)

    def _own_receipt(self) -> RetainedData | None:
        """The receipt of this enrolment; None: there is none, or it is of an earlier platform."""
        kept, identity = load_receipt(self.home), self.store.identity.get()
        return kept if kept is not None and kept.url == identity.url else None

    def _ask(self, kept: RetainedData) -> ForgetNews:
        try:
            credential = self.store.identity.credential()
            return self._link(kept.url, credential).call(Forget(receipt=kept.receipt), ForgetNews)
        except Refused as error:
            if not error.is_revoked:
                raise
            return self._read_after_revocation(kept, error)

    def _read_after_revocation(self, kept: RetainedData, ended: Refused) -> ForgetNews:
        """Read the receipt after the credential has ended: by an earlier request to forget, or for another reason."""
        try:
            return self._link(kept.url, None).call(ReadReceipt(receipt=kept.receipt), ForgetNews)
        except Refused as error:
            if error.code != UNKNOWN:
                raise
        device = self.store.identity.get().device
        detail = (
            f"{ended.detail} What it keeps of the device its operator can have forgotten: device {device}. "
            "--force removes what is here"
        )
        raise AgentError("agent.credential_ended", detail, exit_code=Exit.REVOKED) from ended

    def _link(self, url: str, credential: str | None) -> HttpLink:
        return HttpLink(
            url,
            credential=credential,
            record_sent=self.record_sent,
            ca_file=self.ca_file,
            certificate=self.home.certificate,
        )


def news_lines(news: ForgetNews) -> list[str]:
    """The receipt as lines of text for people."""
    done = f", done at {news.done_at}" if news.done_at else ""
    lines = [
        f"receipt {news.receipt}, asked at {news.asked_at}{done}: {news.sentence}",
        f"updates that went into no merge any more: {news.taken_out}",
        *(f"removed: {name}: {plural(count, 'row')}" for name, count in news.removed.items()),
    ]
    if news.done and not news.holds:
        lines.append("no version is known to hold an update of this device")
    if news.holds:
        lines.append(f"versions known to hold updates of this device: {news.versions}")
    for held in news.holds:
        came = " (in a sum)" if held.in_sum else ""
        lines.append(f"  version {held.version} of {held.federation}, {held.at}{came}")
    for made in news.rebuilt:
        lines.append(f"models of {made.federation}, {made.done_at or 'not done yet'}: {made.sentence}")
    return lines
