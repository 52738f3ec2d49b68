"""Checks that the tables are those of this code: older code on newer tables would write unexpected values."""

import sys
from collections.abc import Collection, Iterable, Mapping

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Change = tuple[str, str]
"""A migration: the label of its app and its name."""
NAMED = 3
"""Of many changes so many are named: they say which version to look for, and the advice is read before them."""


class OtherSchema(Exception):
    """The database was used by a version of Coterie with tables that this one cannot migrate."""


class NoDatabase(Exception):
    """The database does not answer."""


def refuse_other() -> None:
    """Check that this code knows all changes made to the tables, and can make the others. Raises OtherSchema."""
    applied = MigrationRecorder(connections[DEFAULT_DB_ALIAS]).applied_migrations()
    if unknown := unknown_changes(applied):
        raise OtherSchema(
            "the database is newer than this version of Coterie: start the version that was used last, or restore the "
            f"backup that was made before it; this one does not know {unknown}"
        )
    if lacking := lacking_changes(applied):
        raise OtherSchema(
            "the database is older than this version of Coterie can bring up to date: start the last version that "
            f"knows by name what it lacks once, then this one; it lacks {lacking}"
        )


def refuse_unfinished() -> None:
    """Return if the tables are those of this code. Raises OtherSchema."""
    refuse_other()
    if to_make := changes_to_make():
        raise OtherSchema(
            f"the tables lack {len(to_make)} changes of this version of Coterie: say `coterie migrate` first"
        )


def refuse_to_start() -> None:
    """Return if the database answers and its tables are those of this code. Raises NoDatabase and OtherSchema."""
    try:
        refuse_unfinished()
    except OperationalError as error:
        raise NoDatabase(
            f"the database does not answer ({error}): start it, or correct COTERIE_DATABASE_URL; "
            "docs/runbooks/database-away.md says more"
        ) from error


def exit_unless_usable() -> None:
    """End this process with a sentence, unless the database answers and its tables are those of this code."""
    try:
        refuse_to_start()
    except (NoDatabase, OtherSchema) as error:
        sys.exit(str(error))


def changes_to_make(database: str = DEFAULT_DB_ALIAS) -> list[Change]:
    """Changes of this code that `coterie migrate` would make to the tables, in their order."""
    executor = MigrationExecutor(connections[database])
    planned = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [(migration.app_label, migration.name) for migration, _ in planned]


def unknown_changes(applied: Collection[Change]) -> str:
    """Those of the changes `applied` to the tables that this code does not know, in words; blank: none."""
    migrations = _migrations()
    known = {*migrations, *(change for migration in migrations.values() for change in migration.replaces)}
    apps = {app for app, _ in migrations}
    return _named(change for change in applied if change[0] in apps and change not in known)


def lacking_changes(applied: Collection[Change]) -> str:
    """Changes that one migration of this code replaces, where only some were `applied`, in words; blank: none."""
    migrations = _migrations()
    return _named(
        change
        for migration in migrations.values()
        if not set(migration.replaces).isdisjoint(applied)
        for change in migration.replaces
        if change not in applied and change not in migrations
    )


def _migrations() -> Mapping[Change, Migration]:
    """Those of this code."""
    found = MigrationLoader(None).disk_migrations
    assert found is not None
    return found


def _named(changes: Iterable[Change]) -> str:
    names = sorted(f"{app}.{name}" for app, name in changes)
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
