"""Which GPUs the workers of a gang have, and whether they want any."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cluster', '0001_tables'),
    ]

    operations = [
        migrations.AddField(
            model_name='gang',
            name='device',
            field=models.CharField(db_default='auto', max_length=5),
        ),
        migrations.AddField(
            model_name='gangshare',
            name='gpus',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list),
        ),
    ]
