"""``coterie releases``: the signed repository of agent releases, made where its keys are, published on a platform."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import click
import msgspec

from coterie.cli.failures import Failed, failures_shown
from coterie.cli.local import STATE
from coterie.cli.output import JSON, print_json, print_result, print_rows
from coterie.cli.state import need_state
from coterie.releases.repository import KeyFolder, Release, Repository, Role, read_key

REPOSITORY = click.argument("repository", type=click.Path(file_okay=False, path_type=Path))
OR_PUBLISHED = click.argument("repository", required=False, type=click.Path(file_okay=False, path_type=Path))
"""Left out: what is published on the platform of this machine's settings."""
KEYS = click.option(
    "--keys",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="where the private keys are, away from the platform",
)
PASSPHRASE = click.option(
    "--passphrase-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="its first line decrypts the keys of root and targets; asked for where it is left out",
)


@click.group(short_help="Make and sign the repository of agent releases.")
def releases() -> None:
    """Make and sign the repository that devices take releases of their agent from.

    The keys of roles root and targets stay in a directory of yours, encrypted, on a machine that is not the platform.
    The online key signs nothing but that the repository is fresh.
    """


@releases.command(short_help="Begin a repository, and draw its keys.")
@REPOSITORY
@KEYS
@click.option("--root-keys", type=click.IntRange(1, 10), default=3, show_default=True)
@click.option("--threshold", type=click.IntRange(1, 10), default=2, show_default=True, help="of these sign together")
@PASSPHRASE
@JSON
@failures_shown
def init(
    repository: Path, keys: Path, root_keys: int, threshold: int, passphrase_file: Path | None, as_json: bool
) -> None:
    """Begin REPOSITORY, without releases, and draw its keys."""
    if threshold > root_keys:
        raise click.UsageError(f"{threshold} of {root_keys} keys cannot sign.")
    folder = KeyFolder(keys, _passphrase(passphrase_file, is_new=True))
    Repository(repository).create(folder, root_keys=root_keys, threshold=threshold, now=_now())
    print_result(
        {"repository": str(repository), "keys": str(keys)},
        f"{repository} is begun; its keys are in {keys}: keep copies, and keep root's apart from each other.",
        f"Where the platform runs, `coterie releases publish {repository}` has devices find it.",
        as_json=as_json,
    )


