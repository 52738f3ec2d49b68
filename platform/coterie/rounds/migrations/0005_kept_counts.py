from django.db import migrations, models
from django.db.migrations.state import StateApps
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Count


def count_updates(apps: StateApps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Rounds that are held while this is installed go on with the updates that they have."""
    assignments = apps.get_model("rounds", "Assignment").objects.filter(state="delivered").order_by()
    for counted in assignments.values("round").annotate(updates=Count("pk")):
        apps.get_model("rounds", "Round").objects.filter(pk=counted["round"]).update(updates_in=counted["updates"])


class Migration(migrations.Migration):

    dependencies = [
        ('fleet', '0003_fleet_size'),
        ('registry', '0001_initial'),
        ('rounds', '0004_remove_what_merging_keeps'),
    ]

    operations = [
        migrations.AddField(
            model_name='round',
            name='at_work',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='round',
            name='looked_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='round',
            name='places',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='round',
            name='updates_in',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.RunPython(count_updates, migrations.RunPython.noop, elidable=True),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(fields=['round', 'state', 'stage'], name='part_by_state'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(fields=['device', 'state'], name='part_of_device'),
        ),
    ]
