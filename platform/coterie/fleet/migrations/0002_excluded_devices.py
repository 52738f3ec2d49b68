"""Who is excluded is found without reading who is not."""

from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('fleet', '0001_tables'),
    ]

    operations = [
        AddIndexBeside(
            model_name='device',
            index=models.Index(
                condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='device_by_end'
            ),
        ),
        AddIndexBeside(
            model_name='device',
            index=models.Index(
                condition=models.Q(('quarantine__gt', '')), fields=['paused_at'], name='device_by_quarantine'
            ),
        ),
    ]
