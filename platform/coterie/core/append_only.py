"""The migration step for tables whose rows the database itself refuses to change or remove."""

from django.apps.registry import Apps
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import RunPython

VERBS = ("update", "delete")


def append_only(table: str, *, because: str) -> RunPython:
    """Let `table` refuse every update and delete with the words `because`; the reverse migration allows them again."""
    triggers = [(f"{table}_no_{verb}", verb) for verb in VERBS]
    refuse = f"{table}_refuse"
    install = {
        "sqlite": [
            f"CREATE TRIGGER {name} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, '{because}'); END"
            for name, verb in triggers
        ],
        "postgresql": [
            f"CREATE FUNCTION {refuse}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{because}'; END $$",
            *(
                f"CREATE TRIGGER {name} BEFORE {verb} ON {table} FOR EACH ROW EXECUTE FUNCTION {refuse}()"
                for name, verb in triggers
            ),
        ],
    }
    remove = {
        "sqlite": [f"DROP TRIGGER IF EXISTS {name}" for name, _ in triggers],
        "postgresql": [
            *(f"DROP TRIGGER IF EXISTS {name} ON {table}" for name, _ in triggers),
            f"DROP FUNCTION IF EXISTS {refuse}",
        ],
    }

    def forwards(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        for statement in install[schema_editor.connection.vendor]:
            schema_editor.execute(statement)

    def backwards(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        for statement in remove[schema_editor.connection.vendor]:
            schema_editor.execute(statement)

    return RunPython(forwards, backwards)
