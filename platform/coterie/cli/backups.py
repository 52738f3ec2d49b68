"""``coterie backup`` and ``coterie restore``: a whole copy of a platform, and a platform made of one."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
import msgspec

from coterie.cli.failures import Failed, failures_shown
from coterie.cli.local import STATE
from coterie.cli.output import JSON
from coterie.cli.state import choose_state, need_state, passing_state, tables_checked
from coterie.config.env import Env

if TYPE_CHECKING:  # they load Django
    from coterie.backup.index import Index
    from coterie.backup.taking import BackupProgress

T = TypeVar("T")


class _Done(msgspec.Struct, frozen=True):
    """What ``--json`` prints."""

    directory: str
    made_at: str
    version: str
    mode: str
    files: int
    size_bytes: int
    missing: tuple[str, ...]
    copied_bytes: int | None = None
    """Of a backup: what the directory did not have."""


@click.command(short_help="Copy a platform, while it runs, to a directory.")
@click.argument("target", type=click.Path(file_okay=False, path_type=Path))
@STATE
@JSON
@failures_shown
def backup(target: Path, state: Path | None, as_json: bool) -> None:
    """Copy the platform, while it runs, to the directory TARGET.

    The copy is the platform at one moment: database, models, data sets, updates that can still be merged, and keys.
    Keep it as secret as the state directory itself. A second backup to the same TARGET copies only what is new, and
    replaces the first when it is whole; one that was broken off goes on. `coterie restore TARGET` makes a platform of
    it.
    """
    need_state(state)
    import django

    django.setup()
    from django.utils import timezone

    from coterie.backup.taking import take_backup

    with tables_checked(), _Shown(quiet=as_json) as shown:
        taken = _with_files(lambda: take_backup(target=target, now=timezone.now(), report=shown.show))
    done = _done(target, taken.backup, copied_bytes=taken.copied_bytes)
    if as_json:
        click.echo(msgspec.json.encode(done))
    else:
        new = f"{taken.copied_bytes / 1e6:.1f} MB of them new"
        click.echo(f"{done.files} files, {done.size_bytes / 1e6:.1f} MB, {new}, are whole in {target}.")
    if done.missing:
        raise Failed(
            "backup.platform_damaged",
            f"{len(done.missing)} files are missing or damaged in the platform itself, so that the backup, "
            f"which is whole otherwise, lacks them: {', '.join(done.missing[:3])}.",
        )


@click.command(short_help="Make a platform of a backup.")
@click.argument("source", type=click.Path(file_okay=False, exists=True, path_type=Path))
@STATE
@JSON
@failures_shown
def restore(source: Path, state: Path | None, as_json: bool) -> None:
    """Make a platform of the backup in SOURCE.

    It comes to the state directory, which must be empty; every file is checked. `coterie up` then goes on with the
    platform from the moment of the backup. In scaled mode the database must be empty, too.
    """
    choose_state(state)
    env = Env.read()
    with passing_state(None):  # loading settings makes keys in the state directory
        import django

        django.setup()
        from coterie.backup.restoring import restore_backup
        from coterie.config.exclusive import StateInUse

        with tables_checked(), _Shown(quiet=as_json) as shown:
            try:
                index = _with_files(
                    lambda: restore_backup(source=source, state=env.state.absolute(), mode=env.mode, report=shown.show)
                )
            except StateInUse as error:
                raise Failed("backup.state_exists", f"{error}.") from error
    done = _done(env.state.absolute(), index)
    if as_json:
        click.echo(msgspec.json.encode(done))
    else:
        click.echo(
            f"The platform of {index.made_at} is in {done.directory}: {done.size_bytes / 1e6:.1f} MB, all checked."
        )


class _Shown:
    """A line on a terminal that says how far it is."""

    def __init__(self, *, quiet: bool) -> None:
        self._shown_per_cent = None if quiet or not sys.stderr.isatty() else -1

    def __enter__(self) -> "_Shown":
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown_per_cent is not None and self._shown_per_cent >= 0:
            click.echo(err=True)

    def show(self, progress: "BackupProgress") -> None:
        """Tell each further per cent."""
        if self._shown_per_cent is None:
            return
        per_cent = 100 * progress.bytes_done // max(1, progress.bytes_total)
        if per_cent > self._shown_per_cent:
            self._shown_per_cent = per_cent
            click.echo(f"\r{per_cent:3d} % of {progress.bytes_total / 1e6:.1f} MB", nl=False, err=True)


def _with_files(work: Callable[[], T]) -> T:
    """What `work` gives. Raises Failed where the system lets it not read or write a file."""
    try:
        return work()
    except OSError as error:
        raise Failed("cli.file", f"{error.filename or 'A file'}: {error.strerror or error}.") from error


def _done(directory: Path, index: "Index", *, copied_bytes: int | None = None) -> _Done:
    files = (index.database, *index.files)
    return _Done(
        directory=str(directory),
        made_at=index.made_at,
        version=index.version,
        mode=index.mode,
        files=len(files),
        size_bytes=sum(file.size_bytes for file in files),
        missing=tuple(file.path for file in index.missing),
        copied_bytes=copied_bytes,
    )
