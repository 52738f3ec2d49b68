from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('exports', '0002_exported_until'),
    ]

    operations = [
        AddIndexBeside(
            model_name='exported',
            index=models.Index(fields=['at'], name='exported_by_age'),
        ),
    ]
