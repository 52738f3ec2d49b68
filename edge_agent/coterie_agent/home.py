"""Where the agent keeps its files, and the lock that lets one agent run on them."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from coterie_agent.errors import AgentError, Exit

PEER_KEY_BYTES = 32
DEFAULT_HOME = Path("~/.local/share/coterie-agent")


@dataclass(frozen=True)
class Home:
    """The paths below one agent's directory."""

    root: Path

    @property
    def config(self) -> Path:
        """The owner's settings."""
        return self.root / "agent.toml"

    @property
    def state(self) -> Path:
        """Everything that only the agent writes."""
        return self.root / "state"

    @property
    def database(self) -> Path:
        return self.state / "store.sqlite3"

    @property
    def credential(self) -> Path:
        """The secret that this device shows the platform; readable by the owner only."""
        return self.state / "credential"

    @property
    def next_credential(self) -> Path:
        """The one that this device has drawn to take its place."""
        return self.state / "credential.next"

    @property
    def joining_credential(self) -> Path:
        """The one that this device has drawn to join with, and the digest of the invitation that it is for."""
        return self.state / "credential.joining"

    @property
    def former_credential(self) -> Path:
        """The one before, which a platform that was restored from a backup may still know."""
        return self.state / "credential.former"

    @property
    def certificate(self) -> Path:
        """That of this device's connections to the platform, with its key; readable by the owner only."""
        return self.state / "certificate.pem"

    @property
    def former_certificate(self) -> Path:
        """The one before, with its key."""
        return self.state / "certificate.former.pem"

    @property
    def next_certificate_key(self) -> Path:
        """The key that this device has drawn for the next one."""
        return self.state / "certificate-key.next"

    @property
    def identity_key(self) -> Path:
        """The secret key that this device drew for itself, and tells nobody; readable by the owner only."""
        return self.state / "identity-key"

    @property
    def blobs(self) -> Path:
        return self.state / "blobs"

    @property
    def portions(self) -> Path:
        """Portions that other devices have sent, until they have been evaluated."""
        return self.state / "portions"

    @property
    def variants(self) -> Path:
        """Graphs of the smaller forms of the version that the device holds."""
        return self.state / "variants"

    @property
    def peer_key(self) -> Path:
        """32 secret bytes by which other devices know this one."""
        return self.state / "peer-key"

    @property
    def relay(self) -> Path:
        """Updates of neighbours, while this device is their supernode."""
        return self.state / "relay"

    @property
    def relay_sums(self) -> Path:
        """Sums of other supernodes, while this device adds them."""
        return self.state / "relay-sums"

    @property
    def log(self) -> Path:
        """What the agent has logged of late, for whom its owner lets have it."""
        return self.state / "log.jsonl"

    @property
    def lock(self) -> Path:
        return self.state / "run.lock"

    @property
    def serving_lock(self) -> Path:
        return self.state / "serve.lock"

    @property
    def alliances(self) -> Path:
        """By alliance, the parts of the model that this device trains in it."""
        return self.state / "alliances"

    @property
    def alliance_lock(self) -> Path:
        return self.state / "ally.lock"

    @property
    def versions(self) -> Path:
        """Agents that were installed beside the owner's, and which of them runs."""
        return self.root / "versions"

    @property
    def updates(self) -> Path:
        """What is known of the repository of releases, and the wheels that were fetched from it."""
        return self.state / "updates"

    @property
    def update_root(self) -> Path:
        """TUF's ``root``, which names the keys that releases are signed with."""
        return self.state / "update-root.json"

    @property
    def offered_update(self) -> Path:
        """What is known of the release that waits for the owner's word."""
        return self.updates / "offer.json"

    @property
    def agreed_updates(self) -> Path:
        """Which releases the owner has agreed to."""
        return self.root / "agreed-updates.json"

    @property
    def receipt(self) -> Path:
        """The number under which the owner had the device forgotten; it outlives everything else."""
        return self.root / "forgotten.json"

    @property
    def serving(self) -> Path:
        """Where programs on this device find the prediction service's address and token, while it runs."""
        return self.root / "serve.json"

    @property
    def page_certificate(self) -> Path:
        """That of the owner's page on the local network, with its key; readable by the owner only."""
        return self.state / "page-certificate.pem"

    @property
    def network_page(self) -> Path:
        """Where phones find the owner's page while the agent runs, or why they do not."""
        return self.root / "network-page.json"

    @property
    def local_api(self) -> Path:
        """Where programs on this device find the local API's address and token, while the agent runs."""
        return self.root / "local-api.json"

    def create(self) -> None:
        """Make the directories, closed to other users.

        Raises AgentError ``agent.bad_home``.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self.state.mkdir(mode=0o700, exist_ok=True)
            self.blobs.mkdir(mode=0o700, exist_ok=True)
            self.portions.mkdir(mode=0o700, exist_ok=True)
            self.variants.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            detail = f"{error.filename}: {error.strerror}; choose another directory with --home, or run as its owner"
            raise AgentError("agent.bad_home", detail) from error


class RunLock:
    """Held while an agent, or its prediction service, runs; the system releases it when the process ends, however."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Raises AgentError ``agent.already_running``."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            detail = f"another coterie-agent holds {self._path}; stop it first"
            raise AgentError("agent.already_running", detail, exit_code=Exit.ALREADY_RUNNING) from error
        self._descriptor = descriptor

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_running(home: Home) -> bool:
    """Whether an agent runs on `home` now."""
    if not home.lock.exists():
        return False
    lock = RunLock(home.lock)
    try:
        lock.acquire()
    except AgentError:
        return True
    lock.release()
    return False


def write_private(path: Path, content: bytes) -> None:
    """Replace `path` in one step, readable by its owner only, and on the disk when this returns."""
    part = path.with_name(path.name + ".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_directory(path.parent)


def load_peer_key(home: Home) -> bytes:
    """The device's secret for dealing with other devices, made when it is first asked for."""
    try:
        found = home.peer_key.read_bytes()
    except FileNotFoundError:
        found = b""
    if len(found) != PEER_KEY_BYTES:
        found = os.urandom(PEER_KEY_BYTES)
        write_private(home.peer_key, found)
    return found


def sync_directory(directory: Path) -> None:
    """Make a rename in `directory` survive power loss."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
