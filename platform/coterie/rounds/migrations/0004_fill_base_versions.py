from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import OuterRef, Subquery


def fill(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Until now every device of a round began with the round's version."""
    assignments, rounds = apps.get_model("rounds", "Assignment"), apps.get_model("rounds", "Round")
    of_round = rounds.objects.filter(pk=OuterRef("round")).values("base_version")
    assignments.objects.filter(base_version=None).update(base_version=Subquery(of_round))


class Migration(migrations.Migration):
    # Apart from the next: PostgreSQL alters no table that has changes to check.
    dependencies = [("rounds", "0003_groups")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
