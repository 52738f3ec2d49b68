"""Runs that wait for what they lack."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('simulation_runs', '0001_tables'),
    ]

    operations = [
        migrations.AddField(
            model_name='simulationrun',
            name='postponed_until',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='simulationrun',
            name='postponements',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]
