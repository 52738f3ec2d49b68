"""As which devices two agents run."""

from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('fleet', '0003_indexes_that_cover'),
    ]

    operations = [
        migrations.AddField(
            model_name='device',
            name='copied_at',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        AddIndexBeside(
            model_name='device',
            index=models.Index(
                condition=models.Q(('copied_at__isnull', False)), fields=['copied_at'], name='device_by_copy'
            ),
        ),
    ]
