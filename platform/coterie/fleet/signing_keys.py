"""Rotation of the platform's signing key, which devices follow without joining again (ADR 64).

The key that is given up signs the next one's public half. The statement is kept for ever, so that a device that was
away for a year follows too, and the former private key can be destroyed at once.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet

from coterie.audit.recording import audited
from coterie.core.disk import sync_directory
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.identity import signing_key, signing_key_file, verify_key
from coterie.core.secret import write_secret
from coterie.fleet.models import Device, SigningKeyChange
from coterie_wire.bundle import SignedManifest, new_signing_key, verify_key_of
from coterie_wire.platform_keys import sign_next_key

GRACE = timedelta(days=1)
"""How long devices also accept signatures of the former key: some are in transit, or come from a process that was
not restarted yet."""


class NextKeyInUse(CoterieError):
    """Another process of the platform signs with the next key already."""

    code = "fleet.next_key_in_use"
    kind = ErrorKind.CONFLICT
    sentence = "Devices trust the next key, {key}…, already: set COTERIE_SIGNING_KEY to it and restart this process."


@audited("fleet.rotate_signing_key")
def rotate_signing_key(*, write_to: Path, is_leaked: bool, now: datetime) -> SigningKeyChange:
    """Draw another signing key, write it to the new file `write_to` and record the current key's statement about it.

    The file is as the platform reads it: hexadecimal digits where the environment has the key. It signs once it is
    where the platform looks for it, see `use_written_key`; one that no device has heard of is replaced by the next.
    After `is_leaked` devices that have heard of it refuse the former key at once. Raises NextKeyInUse.
    """
    former, following = signing_key(), new_signing_key()
    waiting = SigningKeyChange.objects.filter(former_key=verify_key_of(former).hex()).first()
    if waiting is not None:
        if Device.objects.filter(trusted_key=waiting.key).exists():
            raise NextKeyInUse(key=waiting.key[:16])
        waiting.delete()
    write_secret(write_to, following.hex().encode("ascii") if settings.SIGNING_KEY else following)
    former_until = None if is_leaked else now + GRACE
    signed = sign_next_key(
        verify_key_of(following), former_until=former_until.timestamp() if former_until else 0.0, signing_key=former
    )
    return SigningKeyChange.objects.create(
        former_key=verify_key_of(former).hex(),
        key=verify_key_of(following).hex(),
        former_until=former_until,
        made_at=now,
        statement=signed.manifest,
        signature=signed.signature,
    )


def draft_of_next_key() -> Path:
    """The file of the next key while its statement is being recorded."""
    return signing_key_file().with_name("signing-key.next")


def use_written_key() -> bool:
    """Sign with the drafted key from now on, if its statement was recorded; one without a statement is removed.

    Whether there was such a key. To be called again after a kill.
    """
    draft = draft_of_next_key()
    if not draft.exists():
        return False
    content = draft.read_bytes()
    if not SigningKeyChange.objects.filter(key=verify_key_of(content).hex()).exists():
        draft.unlink()
        return False
    draft.replace(signing_key_file())
    sync_directory(draft.parent)
    return True


class Succession:
    """The keys that led to the current one, read once."""

    def __init__(self) -> None:
        self._present = verify_key().hex()
        self._changes: Mapping[str, SigningKeyChange] | None = None

    def statements(self, trusted_key: str) -> tuple[SignedManifest, ...]:
        """The statements for a device that trusts `trusted_key`, the oldest first; empty: it is up to date, or lost."""
        if trusted_key in {"", self._present}:
            return ()
        if self._changes is None:
            self._changes = {change.former_key: change for change in SigningKeyChange.objects.all()}
        found: list[SignedManifest] = []
        key = trusted_key
        while key != self._present:
            change = self._changes.get(key)
            if change is None or len(found) == len(self._changes):
                return ()
            found.append(SignedManifest(manifest=bytes(change.statement), signature=bytes(change.signature)))
            key = change.key
        return tuple(found)

    def former_keys(self) -> list[str]:
        """Former keys from which devices can follow to the current one."""
        keys = SigningKeyChange.objects.values_list("former_key", flat=True)
        return [key for key in keys if self.statements(key)]


def refusing() -> QuerySet[Device]:
    """Enrolled devices that refuse what the current key signs; not those that have yet to come, which may follow."""
    others = Device.objects.filter(state=Device.State.ENROLLED).exclude(trusted_key__in=("", verify_key().hex()))
    succession = Succession()
    others = others.exclude(pk__in=followers(others, succession).order_by().values("pk"))
    return others.exclude(trusted_key__in=succession.former_keys(), last_seen_at=None)


def followers(devices: QuerySet[Device], succession: Succession) -> QuerySet[Device]:
    """The devices that trust a former key, and take over the current one when they check in next."""
    keys = succession.former_keys()
    return devices.filter(trusted_key__in=keys, capabilities__platform_key__isnull=False)
