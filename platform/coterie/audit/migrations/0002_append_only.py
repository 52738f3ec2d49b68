"""The database refuses to change or remove entries, whoever asks."""

from django.db import migrations

SQLITE = {
    "install": [
        f"""CREATE TRIGGER audit_entry_no_{verb} BEFORE {verb} ON audit_entry
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"""
        for verb in ("update", "delete")
    ],
    "remove": [f"DROP TRIGGER IF EXISTS audit_entry_no_{verb}" for verb in ("update", "delete")],
}
POSTGRESQL = {
    "install": [
        """CREATE FUNCTION audit_entry_refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$""",
        *(
            f"""CREATE TRIGGER audit_entry_no_{verb} BEFORE {verb} ON audit_entry
            FOR EACH ROW EXECUTE FUNCTION audit_entry_refuse()"""
            for verb in ("update", "delete")
        ),
    ],
    "remove": [
        "DROP TRIGGER IF EXISTS audit_entry_no_update ON audit_entry",
        "DROP TRIGGER IF EXISTS audit_entry_no_delete ON audit_entry",
        "DROP FUNCTION IF EXISTS audit_entry_refuse",
    ],
}
STATEMENTS = {"sqlite": SQLITE, "postgresql": POSTGRESQL}


def install(_apps, schema_editor):
    for statement in STATEMENTS[schema_editor.connection.vendor]["install"]:
        schema_editor.execute(statement)


def remove(_apps, schema_editor):
    for statement in STATEMENTS[schema_editor.connection.vendor]["remove"]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0001_initial'),
    ]

    operations = [
        migrations.RunPython(install, remove),
    ]
