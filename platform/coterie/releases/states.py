"""The files of a repository that devices need at one moment, and whether devices would accept them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, Root

from coterie.releases.repository import BadRepository, Repository, number_of


@dataclass(frozen=True)
class State:
    """The files of one state of a repository, by their names below it."""

    wheels: Sequence[str]
    roots: Sequence[str]
    """All roots so far, the oldest first: devices follow them one by one."""
    signed: Sequence[str]
    """Targets, snapshot and timestamp: written in this order, devices see all of the former state or all of this."""
    number: int
    """Of the timestamp: of two states the newer one has the greater."""
    targets_number: int
    """Of the list of releases; what is signed anew without a change of it keeps its number."""

    def names(self) -> set[str]:
        """The names of all files of the state."""
        return {*self.wheels, *self.roots, *self.signed}


def state_of(repository: Repository) -> State:
    """The current state, unchecked. Raises BadRepository."""
    targets, snapshot, timestamp = repository.signed()
    signed = (f"{targets.signed.version}.targets.json", f"{snapshot.signed.version}.snapshot.json", "timestamp.json")
    return State(
        wheels=[f"targets/{target.hashes['sha256']}.{name}" for name, target in targets.signed.targets.items()],
        roots=[f"metadata/{path.name}" for path in _roots(repository)],
        signed=[f"metadata/{name}" for name in signed],
        number=timestamp.signed.version,
        targets_number=targets.signed.version,
    )


def checked_state(repository: Repository, *, now: datetime) -> State:
    """The present one, if every signature, the time until which it holds, and every wheel are as devices want them.

    Raises BadRepository.
    """
    try:
        root = _followed([Metadata[Root].from_file(str(path)) for path in _roots(repository)])
        targets, snapshot, timestamp = repository.signed()
        root.verify_delegate("targets", targets.signed_bytes, targets.signatures)
        root.verify_delegate("snapshot", snapshot.signed_bytes, snapshot.signatures)
        root.verify_delegate("timestamp", timestamp.signed_bytes, timestamp.signatures)
        for role, expires in repository.expiries().items():
            if expires <= now:
                raise RepositoryError(
                    f"its {role} has expired on {expires:%F %R} UTC; `coterie releases refresh`, or `renew`"
                )
        for name, target in targets.signed.targets.items():
            with (repository.targets / f"{target.hashes['sha256']}.{name}").open("rb") as wheel:
                target.verify_length_and_hashes(wheel)
    except (OSError, RepositoryError, ValueError) as error:
        raise BadRepository(path=str(repository.root), problem=str(error) or type(error).__name__) from error
    return state_of(repository)


def _roots(repository: Repository) -> list[Path]:
    return sorted(repository.metadata.glob("*.root.json"), key=number_of)


def _followed(roots: Sequence[Metadata[Root]]) -> Root:
    """The newest root, to which each of the others leads. Raises RepositoryError."""
    if not roots:
        raise RepositoryError("it has no root; begin with: `coterie releases init`")
    for former, following in zip([roots[0], *roots], roots, strict=False):
        if following is not former and following.signed.version != former.signed.version + 1:
            raise RepositoryError(f"root {former.signed.version + 1} is missing")
        for judge in (former.signed, following.signed):
            judge.verify_delegate("root", following.signed_bytes, following.signatures)
    return roots[-1].signed
