import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import F


def take_delivered(apps: StateApps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    """So far every update went into the round that asked for it."""
    apps.get_model("rounds", "Assignment").objects.filter(state="delivered").update(taken_by=F("round"))


class Migration(migrations.Migration):

    dependencies = [
        ('fleet', '0003_fleet_size'),
        ('merging', '0005_update_staleness'),
        ('registry', '0001_initial'),
        ('rounds', '0005_kept_counts'),
    ]

    operations = [
        migrations.AddField(
            model_name='round',
            name='carries_on',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='assignment',
            name='taken_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='rounds.round'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('taken_by__isnull', False)), fields=('taken_by', 'device'), name='one_update_a_device_and_round'),
        ),
        migrations.RunPython(take_delivered, migrations.RunPython.noop, elidable=True),
    ]
