"""Brings a repository of agent releases into the platform's storage, and keeps it fresh there.

What devices would refuse is refused here. The timestamp comes last, so that devices see all of the former state or all
of the new one, whatever breaks off. The former state's files stay until the next one: some device may be reading them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from django.core.cache import cache
from django.core.files.base import File
from securesystemslib.signer import CryptoSigner

from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.file_removal import removal
from coterie.releases.repository import Repository
from coterie.releases.served import PARTS, ROOT_KEY, published_metadata, release_store
from coterie.releases.states import State, checked_state, state_of


class OtherRepository(CoterieError):
    """Fields: name."""

    code = "releases.other_repository"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The platform has another {name} than this repository, which was begun anew, or changed beside the copy that "
        "was published: devices would refuse it. Go on with the copy that was published last."
    )


class OlderRepository(CoterieError):
    """The platform's repository was signed later."""

    code = "releases.older"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The platform's repository was signed later than this one, which devices would refuse: sign it again "
        "(`coterie releases refresh`) and publish it then."
    )


class NothingPublished(CoterieError):
    """The platform has no repository of releases."""

    code = "releases.nothing_published"
    kind = ErrorKind.NOT_FOUND
    sentence = "The platform has no repository of releases: bring it one by `coterie releases publish`."


class ReleasesBusy(CoterieError):
    """Another process copies or removes files."""

    code = "releases.busy"
    kind = ErrorKind.UNAVAILABLE
    sentence = (
        "A backup copies the platform's files now, or others are removed: try again in a minute, or when it has ended."
    )


class Published(NamedTuple):
    """What was uploaded because the platform did not have it."""

    files: int
    size_bytes: int


def publish(repository: Repository, *, now: datetime) -> Published:
    """Upload the current state of `repository` to the platform, which serves it to devices.

    Raises BadRepository, OtherRepository, OlderRepository, ReleasesBusy or StorageUnavailable.
    """
    state = checked_state(repository, now=now)
    with _exclusive(), published_metadata() as stored:
        former = None if stored is None else state_of(stored)
        if stored is not None and former is not None:
            _check_next(repository, state, stored, former)
        brought = [name for name in (*state.wheels, *state.roots) if not release_store().exists(name)]
        _save(repository, [*brought, *state.signed])
        _delete_unneeded(former, state)
        return Published(len(brought), sum((repository.root / name).stat().st_size for name in brought))


def refresh_published(online: CryptoSigner, *, now: datetime) -> Mapping[str, datetime]:
    """Renew the timestamp of the published state; returns until when each role's metadata is valid.

    Raises NothingPublished, BadRepository, BadKey, ReleasesBusy or StorageUnavailable.
    """
    with _exclusive(), published_metadata() as stored:
        if stored is None:
            raise NothingPublished
        former = state_of(stored)
        stored.refresh(online, now=now)
        state = state_of(stored)
        _save(stored, [name for name in state.signed if name not in former.signed[:-1]])
        _delete_unneeded(former, state)
        return stored.expiries()


def _check_next(repository: Repository, state: State, stored: Repository, former: State) -> None:
    """Raises OtherRepository or OlderRepository."""
    lasting = [*former.roots, *(former.signed[:1] if state.targets_number <= former.targets_number else ())]
    for name in lasting:
        here = repository.root / name
        if not here.exists() or here.read_bytes() != (stored.root / name).read_bytes():
            raise OtherRepository(name=name)
    if state.number < former.number or state.targets_number < former.targets_number:
        raise OlderRepository


def _save(repository: Repository, names: list[str]) -> None:
    for name in names:
        with (repository.root / name).open("rb") as file:
            release_store().save(name, File(file))
    cache.delete(ROOT_KEY)


def _delete_unneeded(former: State | None, state: State) -> None:
    """Delete files of the former state's predecessors, which neither state needs."""
    needed = state.names() | (set() if former is None else former.names())
    for part in PARTS:
        for name in release_store().sizes(part):
            if f"{part}/{name}" not in needed:
                release_store().delete(f"{part}/{name}")


@contextmanager
def _exclusive() -> Iterator[None]:
    """Exclude other publishers, and backups, while it lasts. Raises ReleasesBusy."""
    with removal() as allowed:
        if not allowed:
            raise ReleasesBusy
        yield
