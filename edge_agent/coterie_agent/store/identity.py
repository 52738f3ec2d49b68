"""The device's identity: the platform it joined, the platform key it pinned, its credential, and its own key."""

import hashlib
import re
import secrets
import time
from collections.abc import Iterable

from nacl.signing import SigningKey

from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, sync_directory, write_private
from coterie_agent.store.certificates import CertificateFiles
from coterie_agent.store.database import Database, StoreDamaged
from coterie_agent.store.sealing import SEAL_BYTES, seal
from coterie_wire.bundle import SignedManifest
from coterie_wire.message import Message
from coterie_wire.messages import Enrolled
from coterie_wire.platform_keys import FormerKey, PlatformKeys

_OF_THE_PLATFORM = (
    *("identity", "former_platform_key", "work", "checkpoint", "spool", "spooled_state", "device_state"),
    *("masking", "secure_sum", "masked_vector", "identity_log", "identity_log_end"),
    *("personal_model", "former_personal_model", "peers", "kept_portion", "helped", "teacher_probabilities"),
    *("variants", "serving", "question", "question_sum", "question_vector", "evaluating", "held_model", "status"),
    *("peer_ticket", "address_record", "promise", "platform_offer", "visit", "island"),
    *("agreement", "agreement_asked"),
)
"""Tables deleted when the device leaves; the privacy ledger stays."""


_CREDENTIAL = re.compile(rb"[!-~]+")
_DRAWN = re.compile(rb"cod_[A-Za-z0-9_-]{43}")
"""A credential drawn by the device: 256 random bits."""


class Identity(Message, frozen=True):
    """One enrolment."""

    url: str
    device: str
    name: str
    platform_key: bytes
    """Ed25519 public key that the platform signs with, pinned when the device joined or named by the key before it."""
    check_in_s: float


