"""What migrations use where Django's own operation would lock a table of a platform that serves."""

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import AddConstraint, AddIndex
from django.db.migrations.state import ProjectState


class AddIndexBeside(AddIndex):
    """Add an index while rows are written: PostgreSQL builds it concurrently. For a migration with ``atomic = False``.

    What an attempt that was killed has left of it is removed first.
    """

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """As Django's; SQLite, which has one writer in any case, builds it as usual."""
        if schema_editor.connection.vendor != "postgresql":
            return super().database_forwards(app_label, schema_editor, from_state, to_state)
        model = to_state.apps.get_model(app_label, self.model_name)
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        schema_editor.execute(self.index.create_sql(model, schema_editor, concurrently=True))
        return None


class AddConstraintBeside(AddConstraint):
    """Add a constraint while rows are written: PostgreSQL then checks those that are there under no lock of writers.

    For a migration with ``atomic = False``. What an attempt that was killed has left of it is removed first.
    """

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """As Django's; SQLite, which has one writer in any case, makes the table anew."""
        if schema_editor.connection.vendor != "postgresql":
            return super().database_forwards(app_label, schema_editor, from_state, to_state)
        model = to_state.apps.get_model(app_label, self.model_name)
        table, name = map(schema_editor.quote_name, (model._meta.db_table, self.constraint.name))
        schema_editor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}")
        schema_editor.execute(f"{self.constraint.create_sql(model, schema_editor)} NOT VALID", params=None)
        schema_editor.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")
        return None
