"""Fetches a release by The Update Framework: python-tuf's client verifies it from the root that the device has pinned.

Needs ``coterie-agent[updates]``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from platform import machine
from typing import TYPE_CHECKING, Protocol

from coterie_agent.errors import AgentError
from coterie_agent.link.failure import Refused, Unreachable
from coterie_agent.updating.offer import Offer
from coterie_wire.updating import CUSTOM, MAX_NOTES, NEEDS, NOTES, RELEASE, agent_wheel

if TYPE_CHECKING:
    from tuf.api.metadata import TargetFile
    from tuf.ngclient import FetcherInterface, Updater

MAX_WHEEL_BYTES = 256 << 20
MAX_WHEELS = 100
_METADATA, _WHEELS = "metadata", "wheels"
_REFUSALS = {
    "ExpiredMetadataError": ("updates.expired", "nobody has signed lately that this is the newest: {}"),
    "BadVersionNumberError": ("updates.older_metadata", "it is older than what this device has seen: {}"),
    "LengthOrHashMismatchError": ("updates.altered", "a file is not the one that was signed: {}"),
    "UnsignedMetadataError": ("updates.wrong_key", "it was not signed with the keys that this device trusts: {}"),
    "DownloadLengthMismatchError": ("updates.too_large", "a file is larger than was signed, or than is taken: {}"),
}
"""By name of python-tuf's error, our code and sentence."""
_MALFORMED = ("updates.malformed", "the repository of releases cannot be read: {}")


class ReleaseLink(Protocol):
    """The link to the platform."""

    def download_release(self, path: str) -> Iterator[bytes]:
        """The bytes of a file of the repository. Raises Unreachable or Refused."""


def describe_release(version: str, *, link: ReleaseLink, root: bytes, folder: Path) -> Offer:
    """The signed description of a release, without its wheels.

    Raises Unreachable for temporary errors, else AgentError ``updates.*``.
    """
    with _translated():
        updater = _updater(link, root, folder)
        agent = updater.get_targetinfo(agent_wheel(version))
        release = _release(updater, agent, version)
        signed_by, needed = _signers(folder / _METADATA)
    notes = str(release[0].unrecognized_fields[CUSTOM].get(NOTES, ""))[:MAX_NOTES]
    return Offer(version, notes, sum(target.length for target in release), signed_by, needed)


def fetch_release(version: str, *, link: ReleaseLink, root: bytes, folder: Path) -> list[Path]:
    """Download a release to `folder`; the verified wheels, the agent's own first.

    Raises Unreachable for temporary errors, else AgentError ``updates.*``. All files left in `folder` are verified; a
    file that was fetched before is not fetched again.
    """
    with _translated():
        updater = _updater(link, root, folder)
        agent = updater.get_targetinfo(agent_wheel(version))
        return [_fetch(updater, target, folder / _WHEELS) for target in _release(updater, agent, version)]


def _updater(link: ReleaseLink, root: bytes, folder: Path) -> "Updater":
    """A client that has verified the newest list of releases."""
    from tuf.ngclient import Updater

    metadata, wheels = folder / _METADATA, folder / _WHEELS
    for directory in (metadata, wheels):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    updater = Updater(str(metadata), "metadata/", str(wheels), "targets/", fetcher=_fetcher_over(link), bootstrap=root)
    updater.refresh()
    return updater


def _signers(metadata: Path) -> tuple[tuple[str, ...], int]:
    """The key ids that have signed the verified list of releases, and the number of signatures needed."""
    from tuf.api.metadata import Metadata, Root, Targets

    root = Metadata[Root].from_file(str(metadata / "root.json")).signed
    targets = Metadata[Targets].from_file(str(metadata / "targets.json"))
    found = root.get_verification_result("targets", targets.signed_bytes, targets.signatures)
    return tuple(sorted(found.signed)), found.threshold


@contextmanager
def _translated() -> Iterator[None]:
    """Translates python-tuf's errors into Unreachable, or AgentError ``updates.*``."""
    from tuf.api.exceptions import DownloadError, DownloadLengthMismatchError, RepositoryError

    try:
        yield
    except (RepositoryError, DownloadLengthMismatchError) as error:
        code, sentence = _REFUSALS.get(type(error).__name__, _MALFORMED)
        raise AgentError(code, sentence.format(error)) from error
    except DownloadError as error:
        raise Unreachable(f"the repository of releases: {error}") from error


def _fetcher_over(link: ReleaseLink) -> "FetcherInterface":
    """A fetcher by which python-tuf reads over the agent's own link."""
    from tuf.api.exceptions import DownloadError, DownloadHTTPError
    from tuf.ngclient import FetcherInterface

    class LinkFetcher(FetcherInterface):
        def _fetch(self, url: str) -> Iterator[bytes]:
            try:
                yield from link.download_release(url)
            except Refused as error:
                raise DownloadHTTPError(error.detail, error.status) from error
            except Unreachable as error:
                raise DownloadError(error.detail) from error

    return LinkFetcher()


def _release(updater: "Updater", agent: "TargetFile | None", version: str) -> "list[TargetFile]":
    """The files of a release that this machine may need. Raises AgentError ``updates.unknown_release``."""
    custom = {} if agent is None else agent.unrecognized_fields.get(CUSTOM, {})
    if agent is None or custom.get(RELEASE) != version:
        raise AgentError("updates.unknown_release", f"the repository of releases has no agent {version}")
    names = [str(name) for name in custom.get(NEEDS, ())][:MAX_WHEELS]
    found = [agent, *(updater.get_targetinfo(name) for name in names if _fits(name))]
    return [target for target in found if target is not None]


def _fits(name: str) -> bool:
    """Whether a wheel may be for this machine; pip chooses among several."""
    platform = name.removesuffix(".whl").rpartition("-")[2]
    return platform == "any" or platform.endswith(machine())


def _fetch(updater: "Updater", target: "TargetFile", wheels: Path) -> Path:
    if "/" in target.path or not target.path.endswith(".whl") or target.length > MAX_WHEEL_BYTES:
        raise AgentError("updates.malformed", f"{target.path[:100]!r} is no wheel of a release, or too large")
    path = wheels / target.path
    if updater.find_cached_target(target, str(path)) is None:
        updater.download_target(target, str(path))
    return path
