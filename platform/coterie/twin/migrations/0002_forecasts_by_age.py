from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('twin', '0001_initial'),
    ]

    operations = [
        AddIndexBeside(
            model_name='forecast',
            index=models.Index(condition=models.Q(('compared_at__isnull', False)), fields=['compared_at'], name='forecast_by_age'),
        ),
    ]
