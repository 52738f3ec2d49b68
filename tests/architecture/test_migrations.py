"""The law of migrations: each may run while the release before serves, and locks no table for long."""

from collections.abc import Iterable, Iterator, Sequence

import pytest
from django.apps import apps
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from coterie.core.migrating import AddConstraintBeside, AddIndexBeside, RemoveFieldIndexBeside, RemoveIndexBeside

RENAMES = (migrations.RenameField, migrations.RenameModel, migrations.AlterModelTable)
REMOVES = (migrations.RemoveField, migrations.DeleteModel)


def faults(
    operations: Iterable[Operation], label: str, state: ProjectState, *, is_atomic: bool = True
) -> Iterator[str]:
    """Why operations on an app, which begin with `state`, are nothing for a platform that serves, as sentences."""
    made: set[str] = set()
    for operation in operations:
        if isinstance(operation, migrations.CreateModel):
            made.add(operation.name_lower)
        elif getattr(operation, "model_name_lower", None) not in made:
            yield from _faults_of(operation, label, state, is_atomic=is_atomic)
        operation.state_forwards(label, state)


def _faults_of(operation: Operation, label: str, state: ProjectState, *, is_atomic: bool) -> Iterator[str]:
    what = f"{label}: {operation.describe()}"
    match operation:
        case migrations.SeparateDatabaseAndState(database_operations=beneath):
            yield from faults(beneath, label, state.clone(), is_atomic=is_atomic)
        case migrations.RunSQL():
            yield f"{what}: nobody can say what it locks; use an operation, or RunPython"
        case _ if isinstance(operation, RENAMES):
            yield f"{what}: the release before still asks for the old name; add the new one beside it"
        case _ if isinstance(operation, REMOVES):
            yield f"{what}: the release before reads it; take it out of the state now, and remove it a release later"
        case migrations.AddField(field=field) if not (
            field.null or field.many_to_many or field.has_db_default()  # type: ignore[attr-defined]
        ):
            yield f"{what}: the release before writes rows without it; give it null=True or a db_default"
        case migrations.AlterField() if not _leaves_rows(operation, label, state):
            yield f"{what}: rows are rewritten or checked under a lock; add another field and move over"
        case AddIndexBeside() | AddConstraintBeside() | RemoveFieldIndexBeside() | RemoveIndexBeside():
            if is_atomic:
                yield f"{what}: beside writers only outside a transaction; set atomic = False"
        case migrations.AddIndex():
            yield f"{what}: nothing can be written meanwhile; use coterie.core.migrating.AddIndexBeside"
        case migrations.AddConstraint():
            yield f"{what}: all rows are checked under a lock; use coterie.core.migrating.AddConstraintBeside"


def _leaves_rows(operation: migrations.AlterField, label: str, state: ProjectState) -> bool:
    """Whether no more changes than what Django alone knows of a field, or how long its text may be at most."""
    old = state.models[label, operation.model_name_lower].fields[operation.name]
    new = operation.field
    if isinstance(old, models.CharField) and isinstance(new, models.CharField):
        old, wider = old.clone(), new.clone()
        if (old.max_length or 0) <= (wider.max_length or 0):
            old.max_length = wider.max_length
    model = state.apps.get_model(label, operation.model_name)
    for field in (old, new):
        field.set_attributes_from_name(operation.name)
        field.model = model
    return not connection.SchemaEditorClass(connection)._field_should_be_altered(old, new)


def test_every_migration_may_run_while_the_release_before_serves() -> None:
    loader = MigrationLoader(None)
    wrong: list[str] = []
    for key, migration in sorted(loader.disk_migrations.items()):
        label, name = key
        if apps.get_app_config(label).name.startswith("coterie.") and not migration.initial:
            before = loader.project_state(key, at_end=False)
            wrong += [
                f"{name}: {fault}" for fault in faults(migration.operations, label, before, is_atomic=migration.atomic)
            ]
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def table() -> ProjectState:
    state = ProjectState()
    migrations.CreateModel(
        "Row", [("id", models.BigAutoField(primary_key=True)), ("word", models.CharField(max_length=9))]
    ).state_forwards("made", state)
    return state


BY_WORD = models.Index(fields=["word"], name="row_by_word")
KNOWN = models.CheckConstraint(condition=models.Q(word__in=["a", "b"]), name="word_known")
NEW_TABLE = migrations.CreateModel("New", [("id", models.BigAutoField(primary_key=True))])
LOCKED = {
    "a column goes": [migrations.RemoveField("row", "word")],
    "a table goes": [migrations.DeleteModel("Row")],
    "another name": [migrations.RenameField("row", "word", "said")],
    "a column that old writers do not fill": [migrations.AddField("row", "many", models.IntegerField(default=0))],
    "an index while nobody writes": [migrations.AddIndex("row", BY_WORD)],
    "a constraint": [migrations.AddConstraint("row", models.UniqueConstraint(fields=["word"], name="word_once"))],
    "another type": [migrations.AlterField("row", "word", models.IntegerField())],
    "less room": [migrations.AlterField("row", "word", models.CharField(max_length=3))],
    "no null any more": [
        migrations.AddField("row", "many", models.IntegerField(null=True)),
        migrations.AlterField("row", "many", models.IntegerField(db_default=0)),
    ],
    "beneath the state": [migrations.SeparateDatabaseAndState([migrations.RemoveField("row", "word")], [])],
    "SQL": [migrations.RunSQL("SELECT 1")],
    "an index in a transaction": [AddIndexBeside("row", BY_WORD)],
    "a constraint in a transaction": [AddConstraintBeside("row", KNOWN)],
    "no more index, in a transaction": [RemoveFieldIndexBeside("row", "word")],
}
FREE = {
    "a table and what belongs to it": [
        NEW_TABLE,
        migrations.AddField("new", "many", models.IntegerField(default=0)),
        migrations.AddIndex("new", models.Index(fields=["many"], name="new_by_many")),
    ],
    "columns that old writers may leave out": [
        migrations.AddField("row", "many", models.IntegerField(db_default=0)),
        migrations.AddField("row", "few", models.IntegerField(null=True)),
    ],
    "more room": [migrations.AlterField("row", "word", models.CharField(max_length=90))],
    "words for people": [migrations.AlterField("row", "word", models.CharField(max_length=9, help_text="said"))],
    "out of the state": [migrations.SeparateDatabaseAndState([], [migrations.RemoveField("row", "word")])],
}


@pytest.mark.parametrize("operations", LOCKED.values(), ids=LOCKED.keys())
def test_what_the_release_before_cannot_serve_beside_is_refused(
    table: ProjectState, operations: Sequence[Operation]
) -> None:
    assert list(faults(operations, "made", table))


@pytest.mark.parametrize("operations", FREE.values(), ids=FREE.keys())
def test_what_it_can_serve_beside_is_not(table: ProjectState, operations: Sequence[Operation]) -> None:
    assert list(faults(operations, "made", table)) == []


@pytest.mark.parametrize(
    "operation",
    [AddIndexBeside("row", BY_WORD), AddConstraintBeside("row", KNOWN), RemoveFieldIndexBeside("row", "word")],
)
def test_what_is_made_beside_writers_needs_no_transaction(table: ProjectState, operation: Operation) -> None:
    assert list(faults([operation], "made", table, is_atomic=False)) == []
