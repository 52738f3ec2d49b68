"""Presence moves to a narrow table, of which PostgreSQL keeps no log; devices are tracked there from their next check-in."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def keep_no_log(_apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    if editor.connection.vendor == "postgresql":
        editor.execute("ALTER TABLE fleet_presence SET UNLOGGED")
        editor.execute("ALTER TABLE fleet_presencekept SET UNLOGGED")


class Migration(migrations.Migration):
    dependencies = [("fleet", "0016_device_agents")]

    operations = [
        migrations.CreateModel(
            name="Presence",
            fields=[
                (
                    "device",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="presence",
                        serialize=False,
                        to="fleet.device",
                    ),
                ),
                ("seen_at", models.DateTimeField()),
                ("seen_before_at", models.DateTimeField(blank=True, null=True)),
                ("until", models.DateTimeField(db_index=True)),
            ],
            options={"verbose_name_plural": "presence", "ordering": ["device"]},
        ),
        migrations.CreateModel(
            name="PresenceKept",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False),
                ),
                ("since", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "presence kept",
                "ordering": ["id"],
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="one_presence_kept")],
            },
        ),
        migrations.AddField(
            model_name="device",
            name="tracked",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.RunPython(keep_no_log, migrations.RunPython.noop, elidable=False),
    ]