@releases.command(short_help="Add a release.")
@REPOSITORY
@click.argument("wheels", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@KEYS
@PASSPHRASE
@click.option("--notes", default="", help="What is new, for owners who are asked before it is installed; signed, too.")
@JSON
@failures_shown
def add(
    repository: Path,
    wheels: tuple[Path, ...],
    keys: Path,
    passphrase_file: Path | None,
    notes: str,
    as_json: bool,
) -> None:
    """Sign the release whose agent is one of WHEELS; the others are what it needs that devices may lack."""
    folder = KeyFolder(keys, _passphrase(passphrase_file))
    release = Repository(repository).add(wheels, folder, now=_now(), notes=notes)
    print_result(release, f"agent {release.version} is in {repository}: {_describe(release)}", as_json=as_json)


@releases.command(short_help="Offer a release no more.")
@REPOSITORY
@click.argument("version")
@KEYS
@PASSPHRASE
@JSON
@failures_shown
def withdraw(repository: Path, version: str, keys: Path, passphrase_file: Path | None, as_json: bool) -> None:
    """Offer VERSION no more; devices that have it keep it."""
    Repository(repository).withdraw(version, KeyFolder(keys, _passphrase(passphrase_file)), now=_now())
    print_result({"version": version}, f"agent {version} is offered no more.", as_json=as_json)


@releases.command(short_help="Have the platform pass a repository on.")
@REPOSITORY
@STATE
@JSON
@failures_shown
def publish(repository: Path, state: Path | None, as_json: bool) -> None:
    """Copy REPOSITORY into the storage of the platform whose settings are here, once it is as devices want it.

    Where the platform keeps its files makes no difference: a directory or an object storage.
    """
    _set_up(state)
    from coterie.releases import publishing

    files, size_bytes = publishing.publish(Repository(repository), now=_now())
    expiries = Repository(repository).expiries()
    print_result(
        {"files": files, "size_bytes": size_bytes, "until": expiries},
        f"{files} files, {size_bytes} bytes, are new to the platform; devices find {_until(expiries)}",
        as_json=as_json,
    )


@releases.command(short_help="Say that the repository is fresh; due each day.")
@OR_PUBLISHED
@STATE
@click.option(
    "--online",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="the newest online key",
)
@JSON
@failures_shown
def refresh(repository: Path | None, state: Path | None, online: Path, as_json: bool) -> None:
    """Sign snapshot and timestamp anew, so that devices go on trusting that REPOSITORY shows its newest state.

    Without REPOSITORY: of what is published on the platform whose settings are here.
    """
    key = read_key(online, None)
    if repository is not None:
        Repository(repository).refresh(key, now=_now())
        _print_expiry(Repository(repository).expiries(), as_json=as_json)
        return
    _set_up(state)
    from coterie.releases.publishing import refresh_published

    _print_expiry(refresh_published(key, now=_now()), as_json=as_json)


@releases.command(short_help="Sign root and targets anew, before they expire.")
@REPOSITORY
@KEYS
@PASSPHRASE
@JSON
@failures_shown
def renew(repository: Path, keys: Path, passphrase_file: Path | None, as_json: bool) -> None:
    """Sign root and targets as they are, for another year and half a year."""
    Repository(repository).renew(KeyFolder(keys, _passphrase(passphrase_file)), now=_now())
    _print_expiry(Repository(repository).expiries(), as_json=as_json)


@releases.command(short_help="Put another key in a key's place.")
@REPOSITORY
@click.argument("role", type=click.Choice(get_args(Role)))
@KEYS
@PASSPHRASE
@JSON
@failures_shown
def rotate(repository: Path, role: Role, keys: Path, passphrase_file: Path | None, as_json: bool) -> None:
    """Put another key in the place of the oldest of ROLE; devices follow, however long they were away."""
    folder = KeyFolder(keys, _passphrase(passphrase_file))
    Repository(repository).rotate(role, folder, now=_now())
    newest = folder.newest(role)
    print_result({"role": role, "key": str(newest)}, f"{newest} signs from now on.", as_json=as_json)


@releases.command(short_help="What is in a repository, and until when it holds.")
@OR_PUBLISHED
@STATE
@JSON
@failures_shown
def show(repository: Path | None, state: Path | None, as_json: bool) -> None:
    """List the releases of REPOSITORY, and until when each role's word holds.

    Without REPOSITORY: of what is published on the platform whose settings are here.
    """
    with _repository(repository, state) as found:
        held, expiries = found.releases(), found.expiries()
        if as_json:
            print_json(msgspec.json.encode({"releases": held, "until": expiries}))
            return
        print_rows(("version", "files"), [{"version": one.version, "files": _describe(one)} for one in held])
        click.echo(_until(expiries))


@contextmanager
def _repository(repository: Path | None, state: Path | None) -> Iterator[Repository]:
    if repository is not None:
        yield Repository(repository)
        return
    _set_up(state)
    from coterie.releases.publishing import NothingPublished
    from coterie.releases.served import published_metadata

    with published_metadata() as published:
        if published is None:
            raise NothingPublished
        yield published


def _set_up(state: Path | None) -> None:
    """Raises Failed where no platform's settings are."""
    if find_spec("django") is None:
        raise Failed("cli.no_platform", "This needs the platform: pip install 'coterie[platform]'.")
    need_state(state)
    import django

    django.setup()


def _describe(release: Release) -> str:
    return f"{len(release.wheels)} wheels, {release.size_bytes} bytes"


def _print_expiry(expiries: Mapping[str, datetime], *, as_json: bool) -> None:
    print_result({"until": expiries}, _until(expiries), as_json=as_json)


def _until(expiries: Mapping[str, datetime]) -> str:
    return "; ".join(f"{role} until {expires:%F %R} UTC" for role, expires in expiries.items())


def _passphrase(file: Path | None, *, is_new: bool = False) -> bytes:
    if file is not None:
        return file.read_bytes().splitlines()[0]
    asked: Callable[..., str] = click.prompt
    return asked("Passphrase of the keys", hide_input=True, confirmation_prompt=is_new).encode()


def _now() -> datetime:
    return datetime.now(UTC)
