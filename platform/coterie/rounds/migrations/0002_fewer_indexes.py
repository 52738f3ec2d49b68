"""Parts of rounds have no index that another one begins with."""

import django.db.models.deletion
from django.db import migrations, models

from coterie.core.migrating import RemoveFieldIndexBeside


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('fleet', '0001_tables'),
        ('rounds', '0001_tables'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[RemoveFieldIndexBeside('assignment', name) for name in ('device', 'round', 'taken_by')],
            state_operations=[
                migrations.AlterField(
                    model_name='assignment',
                    name='device',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='fleet.device'),
                ),
                migrations.AlterField(
                    model_name='assignment',
                    name='round',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='rounds.round'),
                ),
                migrations.AlterField(
                    model_name='assignment',
                    name='taken_by',
                    field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='rounds.round'),
                ),
            ],
        ),
    ]
