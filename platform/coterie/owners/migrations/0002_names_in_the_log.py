"""The database lets the names of a forgotten device, and nothing else, be changed in the audit log."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

BECAUSE = "the audit log is append-only"
COLUMNS = ("id", "at", "actor_kind", "actor_id", "actor_name", "token", "address", "action", "subject_kind", "subject_id")
SAME = " AND ".join(f"NEW.{column} = OLD.{column}" for column in COLUMNS)
PSEUDONYM = "NEW.subject_name LIKE '%forgotten ________'"


def may_change(*, device: str, budget: str) -> str:
    """The condition under which an entry may be changed, with a database's own way to compare keys."""
    about_device = f"OLD.subject_kind = 'fleet.device' AND EXISTS (SELECT 1 FROM owners_forgetting WHERE {device})"
    about_budget = (
        "OLD.subject_kind = 'privacy.budget' AND EXISTS (SELECT 1 FROM owners_forgetting JOIN privacy_budget"
        f" ON owners_forgetting.device_id = privacy_budget.device_id WHERE {budget})"
    )
    return f"{SAME} AND {PSEUDONYM} AND (({about_device}) OR ({about_budget}))"


INSTALL = {
    "sqlite": [
        "DROP TRIGGER audit_entry_no_update",
        "CREATE TRIGGER audit_entry_no_update BEFORE UPDATE ON audit_entry WHEN NOT ("
        + may_change(
            device="device_id = replace(OLD.subject_id, '-', '')",
            budget="CAST(privacy_budget.id AS TEXT) = OLD.subject_id",
        )
        + f") BEGIN SELECT RAISE(ABORT, '{BECAUSE}'); END",
    ],
    "postgresql": [
        "DROP TRIGGER audit_entry_no_update ON audit_entry",
        "CREATE FUNCTION audit_entry_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NOT ("
        + may_change(device="device_id::text = OLD.subject_id", budget="privacy_budget.id::text = OLD.subject_id")
        + f") THEN RAISE EXCEPTION '{BECAUSE}'; END IF; RETURN NEW; END $$",
        "CREATE TRIGGER audit_entry_no_update BEFORE UPDATE ON audit_entry"
        " FOR EACH ROW EXECUTE FUNCTION audit_entry_refuse_update()",
    ],
}
REMOVE = {
    "sqlite": [
        "DROP TRIGGER audit_entry_no_update",
        "CREATE TRIGGER audit_entry_no_update BEFORE update ON audit_entry"
        f" BEGIN SELECT RAISE(ABORT, '{BECAUSE}'); END",
    ],
    "postgresql": [
        "DROP TRIGGER audit_entry_no_update ON audit_entry",
        "DROP FUNCTION audit_entry_refuse_update",
        "CREATE TRIGGER audit_entry_no_update BEFORE update ON audit_entry"
        " FOR EACH ROW EXECUTE FUNCTION audit_entry_refuse()",
    ],
}


def forwards(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in INSTALL[schema_editor.connection.vendor]:
        schema_editor.execute(statement, None)


def backwards(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in REMOVE[schema_editor.connection.vendor]:
        schema_editor.execute(statement, None)


class Migration(migrations.Migration):

    dependencies = [
        ('owners', '0001_tables'),
        ('audit', '0001_tables'),
        ('privacy', '0001_tables'),
    ]

    operations = [migrations.RunPython(forwards, backwards)]
