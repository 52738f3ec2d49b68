"""Members of a group are counted without reading who was one."""

from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('federations', '0001_tables'),
    ]

    operations = [
        AddIndexBeside(
            model_name='membership',
            index=models.Index(condition=models.Q(('until', None)), fields=['group'], name='member_by_group'),
        ),
    ]
