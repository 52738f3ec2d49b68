"""Whether the tables are those of this code: older code on newer tables would write what nobody expects."""

from collections.abc import Iterable

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.loader import MigrationLoader


class NewerSchema(Exception):
    """The database was used by a newer version of Coterie."""


def refuse_newer(loader: MigrationLoader | None = None) -> None:
    """Return if this code knows every change that was made to the tables. Raises NewerSchema."""
    loader = loader or MigrationLoader(connections[DEFAULT_DB_ALIAS])
    unknown = unknown_changes(loader, loader.applied_migrations)
    if unknown:
        raise NewerSchema(
            f"the database is newer than this version of Coterie, which does not know {', '.join(unknown)}; "
            "start the version that was used last, or restore the backup that was made before it"
        )


def unknown_changes(loader: MigrationLoader, applied: Iterable[tuple[str, str]]) -> list[str]:
    """Those of the changes `applied` to the tables, by app and name, that this code does not know."""
    assert loader.disk_migrations is not None
    known = {*loader.disk_migrations, *loader.replacements}
    return sorted(f"{app}.{name}" for app, name in applied if app in loader.migrated_apps and (app, name) not in known)
