"""The files of the versions that devices train from."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from coterie.simulation.fleet.block import Base, encode_version

_PREFIX, _SUFFIX = "version-", ".safetensors"


@dataclass(frozen=True)
class Versions:
    """The versions of one simulation, each an immutable file."""

    directory: Path

    def path(self, number: int) -> Path:
        """Path of version `number`."""
        return self.directory / f"{_PREFIX}{number}{_SUFFIX}"

    def put(self, base: Base) -> None:
        """Write a version atomically."""
        path = self.path(base.number)
        partial = path.with_suffix(".partial")
        partial.write_bytes(encode_version(base))
        partial.replace(path)

    def keep_only(self, numbers: Collection[int]) -> None:
        """Remove all others."""
        kept = {self.path(number) for number in numbers}
        for path in self.directory.glob(f"{_PREFIX}*{_SUFFIX}"):
            if path not in kept:
                path.unlink()
