"""The repository of agent releases, as The Update Framework (TUF 1.0) lays it out; nothing here needs Django.

Keys of roles ``root`` and ``targets`` stay with the operator, encrypted; the key that signs ``snapshot`` and
``timestamp`` is online, and can by itself neither add a release nor change one.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from securesystemslib.signer import CryptoSigner
from tuf.api.exceptions import RepositoryError, StorageError, UnsignedMetadataError
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp

from coterie.core.errors import CoterieError, ErrorKind
from coterie_wire.updating import CUSTOM, MAX_NOTES, NEEDS, NOTES, RELEASE, agent_wheel

T = TypeVar("T")
AnyMetadata: TypeAlias = "Metadata[Root] | Metadata[Targets] | Metadata[Snapshot] | Metadata[Timestamp]"
Role = Literal["root", "targets", "online"]
"""Whose keys; ``online`` signs both snapshot and timestamp."""
LASTS: Mapping[str, timedelta] = {
    "root": timedelta(days=365),
    "targets": timedelta(days=180),
    "snapshot": timedelta(days=7),
    "timestamp": timedelta(days=2),
}
"""How long what is signed now holds; `refresh` is due once a day."""
WHEEL = re.compile(r"[A-Za-z0-9_.]+(-[A-Za-z0-9_.+!]+){4,5}\.whl")
AGENT = re.compile(r"coterie_agent-([0-9]+(?:\.[0-9]+){0,3})-py3-none-any\.whl")
MAX_WHEEL_BYTES = 256 << 20


class BadRepository(CoterieError):
    """Fields: path, problem."""

    code = "releases.bad_repository"
    kind = ErrorKind.INVALID
    sentence = "{path} is no repository of releases that can be read: {problem}."


class BadKey(CoterieError):
    """Fields: path, problem."""

    code = "releases.bad_key"
    kind = ErrorKind.INVALID
    sentence = "The key {path} cannot be used: {problem}."


class BadRelease(CoterieError):
    """Fields: problem."""

    code = "releases.bad_release"
    kind = ErrorKind.INVALID
    sentence = "These files are no release: {problem}."


@dataclass(frozen=True)
class KeyFolder:
    """A directory of private keys, one PEM file (PKCS #8) each."""

    root: Path
    passphrase: bytes
    """Encrypts all but the online key."""

    def make(self, name: str, *, is_online: bool = False) -> CryptoSigner:
        """Draw a key, and keep it in a new file that only its owner reads. Raises BadKey."""
        drawn = Ed25519PrivateKey.generate()
        encryption: KeySerializationEncryption = (
            NoEncryption() if is_online else BestAvailableEncryption(self.passphrase)
        )
        path = self._path(name)
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise BadKey(path=str(path), problem=str(error.strerror)) from error
        with os.fdopen(descriptor, "wb") as file:
            file.write(drawn.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
        return CryptoSigner(drawn)

    def load(self, role: Role) -> list[CryptoSigner]:
        """All keys of a role, the newest last. Raises BadKey."""
        return [read_key(path, None if role == "online" else self.passphrase) for path in self._all(role)]

    def next_name(self, role: Role) -> str:
        """The name of the role's next key."""
        return f"{role}-{1 + max((_number(path) for path in self._all(role)), default=0)}"

    def newest(self, role: Role) -> Path:
        """The file of the newest key."""
        return self._all(role)[-1]

    def _all(self, role: Role) -> list[Path]:
        return sorted(self.root.glob(f"{role}-*.pem"), key=_number)

    def _path(self, name: str) -> Path:
        return self.root / f"{name}.pem"


def read_key(path: Path, passphrase: bytes | None) -> CryptoSigner:
    """The private key in a PEM file. Raises BadKey."""
    try:
        return CryptoSigner(load_pem_private_key(path.read_bytes(), passphrase))
    except OSError as error:
        raise BadKey(path=str(path), problem=str(error.strerror)) from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadKey(path=str(path), problem="wrong passphrase, or not a key") from error


@dataclass(frozen=True)
class Release:
    """One release of the agent."""

    version: str
    wheels: tuple[str, ...]
    """The agent's own first, then what it needs besides."""
    size_bytes: int


@dataclass(frozen=True)
class Repository:
    """A directory with ``metadata/`` and ``targets/``, which the platform serves as it is."""

    root: Path

    def create(self, keys: KeyFolder, *, root_keys: int, threshold: int, now: datetime) -> None:
        """Begin a repository without releases, of which `threshold` of `root_keys` new keys name all others.

        Raises BadRepository or BadKey.
        """
        if self.metadata.exists() and any(self.metadata.iterdir()):
            raise BadRepository(path=str(self.root), problem="there is one already")
        self.metadata.mkdir(parents=True, exist_ok=True)
        self.targets.mkdir(exist_ok=True)
        online = keys.make("online-1", is_online=True)
        root = Root(expires=_until("root", now), consistent_snapshot=True)
        for number in range(1, root_keys + 1):
            root.add_key(keys.make(f"root-{number}").public_key, "root")
        root.roles["root"].threshold = threshold
        root.add_key(keys.make("targets-1").public_key, "targets")
        for role in ("snapshot", "timestamp"):
            root.add_key(online.public_key, role)
        self._sign(Metadata(root), keys.load("root"), f"{root.version}.root")
        targets = Targets(expires=_until("targets", now))
        self._sign(Metadata(targets), keys.load("targets"), f"{targets.version}.targets")
        snapshot = Snapshot(expires=_until("snapshot", now))
        self._sign(Metadata(snapshot), [online], f"{snapshot.version}.snapshot")
        self._sign(Metadata(Timestamp(expires=_until("timestamp", now))), [online], "timestamp")

    @property
    def metadata(self) -> Path:
        """The directory of signed metadata."""
        return self.root / "metadata"

    @property
    def targets(self) -> Path:
        """The directory of wheels, each under its hash."""
        return self.root / "targets"

    def releases(self) -> Sequence[Release]:
        """The releases that devices can be given, the oldest first. Raises BadRepository."""
        listed = self._targets().signed.targets
        found = []
        for name, target in listed.items():
            version = target.unrecognized_fields.get(CUSTOM, {}).get(RELEASE)
            if version is not None:
                wheels = (name, *target.unrecognized_fields[CUSTOM][NEEDS])
                found.append(Release(version, wheels, sum(listed[wheel].length for wheel in wheels)))
        return sorted(found, key=lambda release: [int(part) for part in release.version.split(".")])

    def signed(self) -> tuple[Metadata[Targets], Metadata[Snapshot], Metadata[Timestamp]]:
        """What its present state consists of, beside ``root``. Raises BadRepository."""
        return self._targets(), self._snapshot(), self._timestamp()

    def expiries(self) -> Mapping[str, datetime]:
        """Until when each role's metadata holds. Raises BadRepository."""
        return {
            "root": self._root().signed.expires,
            "targets": self._targets().signed.expires,
            "snapshot": self._snapshot().signed.expires,
            "timestamp": self._timestamp().signed.expires,
        }

    def add(self, wheels: Sequence[Path], keys: KeyFolder, *, now: datetime, notes: str = "") -> Release:
        """Add the release whose agent is one of `wheels`; the others are what it needs that devices may lack.

        `notes` say what is new, to owners who are asked. Raises BadRelease, BadRepository or BadKey.
        """
        agents = [path for path in wheels if AGENT.fullmatch(path.name)]
        if len(agents) != 1:
            raise BadRelease(problem="exactly one wheel must be coterie_agent-VERSION-py3-none-any.whl")
        if len(notes) > MAX_NOTES:
            raise BadRelease(problem=f"the notes have {len(notes)} characters; at most {MAX_NOTES} are signed")
        targets = self._targets()
        others = [path for path in wheels if path != agents[0]]
        for path in (*others, *agents):
            targets.signed.targets[path.name] = self._take(path, targets.signed.targets.get(path.name))
        found = AGENT.fullmatch(agents[0].name)
        assert found is not None
        needs = sorted(path.name for path in others)
        custom = {RELEASE: found[1], NEEDS: needs, NOTES: notes}
        targets.signed.targets[agents[0].name].unrecognized_fields[CUSTOM] = custom
        self._publish_targets(targets, keys, now)
        return next(release for release in self.releases() if release.version == found[1])

    def withdraw(self, version: str, keys: KeyFolder, *, now: datetime) -> None:
        """Withdraw a release; devices that have it keep it. Raises BadRelease, BadRepository or BadKey."""
        targets = self._targets()
        if targets.signed.targets.pop(agent_wheel(version), None) is None:
            raise BadRelease(problem=f"the repository has no release {version}")
        needed = {
            wheel
            for target in targets.signed.targets.values()
            for wheel in target.unrecognized_fields.get(CUSTOM, {}).get(NEEDS, ())
        }
        for name, target in list(targets.signed.targets.items()):
            if CUSTOM not in target.unrecognized_fields and name not in needed:
                del targets.signed.targets[name]
        self._publish_targets(targets, keys, now)

    def refresh(self, online: CryptoSigner, *, now: datetime) -> None:
        """Renew the timestamp; devices accept nothing from a repository whose timestamp has expired.

        Raises BadRepository, or BadKey where the key is not the one that ``root`` names.
        """
        self._publish_snapshot(self._snapshot().signed.meta["targets.json"].version, online, now)

    def renew(self, keys: KeyFolder, *, now: datetime) -> None:
        """Sign ``root`` and ``targets`` again, as they are, before they expire. Raises BadRepository or BadKey."""
        self._publish_root(self._root(), keys.load("root"), now)
        self._publish_targets(self._targets(), keys, now)

    def rotate(self, role: Role, keys: KeyFolder, *, now: datetime) -> None:
        """Draw another key in the place of the role's oldest one; the former and the next ``root`` keys vouch for it.

        Raises BadRepository or BadKey.
        """
        former = keys.load("root")
        root = self._root()
        drawn = keys.make(keys.next_name(role), is_online=role == "online").public_key
        for name in ("snapshot", "timestamp") if role == "online" else (role,):
            root.signed.revoke_key(root.signed.roles[name].keyids[0], name)
            root.signed.add_key(drawn, name)
        self._publish_root(root, [*former, *(keys.load("root")[-1:] if role == "root" else [])], now)
        if role != "root":
            self._publish_targets(self._targets(), keys, now)

    def _targets(self) -> Metadata[Targets]:
        version = self._snapshot().signed.meta["targets.json"].version
        return self._read(lambda: Metadata.from_file(str(self.metadata / f"{version}.targets.json")))

    def _snapshot(self) -> Metadata[Snapshot]:
        version = self._timestamp().signed.snapshot_meta.version
        return self._read(lambda: Metadata.from_file(str(self.metadata / f"{version}.snapshot.json")))

    def _take(self, path: Path, former: TargetFile | None) -> TargetFile:
        """Copy a wheel in under its hash. A name must always have the same content."""
        if not WHEEL.fullmatch(path.name):
            raise BadRelease(problem=f"{path.name} is not the name of a wheel")
        try:
            if path.stat().st_size > MAX_WHEEL_BYTES:
                raise BadRelease(problem=f"{path.name} has more than {MAX_WHEEL_BYTES} bytes")
            target = TargetFile.from_file(path.name, str(path), ["sha256"])
            if former is not None and former.hashes != target.hashes:
                raise BadRelease(problem=f"the repository has another {path.name}; give what is new another version")
            _replace(self.targets / f"{target.hashes['sha256']}.{path.name}", path.read_bytes())
        except (OSError, StorageError) as error:
            raise BadRelease(problem=f"{path} cannot be read") from error
        if former is not None:
            target.unrecognized_fields.update(former.unrecognized_fields)
        return target

    def _publish_root(self, root: Metadata[Root], signers: Sequence[CryptoSigner], now: datetime) -> None:
        former = self._root()
        root.signed.version += 1
        root.signed.expires = _until("root", now)
        _sign(root, signers)
        try:
            for judge in (former, root):
                judge.verify_delegate("root", root)
        except UnsignedMetadataError as error:
            raise BadKey(path="of role root", problem="fewer of them are here than must sign together") from error
        self._write(root, f"{root.signed.version}.root")

    def _publish_targets(self, targets: Metadata[Targets], keys: KeyFolder, now: datetime) -> None:
        targets.signed.version = 1 + max(number_of(path) for path in self.metadata.glob("*.targets.json"))
        targets.signed.expires = _until("targets", now)
        self._sign(targets, self._named(keys.load("targets"), "targets"), f"{targets.signed.version}.targets")
        self._publish_snapshot(targets.signed.version, keys.load("online")[-1], now)

    def _publish_snapshot(self, targets: int, online: CryptoSigner, now: datetime) -> None:
        """The timestamp last: until it is replaced, devices see all as it was."""
        self._named([online], "timestamp")
        former = self._timestamp().signed
        version = _later(former.snapshot_meta.version, now)
        snapshot = Snapshot(version=version, expires=_until("snapshot", now))
        snapshot.meta["targets.json"].version = targets
        self._sign(Metadata(snapshot), [online], f"{version}.snapshot")
        timestamp = Timestamp(version=_later(former.version, now), expires=_until("timestamp", now))
        timestamp.snapshot_meta = MetaFile(version=version)
        self._sign(Metadata(timestamp), [online], "timestamp")

    def _named(self, signers: Iterable[CryptoSigner], role: str) -> list[CryptoSigner]:
        """Those of `signers` that ``root`` names for the role. Raises BadKey."""
        named = self._root().signed.roles[role].keyids
        found = [signer for signer in signers if signer.public_key.keyid in named]
        if not found:
            raise BadKey(path=f"of role {role}", problem="it is not the one that the repository's root names")
        return found

    def _sign(self, metadata: AnyMetadata, signers: Iterable[CryptoSigner], name: str) -> None:
        _sign(metadata, signers)
        self._write(metadata, name)

    def _write(self, metadata: AnyMetadata, name: str) -> None:
        _replace(self.metadata / f"{name}.json", metadata.to_bytes())

    def _timestamp(self) -> Metadata[Timestamp]:
        return self._read(lambda: Metadata.from_file(str(self.metadata / "timestamp.json")))

    def _root(self) -> Metadata[Root]:
        return self._read(lambda: Metadata.from_file(str(self._root_path())))

    def _root_path(self) -> Path:
        found = sorted(self.metadata.glob("*.root.json"), key=number_of)
        if not found:
            raise BadRepository(path=str(self.root), problem="it has no root; begin with: coterie releases init")
        return found[-1]

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (OSError, RepositoryError, StorageError, KeyError, ValueError) as error:
            raise BadRepository(path=str(self.root), problem=str(error) or type(error).__name__) from error


def _sign(metadata: AnyMetadata, signers: Iterable[CryptoSigner]) -> None:
    metadata.signatures.clear()
    for signer in signers:
        metadata.sign(signer, append=True)


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    part = path.with_name(f".{path.name}.part")
    with suppress(FileNotFoundError):
        part.unlink()
    with part.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _later(former: int, now: datetime) -> int:
    """The number of what is signed now in the place of number `former`.

    Made of the time, so that of two copies of a repository the one that was signed last is the newer one for devices.
    """
    return max(former + 1, int(now.timestamp()))


def _until(role: str, now: datetime) -> datetime:
    return (now + LASTS[role]).astimezone(UTC).replace(microsecond=0)


def _number(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def number_of(path: Path) -> int:
    """Of a file of metadata, as ``3.root.json`` is called by its version."""
    return int(path.name.partition(".")[0])