class IdentityStore:
    """The identity in the database; the credential and the device's own key in files that only the owner can read."""

    def __init__(self, database: Database, home: Home) -> None:
        self._database = database
        self._home = home

    def save(self, *, url: str, name: str, enrolled: Enrolled) -> None:
        """Store a new enrolment; the device's own key of an earlier one is deleted.

        The credential is written first: an identity without a credential would keep the device from joining again.
        """
        self._home.identity_key.unlink(missing_ok=True)
        self._delete_proofs()
        write_private(self._home.credential, enrolled.credential.encode())
        row = (url, enrolled.device, name, enrolled.platform_key, float(enrolled.check_in_s))
        with self._database.transaction() as cursor:
            cursor.execute("INSERT INTO identity VALUES (1, ?1, ?2, ?3, ?4, ?5, seal(?1, ?2, ?3, ?4, ?5))", row)
        self._home.joining_credential.unlink(missing_ok=True)

    def find(self) -> Identity | None:
        """The identity, if the device has joined. Raises StoreDamaged."""
        columns = "url, device, name, platform_key, check_in_s"
        with self._database.reading() as cursor:
            row = cursor.execute(f"SELECT {columns}, seal IS seal({columns}) FROM identity").fetchone()  # noqa: S608
        if row is None:
            return None
        *values, is_sound = row
        if not is_sound:
            raise StoreDamaged(self._home.database, "the identity is not what was written")
        return Identity(*values)

    def get(self) -> Identity:
        """The identity. Raises AgentError ``agent.not_joined``."""
        identity = self.find()
        if identity is None:
            detail = "this device has not joined a platform; run: coterie-agent join URL TOKEN"
            raise AgentError("agent.not_joined", detail, exit_code=Exit.NOT_JOINED)
        return identity

    def keys(self) -> PlatformKeys:
        """The platform's keys that the device trusts. Raises AgentError ``agent.not_joined``, or StoreDamaged."""
        current = self.get().platform_key
        with self._database.reading() as cursor:
            rows = cursor.execute(
                "SELECT key, until, seal IS seal(position, key, until) FROM former_platform_key ORDER BY position"
            ).fetchall()
        if not all(is_sound for _, _, is_sound in rows):
            raise StoreDamaged(self._home.database, "a key of the platform is not what was written")
        return PlatformKeys(current, tuple(FormerKey(key, until) for key, until, _ in rows))

    def trusted(self) -> tuple[bytes, ...]:
        """The keys by which the platform may sign now. Raises as `keys` does."""
        return self.keys().trusted(at=time.time())

    def follow(self, statements: Iterable[SignedManifest]) -> bool:
        """Trust the keys that `statements` name from now on; whether this changed the trusted keys.

        Raises WireError ``bundle.*`` where a statement is not signed by a trusted key.
        """
        with self._database.transaction() as cursor:
            before = self.keys()
            after = before.follow(statements)
            if after == before:
                return False
            cursor.execute(
                "UPDATE identity SET platform_key = ?1, seal = seal(url, device, name, ?1, check_in_s)",
                (after.current,),
            )
            cursor.execute("DELETE FROM former_platform_key")
            cursor.executemany(
                "INSERT INTO former_platform_key VALUES (?1, ?2, ?3, seal(?1, ?2, ?3))",
                ((position, key, float(until)) for position, (key, until) in enumerate(after.former)),
            )
        return True

    def credential(self) -> str:
        """Raises AgentError ``agent.no_credential``."""
        path = self._home.credential
        try:
            read = path.read_bytes()
        except OSError as error:
            detail = f"cannot read {path}: {error.strerror}; run as the user who joined"
            raise AgentError("agent.no_credential", detail, exit_code=Exit.NOT_JOINED) from error
        if _CREDENTIAL.fullmatch(read) is None:
            detail = f"{path} was damaged on the disk; run: coterie-agent leave --force, and join again"
            raise AgentError("agent.no_credential", detail, exit_code=Exit.NOT_JOINED)
        return read.decode("ascii")

    def draw_joining_credential(self, url: str, token: str) -> str:
        """The credential to join `url` with by `token`, which is on the disk when this returns.

        The same one each time until the device has joined, so that a platform whose answer was lost recognises the
        device; another platform or token is never shown it. Raises OSError.
        """
        path, invitation = self._home.joining_credential, hashlib.sha256(f"{url} {token}".encode()).hexdigest()
        kept = path.read_bytes() if path.exists() else b""
        known, _, drawn = kept.partition(b" ")
        if known != invitation.encode() or _DRAWN.fullmatch(drawn) is None:
            drawn = _drawn_credential()
            write_private(path, invitation.encode() + b" " + drawn)
        return drawn.decode("ascii")

    def draw_credential(self) -> str:
        """A new credential, which is on the disk when this returns; the one drawn before, if it is not in use yet.

        Raises OSError.
        """
        path = self._home.next_credential
        drawn = path.read_bytes() if path.exists() else b""
        if _DRAWN.fullmatch(drawn) is None:
            drawn = _drawn_credential()
            write_private(path, drawn)
        return drawn.decode("ascii")

    def use_drawn_credential(self) -> None:
        """Use the drawn credential, which the platform has accepted. Raises OSError and what `credential` raises."""
        write_private(self._home.former_credential, self.credential().encode())
        self._home.next_credential.replace(self._home.credential)
        sync_directory(self._home.state)

    def use_former_credential(self) -> bool:
        """Go back to the credential before, as the platform does not know the current one; whether there is one.

        Raises OSError.
        """
        if not self._home.former_credential.exists():
            return False
        self._home.former_credential.replace(self._home.credential)
        sync_directory(self._home.state)
        return True

    def key(self) -> SigningKey:
        """The Ed25519 key that identifies this device to others in secure sums; drawn on first use.

        Raises AgentError ``agent.no_identity_key``.
        """
        path = self._home.identity_key
        try:
            stored = path.read_bytes()
        except FileNotFoundError:
            drawn = SigningKey.generate()
            write_private(path, bytes(drawn) + seal(bytes(drawn)))
            return drawn
        except OSError as error:
            detail = f"cannot read {path}: {error.strerror}; run as the user who joined"
            raise AgentError("agent.no_identity_key", detail) from error
        secret, own_seal = stored[:-SEAL_BYTES], stored[-SEAL_BYTES:]
        if own_seal != seal(secret):
            detail = f"{path} was damaged on the disk; leave and join again, as a device that others do not know yet"
            raise AgentError("agent.no_identity_key", detail)
        return SigningKey(secret)

    def delete(self) -> None:
        """Delete everything that belongs to the platform, after leaving it; samples stay."""
        with self._database.transaction() as cursor:
            for table in _OF_THE_PLATFORM:
                cursor.execute(f"DELETE FROM {table}")  # noqa: S608  # names from above
        self._home.credential.unlink(missing_ok=True)
        self._home.joining_credential.unlink(missing_ok=True)
        self._home.identity_key.unlink(missing_ok=True)
        self._delete_proofs()

    def _delete_proofs(self) -> None:
        self._home.next_credential.unlink(missing_ok=True)
        self._home.former_credential.unlink(missing_ok=True)
        CertificateFiles(self._home).delete()


def _drawn_credential() -> bytes:
    return b"cod_" + secrets.token_urlsafe(32).encode()
