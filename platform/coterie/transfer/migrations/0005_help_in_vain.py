from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('transfer', '0004_noise_on_profiles'),
    ]

    operations = [
        AddIndexBeside(
            model_name='helprequest',
            index=models.Index(condition=models.Q(('state__in', ['unmatched', 'abandoned'])), fields=['finished_at'], name='help_request_in_vain'),
        ),
    ]
