"""Whether the tables are those of this code: older code on newer tables would write what nobody expects."""

from collections.abc import Collection, Iterable

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Change = tuple[str, str]
"""A migration by the label of its app and its name."""


class OtherSchema(Exception):
    """The database was used by a version of Coterie from whose tables this one cannot go on."""


def refuse_other() -> None:
    """Return if this code knows all changes made to the tables, and can make the others. Raises OtherSchema."""
    loader = MigrationLoader(None)
    applied = MigrationRecorder(connections[DEFAULT_DB_ALIAS]).applied_migrations()
    if unknown := unknown_changes(loader, applied):
        raise OtherSchema(
            f"the database is newer than this version of Coterie, which does not know {', '.join(unknown)}; "
            "start the version that was used last, or restore the backup that was made before it"
        )
    if lacking := lacking_changes(loader, applied):
        raise OtherSchema(
            f"the database is older than this version of Coterie can bring up to date: it lacks {', '.join(lacking)}; "
            "start the last version that knows these by name once, then this one"
        )


def unknown_changes(loader: MigrationLoader, applied: Collection[Change]) -> list[str]:
    """Those of the changes `applied` to the tables that this code does not know."""
    assert loader.disk_migrations is not None
    replaced = {change for migration in loader.disk_migrations.values() for change in migration.replaces}
    known = {*loader.disk_migrations, *replaced}
    return _named(change for change in applied if change[0] in loader.migrated_apps and change not in known)


def lacking_changes(loader: MigrationLoader, applied: Collection[Change]) -> list[str]:
    """Changes that one migration of this code replaces, where only some of them were `applied`."""
    assert loader.disk_migrations is not None
    return _named(
        change
        for migration in loader.disk_migrations.values()
        if not set(migration.replaces).isdisjoint(applied)
        for change in migration.replaces
        if change not in applied and change not in loader.disk_migrations
    )


def _named(changes: Iterable[Change]) -> list[str]:
    return sorted(f"{app}.{name}" for app, name in changes)
