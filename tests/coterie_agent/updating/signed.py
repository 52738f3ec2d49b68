"""A repository of releases that is begun now, and a way to it that can be told to misbehave."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from coterie.releases.repository import KeyFolder, Repository
from coterie_agent.link.failure import Refused, Unreachable
from coterie_wire.messages import Problem
from coterie_wire.updating import agent_wheel

PASSPHRASE = b"open sesame"


class Signed:
    """An operator's repository, with one release of the agent."""

    def __init__(self, root: Path, *, version: str = "9.0.0", now: datetime | None = None, notes: str = "") -> None:
        self.keys = KeyFolder(root / "keys", PASSPHRASE)
        self.repository = Repository(root / "repository")
        self.repository.create(self.keys, root_keys=2, threshold=2, now=now or datetime.now(UTC))
        self.add(version, now=now, notes=notes)

    def add(self, version: str, content: bytes = b"a wheel", *, now: datetime | None = None, notes: str = "") -> None:
        wheel = self.repository.root / agent_wheel(version)
        wheel.write_bytes(content)
        self.repository.add([wheel], self.keys, now=now or datetime.now(UTC), notes=notes)
        wheel.unlink()

    def root(self) -> bytes:
        """What a device pins that joins first."""
        return (self.repository.metadata / "1.root.json").read_bytes()


class Way:
    """Reads a repository's files, as the platform passes them on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.is_away = False
        self.instead: dict[str, bytes] = {}
        """By the end of a file's path, what is sent in its place."""
        self.asked: list[str] = []

    def download_release(self, path: str) -> Iterator[bytes]:
        self.asked.append(path)
        if self.is_away:
            raise Unreachable("away")
        for ending, content in self.instead.items():
            if path.endswith(ending):
                yield content
                return
        try:
            content = (self.root / path).read_bytes()
        except FileNotFoundError:
            raise Refused(Problem("releases.unknown_file", "no", 404, "there is no such file")) from None
        for begin in range(0, len(content), 1000):
            yield content[begin : begin + 1000]
