"""Migration operations for where Django's own would lock a table of a running platform, or take long."""

from collections.abc import Sequence
from typing import ClassVar

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import AddConstraint, AddIndex, CreateModel, RemoveIndex
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import Model


class CreateModels(Operation):
    """Create the first models of an app, each after those that it refers to.

    Django builds the classes of nearly all models anew for each model that is created separately, which at a first
    start takes many times as long as all statements; here only those of the new models are built.
    """

    serialization_expand_args: ClassVar[list[str]] = ["models"]

    def __init__(self, models: Sequence[CreateModel]) -> None:
        self.models = models

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """As Django's, of each; classes that were built before remain, as nothing in them refers to the new ones."""
        built = state.__dict__.pop("apps", None)
        for model in self.models:
            model.state_forwards(app_label, state)
        if built is not None:
            built.render_multiple([state.models[app_label, model.name_lower] for model in self.models])
            state.__dict__["apps"] = built

    def database_forwards(self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState) -> None:
        """As Django's, of each."""
        for model in self.models:
            model.database_forwards(app_label, schema_editor, *states)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState
    ) -> None:
        """As Django's, of each, the last one first."""
        for model in reversed(self.models):
            model.database_backwards(app_label, schema_editor, *states)

    def describe(self) -> str:
        """For `migrate --plan`."""
        return f"Create models {', '.join(model.name for model in self.models)}"


class _Beside(Operation):
    """Something that PostgreSQL adds to a table, or removes, while rows are written; with ``atomic = False``.

    Leftovers of an attempt that was killed are removed first.
    """

    model_name: str

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """As Django's; SQLite, which has one writer in any case, does it as usual."""
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            self.change(to_state.apps.get_model(app_label, self.model_name), schema_editor)

    def change(self, model: type[Model], schema_editor: BaseDatabaseSchemaEditor) -> None:
        """In PostgreSQL."""
        raise NotImplementedError


class AddIndexBeside(_Beside, AddIndex):
    """Add an index, which is built concurrently."""

    def change(self, model: type[Model], schema_editor: BaseDatabaseSchemaEditor) -> None:
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.index.name)}")
        schema_editor.execute(self.index.create_sql(model, schema_editor, concurrently=True))


class RemoveIndexBeside(_Beside, RemoveIndex):
    """Remove an index by its name."""

    def change(self, _model: type[Model], schema_editor: BaseDatabaseSchemaEditor) -> None:
        """In PostgreSQL."""
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.name)}")


class AddConstraintBeside(_Beside, AddConstraint):
    """Add a constraint; existing rows are checked without a lock that blocks writers."""

    def change(self, model: type[Model], schema_editor: BaseDatabaseSchemaEditor) -> None:
        table, name = map(schema_editor.quote_name, (model._meta.db_table, self.constraint.name))
        schema_editor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}")
        schema_editor.execute(f"{self.constraint.create_sql(model, schema_editor)} NOT VALID", params=None)
        schema_editor.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")


class RemoveFieldIndexBeside(Operation):
    """Remove the index that Django created for a field by itself, while rows are written.

    For a migration with ``atomic = False``. AlterField with ``db_index=False`` has the same effect on the state; in the
    database it would also remove a foreign key's constraint, and check all rows for it again.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, model_name: str, name: str) -> None:
        self.model_name, self.name = model_name, name

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Does not change the state."""

    def database_forwards(self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState) -> None:
        """Remove it if it exists."""
        concurrently, name, _ = self._index(app_label, schema_editor, *states)
        schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {name}")

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState
    ) -> None:
        """Build it."""
        concurrently, name, place = self._index(app_label, schema_editor, *states)
        schema_editor.execute(f"CREATE INDEX {concurrently} IF NOT EXISTS {name} ON {place}")

    def _index(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, _from_state: ProjectState, state: ProjectState
    ) -> tuple[str, str, str]:
        """SQL's word for concurrency, the index's name, and its table and column, quoted."""
        model = state.apps.get_model(app_label, self.model_name)
        table, column = model._meta.db_table, str(model._meta.get_field(self.name).column)
        name = schema_editor._create_index_name(table, [column])  # type: ignore[attr-defined]  # its stubs lack it
        quote = schema_editor.quote_name
        concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
        return concurrently, quote(name), f"{quote(table)} ({quote(column)})"

    def describe(self) -> str:
        """For `migrate --plan`."""
        return f"Remove the index of {self.name} on {self.model_name}"
